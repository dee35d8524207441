"""Errors do not hide each other: a file with two errors is reported with both."""

from __future__ import annotations

from itertools import combinations

import pytest

from linkwork.io.load import read

URDF_JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>{}</joint>'
SDF_JOINT = '<joint name="{}" type="{}"><parent>{}</parent><child>{}</child>{}</joint>'
N_PARTS = 16


def lines_of(joint: str, root: tuple[str, str]) -> list[str]:
    """A robot with one link and one joint in each line but the first two and the last."""
    parts = [
        f'<link name="l{k}"></link>' + joint.format(f"j{k}", "fixed", "base", f"l{k}", "")
        for k in range(N_PARTS)
    ]
    return [root[0], '<link name="base"/>', *parts, root[1]]


URDF = lines_of(URDF_JOINT, ('<robot name="r">', "</robot>"))
SDF = lines_of(SDF_JOINT, ('<sdf version="1.9"><model name="m">', "</model></sdf>"))
VISUAL = "<visual><geometry><sphere{}</geometry></visual></link>"

# Each error is an edit of one line: (old, new), or a text to append.
URDF_ERRORS: dict[str, tuple[str, str] | str] = {
    "second parent": URDF_JOINT.format("k0", "fixed", "l9", "l0", ""),
    "duplicate joint": '<link name="n1"/>' + URDF_JOINT.format("j2", "fixed", "base", "n1", ""),
    "duplicate joint without links": '<joint name="j2" type="fixed"/>',
    "duplicate link": '<link name="l3"/>',
    "missing parent": ('<parent link="base"/>', ""),
    "joint without a name": (' name="j5"', ""),
    "link without a name": "<link/>",
    "link joined to itself": ('link="base"', 'link="l7"'),
    "unknown type": ("fixed", "bent"),
    "no number": ("<parent", '<origin xyz="1 x 2"/><parent'),
    "unknown link": ("base", "nowhere"),
    "radius": ("</link>", VISUAL.format(' radius="x"/>')),
    "unknown leader": '<link name="n12"/>'
    + URDF_JOINT.format("k12", "revolute", "base", "n12", '<mimic joint="none"/>'),
    "cycle": '<link name="n13"/><link name="o13"/>'
    + URDF_JOINT.format("k13", "fixed", "n13", "o13", "")
    + URDF_JOINT.format("o13", "fixed", "o13", "n13", ""),
    "mass": ("</link>", '<inertial><mass value="y"/></inertial></link>'),
}
SDF_ERRORS: dict[str, tuple[str, str] | str] = {
    "duplicate joint": SDF_JOINT.format("j1", "fixed", "base", "l0", ""),
    "duplicate joint without links": '<joint name="j1" type="fixed"/>',
    "duplicate link": '<link name="l3"/>',
    "missing parent": ("<parent>base</parent>", ""),
    "joint without a name": (' name="j4"', ""),
    "link without a name": "<link/>",
    "link joined to itself": (">base<", ">l6<"),
    "unknown type": ("fixed", "bent"),
    "no number": ("<parent", "<pose>1 x 2 0 0 0</pose><parent"),
    "unknown link": (">base<", ">nowhere<"),
    "radius": ("</link>", VISUAL.format("><radius>x</radius></sphere>")),
    "frame on itself": '<frame name="f" attached_to="f"/>',
    "reserved name": '<link name="__x__"/>',
    "name of another kind": '<frame name="l9"/>',
}


def errors_of(lines: list[str], edits: dict[int, tuple[str, str] | str]) -> set[tuple[str, int]]:
    """(element, line) of all errors after edits by line."""
    lines = list(lines)
    for line, edit in edits.items():
        before = lines[line]
        lines[line] = before + edit if isinstance(edit, str) else before.replace(*edit)
        assert lines[line] != before
    findings = read("\n".join(lines)).findings
    return {
        (f.element, f.location.line if f.location else 0) for f in findings if f.severity == "error"
    }


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
@pytest.mark.parametrize(("lines", "errors"), [(URDF, URDF_ERRORS), (SDF, SDF_ERRORS)])
def test_two_errors_are_both_reported(lines, errors):
    edits = {name: {line: edit} for line, (name, edit) in enumerate(errors.items(), start=2)}
    alone = {name: errors_of(lines, edit) for name, edit in edits.items()}

    assert errors_of(lines, {}) == set()
    for first, second in combinations(errors, 2):
        assert alone[first]
        assert alone[second]
        together = errors_of(lines, edits[first] | edits[second])
        assert alone[first] | alone[second] <= together, (first, second)
