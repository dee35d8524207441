"""Randomly damaged workcell files: the result is a cell or a LinkworkError.

LINKWORK_FUZZ_EXAMPLES sets the number of files; the default is small and reproducible.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.io.test_mutations import (
    MUTATIONS,
    WORDS,
    Element,
    Mutation,
    damage,
    damaged,
    elements,
    indices,
    pick,
)

import linkwork as lw
from linkwork import LinkworkError, LinkworkWarning

EXAMPLES = int(os.environ.get("LINKWORK_FUZZ_EXAMPLES", "0"))

# every element and attribute that the reader knows
RICH = b"""<WorkCell name="rich">
<Define id="look"><Drawable name="l"><RGB>1 0 0 0.5</RGB>
<Box x="1" y="2" z="3"/></Drawable></Define>
<Frame name="table" refframe="WORLD"><RPY>90 10 5</RPY><Pos>1 2 3</Pos><Use id="look"/>
  <Property name="p" desc="d" type="double">1</Property></Frame>
<SerialDevice name="arm"><Frame name="Base"/>
  <Joint name="J1" type="Revolute"><Transform>1 0 0 .1 0 1 0 .2 0 0 1 .3</Transform>
    <PosLimit min="-90" max="90"/><VelLimit max="90"/><AccLimit max="90"/></Joint>
  <DHJoint name="J2" alpha="90" a="0.1" d="0.2" offset="10" type="schilling"/>
  <DHJoint name="J3" alpha="90" a="0.1" theta="20" offset="0.1"/>
  <DHJoint name="J4" alpha="9" a="0.1" b="0.2" offset="10" type="HGP" state="Passive"/>
  <Joint name="J5" type="Prismatic"><Depend on="J1" gain="2" offset="0.5"/></Joint>
  <Joint name="J6" type="Spherical"/>
  <Frame name="TCP" type="EndEffector"/><PosLimit refjoint="J3" min="0" max="1"/>
  <Q name="Home">0.1 0.2 0.3 0.4 0.5 0.6</Q></SerialDevice>
<TreeDevice name="hand"><Frame name="palm"/><SerialChain name="a"><Joint name="f" type="Revolute"/>
  </SerialChain><Joint name="g" refframe="palm" type="Universal"/></TreeDevice>
<MobileDevice name="cart" basename="Base"><AxelWidth>0.5</AxelWidth><LeftWheel name="L"/>
  <RightWheel name="R"/><Frame name="Top" refframe="Base"/></MobileDevice>
<Frame name="box" refframe="cart.Top" type="Movable" daf="true"><Property name="linkwork.link">
  <link name="box"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></Property>
  <Property name="linkwork.home">0 0 1 1 0 0 0</Property>
  <Property name="linkwork.parent">table</Property></Frame>
<Joint name="screw" refframe="table" type="linkwork"><Property name="linkwork.motion">
  <motion kind="helical" axis="1 0 0" pitch="0.1"><limit lower="-1" upper="1"/></motion>
  </Property></Joint>
<Joint name="turn" refframe="table" type="Revolute"><Property name="linkwork.motion">
  <motion kind="revolute"><origin xyz="0 0 1" rpy="0 0 0"/><limit lower="-1"/></motion>
  </Property></Joint>
<Robot name="bot" refframe="table"><Pos>0 0 1</Pos><robot name="bot"><link name="base"/>
  <link name="tip"/><joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
  <axis xyz="0 0 1"/></joint></robot><Q name="Home">0.5</Q></Robot>
<Device name="both" kind="joint" base="WORLD"><End name="bot.tip"/><Of name="bot.tip"/>
  <Of name="arm.J1"/></Device>
<Drawable name="floor" refframe="WORLD"><Sphere radius="1"/><Polytope file="a.stl"/><Plane/>
</Drawable>
<CollisionSetup file="x"/></WorkCell>"""
CELL_WORDS = [
    *WORDS,
    *("WORLD", "arm", "arm.J1", "J1", "box", "table", "Revolute", "Prismatic", "Spherical"),
    *("Movable", "true", "Passive", "craig", "HGP", "linkwork", "linkwork.link", "look", "Frame"),
    *("Use", "Define", "Include", "SerialDevice", "ParallelDevice", "bot.tip", "1 0 0 0 1 0 0"),
]


def rename_reference(root: Element, a: int, b: int, word: str) -> None:
    """Let an element refer to another frame, joint or definition."""
    names = ("refframe", "refjoint", "on", "id", "base", "file")
    result = [(e, n) for e in elements(root) for n in names if e.get(n) is not None]
    known = [e.get("name", "") for e in elements(root)] or [word]
    if result:
        element, name = pick(result, a)
        element.set(name, pick(known, b))


def garble_text(root: Element, a: int, b: int, word: str) -> None:
    """Replace one word of the text of an element, such as one of three numbers."""
    full = [e for e in elements(root) if (e.text or "").strip()] or [root]
    element = pick(full, a)
    words = (element.text or "").split() or [""]
    words[b % len(words)] = word
    element.text = " ".join(words)


steps = st.lists(
    st.tuples(
        st.sampled_from([*MUTATIONS, rename_reference, garble_text]),
        indices,
        indices,
        st.sampled_from(CELL_WORDS),
    ),
    min_size=1,
    max_size=4,
)
fuzz = settings(
    max_examples=EXAMPLES or 80,
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def outcome(source: bytes | str) -> lw.WorkCell | None:
    """The cell, or None if the source is rejected; other exceptions and warnings propagate."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinkworkWarning)
        try:
            return lw.load_workcell(source)
        except LinkworkError:
            return None


def mutated(changes: list[tuple[Mutation, int, int, str]]) -> bytes:
    root: Any = etree.fromstring(RICH)
    for mutation, a, b, word in changes:
        mutation(root, a, b, word)
    return etree.tostring(root)


def check(cell: lw.WorkCell) -> None:
    """Check that a loaded cell can be used, written and read back."""
    assert cell.fk(cell.state())["WORLD"].shape == (4, 4)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinkworkWarning)  # joints that RobWork cannot read
            text = lw.dump_workcell(cell)
    except lw.ModelError:  # names with line breaks and the like
        return
    assert outcome(text) == cell


def test_undamaged_cell_loads():
    cell = outcome(RICH)

    assert cell is not None
    assert len(cell.frames) == 24
    check(cell)


@fuzz
@given(steps)
def test_changed_elements_are_a_cell_or_an_error(changes):
    cell = outcome(mutated(changes))

    if cell is not None:
        check(cell)


@fuzz
@given(damage)
def test_damaged_bytes_are_a_cell_or_an_error(changes):
    cell = outcome(damaged(RICH, changes))

    if cell is not None:
        check(cell)
