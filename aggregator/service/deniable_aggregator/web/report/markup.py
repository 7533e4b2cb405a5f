"""Elements of a page. Text and attributes are escaped when the tree is written, all of them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

Element = ET.Element
Child = Element | str | None


def element(tag: str, *children: Child, **attributes: str | float) -> Element:
    """`class_` is class, other underscores are hyphens; children that are None are left out."""
    names = {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()}
    made = ET.Element(tag, names)
    last: Element | None = None
    for child in children:
        if isinstance(child, ET.Element):
            made.append(child)
            last = child
        elif child is not None and last is None:
            made.text = (made.text or "") + child
        elif child is not None and last is not None:
            last.tail = (last.tail or "") + child
    return made


def to_html(root: Element) -> str:
    """The page as HTML."""
    return "<!doctype html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"
