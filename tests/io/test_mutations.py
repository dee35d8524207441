"""Randomly damaged files of bundled robots: `load` returns a model or raises a LinkworkError.

LINKWORK_FUZZ_EXAMPLES sets the number of files; the default is small and reproducible.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from lxml import etree

import linkwork
from linkwork import LinkworkError, LinkworkWarning, Model, dump_urdf, load

Element = Any  # of lxml; its stubs call every attribute and child optional

EXAMPLES = int(os.environ.get("LINKWORK_FUZZ_EXAMPLES", "0"))
FILES = sorted((Path(linkwork.__file__).parent / "robots").glob("*.urdf"))
SMALL = [file for file in FILES if file.stat().st_size < 20_000]
TEXTS = {file.stem: file.read_bytes() for file in SMALL}

PLAIN_WORDS = """
0 1 -1 -0 1e-3 3.14159 0.1 1e6 1e7 1e150 1e308 -1e308 1e999 5e-324 1e-400 nan inf -inf NaN 0x10
1_0 1,5 1f 1.0kg .5 5. +1 --1 1e . ${x} $(find y) base link joint revolute fixed prismatic
continuous floating planar spherical ball helical revolute_cos_sin xyz rpy name type parent
child value mass mimic origin axis limit inertial inertia visual collision geometry material
frame gazebo x:y robot
"""
ODD_WORDS = [
    "\uff11",
    "",
    " ",
    "0 0 0",
    "0 0 1",
    "1 2 3",
    "1 2",
    "1e308 1e308 1e308",
    "\xe9",
    "\n",
    "a\tb",
    "&<>'\"",
]
WORDS = [*PLAIN_WORDS.split(), *ODD_WORDS]

Mutation = Callable[[Element, int, int, str], None]


def pick(items: list[Any], index: int) -> Any:
    return items[index % len(items)]


def elements(root: Element) -> list[Element]:
    return [element for element in root.iter() if isinstance(element.tag, str)]


def inner(root: Element) -> list[Element]:
    return elements(root)[1:] or [etree.SubElement(root, "link")]


def with_attributes(root: Element) -> list[Element]:
    return [element for element in elements(root) if element.attrib] or [root]


def remove_attribute(root: Element, a: int, b: int, word: str) -> None:
    element = pick(with_attributes(root), a)
    element.attrib.pop(pick(sorted(element.attrib) or ["none"], b), None)


def rename_attribute(root: Element, a: int, b: int, word: str) -> None:
    element = pick(with_attributes(root), a)
    name = pick(sorted(element.attrib) or ["none"], b)
    element.set(word if word.isidentifier() else name[::-1], element.attrib.pop(name, ""))


def set_attribute(root: Element, a: int, b: int, word: str) -> None:
    element = pick(with_attributes(root), a)
    element.set(pick(sorted(element.attrib) or ["name"], b), word)


def garble_number(root: Element, a: int, b: int, word: str) -> None:
    """Replace one word of an attribute, such as one of three numbers."""
    element = pick(with_attributes(root), a)
    name = pick(sorted(element.attrib) or ["name"], b)
    words = element.get(name, "").split() or [""]
    words[b % len(words)] = word
    element.set(name, " ".join(words))


def swap_attributes(root: Element, a: int, b: int, word: str) -> None:
    """Swap the attributes of two elements with the same tag."""
    one = pick(elements(root), a)
    other = pick([element for element in elements(root) if element.tag == one.tag], b)
    mine, theirs = dict(one.attrib), dict(other.attrib)
    one.attrib.clear()
    one.attrib.update(theirs)
    other.attrib.clear()
    other.attrib.update(mine)


def remove_element(root: Element, a: int, b: int, word: str) -> None:
    element = pick(inner(root), a)
    element.getparent().remove(element)


def duplicate_element(root: Element, a: int, b: int, word: str) -> None:
    element = pick(inner(root), a)
    element.addnext(etree.fromstring(etree.tostring(element, with_tail=False)))


def move_element(root: Element, a: int, b: int, word: str) -> None:
    """Move an element to another parent that is not inside it."""
    element = pick(inner(root), a)
    inside = set(element.iter())
    target = pick([other for other in elements(root) if other not in inside], b)
    target.insert(b % (len(target) + 1), element)


def rename_element(root: Element, a: int, b: int, word: str) -> None:
    pick(elements(root), a).tag = word if word.isidentifier() else "thing"


def reparent(root: Element, a: int, b: int, word: str) -> None:
    """Connect a joint to another link, or let it mimic another joint."""
    ends = [e for e in elements(root) if e.tag in ("parent", "child", "mimic")] or [root]
    names = [e.get("name", "") for e in elements(root) if e.tag in ("link", "joint")] or [word]
    end = pick(ends, a)
    end.set("joint" if end.tag == "mimic" else "link", pick(names, b))


def add_text(root: Element, a: int, b: int, word: str) -> None:
    pick(elements(root), a).text = word


MUTATIONS: list[Mutation] = [
    remove_attribute,
    rename_attribute,
    set_attribute,
    garble_number,
    swap_attributes,
    remove_element,
    duplicate_element,
    move_element,
    rename_element,
    reparent,
    add_text,
]

indices = st.integers(0, 2**16)
changes = st.lists(
    st.tuples(st.sampled_from(MUTATIONS), indices, indices, st.sampled_from(WORDS)),
    min_size=1,
    max_size=4,
)
damage = st.lists(
    st.tuples(st.sampled_from(["insert", "delete", "replace", "truncate"]), indices, st.binary()),
    min_size=1,
    max_size=3,
)
fuzz = settings(
    max_examples=EXAMPLES or 150,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def mutated(data: bytes, steps: list[tuple[Mutation, int, int, str]]) -> bytes:
    root = etree.fromstring(data)
    for mutation, a, b, word in steps:
        mutation(root, a, b, word)
    return etree.tostring(root)


def damaged(data: bytes, steps: list[tuple[str, int, bytes]]) -> bytes:
    for how, where, piece in steps:
        at = where % (len(data) + 1)
        match how:
            case "insert":
                data = data[:at] + piece + data[at:]
            case "delete":
                data = data[:at] + data[at + len(piece) + 1 :]
            case "replace":
                data = data[:at] + piece + data[at + len(piece) :]
            case _:
                data = data[:at]
    return data


def outcome(source: bytes | str, **options: bool) -> Model | None:
    """The model, or None if the source is rejected; other exceptions and warnings propagate."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinkworkWarning)
        try:
            return load(source, **options)
        except LinkworkError:
            return None


def links_in(data: bytes) -> int:
    """The number of links directly in the robot, counted without linkwork."""
    root = etree.fromstring(data, etree.XMLParser(recover=True, resolve_entities=False))
    return len(root.findall("link"))


def check_model(model: Model, data: bytes) -> None:
    assert len(model.links) + len(model.frames) == links_in(data)
    assert outcome(dump_urdf(model)) == model


def test_undamaged_robots_load_and_keep_their_links():
    for data in TEXTS.values():
        model = outcome(data, strict=True)
        assert model is not None
        check_model(model, data)
    assert len(TEXTS) >= 4


@fuzz
@given(st.sampled_from(sorted(TEXTS)), changes)
def test_robot_with_changed_elements_is_a_model_or_an_error(name, steps):
    data = mutated(TEXTS[name], steps)

    model = outcome(data)

    if model is not None:
        check_model(model, data)


@fuzz
@given(st.sampled_from(sorted(TEXTS)), changes)
def test_repaired_robot_with_changed_elements_is_a_model_or_an_error(name, steps):
    model = outcome(mutated(TEXTS[name], steps), repair=True, mimic=False)

    if model is not None:
        assert outcome(dump_urdf(model)) == model


@fuzz
@given(st.sampled_from(sorted(TEXTS)), damage)
def test_robot_with_damaged_bytes_is_a_model_or_an_error(name, steps):
    data = damaged(TEXTS[name], steps)
    assume(data != TEXTS[name])

    model = outcome(data)

    if model is not None:
        check_model(model, data)
