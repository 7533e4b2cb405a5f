"""The part of tkinter that the desktop example uses, without a screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["BooleanVar", "Button", "Checkbutton", "Frame", "Label", "StringVar", "Tk"]


class Tk:
    """A window, which knows its widgets and closes at once."""

    def __init__(self) -> None:
        self.widgets: list[_Widget] = []

    def mainloop(self) -> None:
        """There is no click: it is closed."""


class _Widget:
    def __init__(self, parent: Tk | _Widget, **options: Any) -> None:
        self.options = options
        self.widgets: list[_Widget] = []
        parent.widgets.append(self)

    def configure(self, **options: Any) -> None:
        """Options that were not given at first."""
        self.options |= options

    def pack(self) -> None:
        """It is in its place already."""

    def press(self) -> None:
        """Click it: a box changes, then its command runs."""
        variable = self.options.get("variable")
        if variable is not None:
            variable.set(not variable.get())
        command: Callable[[], None] = self.options["command"]
        command()


class Frame(_Widget):
    """Widgets together."""


class Checkbutton(_Widget):
    """A box."""


class Button(_Widget):
    """A button."""


class Label(_Widget):
    """A text."""


class _Variable:
    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


class BooleanVar(_Variable):
    """Of a box."""


class StringVar(_Variable):
    """Of a text."""
