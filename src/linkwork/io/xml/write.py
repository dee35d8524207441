"""Writing XML: elements with the attributes that are given, numbers without loss."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.errors import model_error, shown

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


def top_element(tag: str, **attributes: str | None) -> Element:
    """A top element with the attributes that are not None."""
    from lxml import etree

    top = etree.Element(tag)
    _set(top, attributes)
    return top


def add(parent: Element, tag: str, **attributes: str | None) -> Element:
    """Add an element with the attributes that are not None.

    Raises:
        ModelError: XML has no way to write a character of an attribute.
    """
    from lxml import etree

    added = etree.SubElement(parent, tag)
    _set(added, attributes)
    return added


def number_text(*numbers: float) -> str:
    """Numbers in the fewest digits that read back as the same floats."""
    return " ".join(repr(float(number)).removesuffix(".0") for number in numbers)


def document_text(top: Element) -> str:
    """An element as the text of a file, indented."""
    from lxml import etree

    etree.indent(top, space="  ")
    text = etree.tostring(top, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def write_text(text: str, path: str | PathLike[str] | None) -> str:
    """Write a text to a file, unless there is none; returns the text."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _set(target: Element, attributes: dict[str, str | None]) -> None:
    for name, value in attributes.items():
        if value is None:
            continue
        try:
            # `class` and the like are words of Python, so they are given as `class_`
            target.set(name.removesuffix("_"), value)
        except ValueError:  # a control character
            text = f"{name} {shown(value)} holds a character that XML cannot write"
            raise model_error(text, f"<{target.tag}>") from None
