"""Writing of XML: elements with optional attributes, numbers without loss of precision."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from linkwork.engine.runtime.atomic_files import write_file
from linkwork.errors import model_error, shown

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


def top_element(tag: str, **attributes: str | None) -> Element:
    """Create a root element with the attributes that are not None."""
    from lxml import etree

    top = etree.Element(tag)
    _set(top, attributes)
    return top


def add(parent: Element, tag: str, **attributes: str | None) -> Element:
    """Add an element with the attributes that are not None.

    Raises:
        ModelError: an attribute has a character that XML does not allow.
    """
    from lxml import etree

    added = etree.SubElement(parent, tag)
    _set(added, attributes)
    return added


def format_numbers(*numbers: float) -> str:
    """Format numbers in the fewest digits that read back as the same floats."""
    return " ".join(repr(float(number)).removesuffix(".0") for number in numbers)


def document_text(top: Element) -> str:
    """Return the content of an XML file with this root element, indented."""
    from lxml import etree

    etree.indent(top, space="  ")
    text = etree.tostring(top, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def write_text(text: str, path: str | PathLike[str] | None) -> str:
    """Write to a file, unless the path is None; return the text."""
    if path is not None:
        write_file(path, text)
    return text


def _set(target: Element, attributes: dict[str, str | None]) -> None:
    for name, value in attributes.items():
        if value is None:
            continue
        try:
            # names that are Python keywords have an underscore, such as `class_`
            target.set(name.removesuffix("_"), value)
        except ValueError:  # a control character
            message = f"{name} {shown(value)} contains a character that XML does not allow"
            raise model_error(message, f"<{target.tag}>") from None
