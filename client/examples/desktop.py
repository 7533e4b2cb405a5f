"""A desktop app with honest telemetry: a switch, the status, and a button that shows everything.

    python desktop.py

`app.deniable` lies in this folder: `deniable collections export --app > app.deniable`.
"""

from __future__ import annotations

import tkinter
from pathlib import Path

from deniable_client import Ceiling, Client
from deniable_client.telemetry_commands import open_page, switch

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)
FILE = Path(__file__).with_name("app.deniable")


class Settings(tkinter.Frame):
    """The app's settings; their last part is about telemetry."""

    def __init__(self, window: tkinter.Tk, client: Client) -> None:
        super().__init__(window)
        self.client = client
        self.dark = tkinter.BooleanVar(value=False)
        tkinter.Checkbutton(self, text="Dark", variable=self.dark, command=self.save).pack()
        add_telemetry(self, client)
        self.pack()

    def save(self) -> None:
        """Keep the setting; the answer is scrambled here, or not given at all."""
        self.client.record("settings", {"dark_mode": self.dark.get(), "beta": False})


def add_telemetry(parent: tkinter.Frame, client: Client) -> None:
    """The switch, off until the person turns it on; what holds now; and the page that shows all."""
    agreed = tkinter.BooleanVar(value=client.status().consent == "granted")
    text = tkinter.StringVar(value=client.status().text)
    box = tkinter.Checkbutton(parent, text="Report which settings I use", variable=agreed)
    box.configure(command=lambda: text.set(switch(client, on=agreed.get())))
    box.pack()
    tkinter.Label(parent, textvariable=text).pack()
    tkinter.Button(parent, text="What is reported?", command=lambda: open_page(client)).pack()


def main(file: Path = FILE) -> None:
    """Run until the window is closed."""
    with Client.from_file(file, app="settings", ceiling=CEILING) as client:
        window = tkinter.Tk()
        Settings(window, client)
        window.mainloop()


if __name__ == "__main__":
    main()
