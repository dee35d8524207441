"""MJCF that cannot be read: refused in MuJoCo's words, with the file and the line it names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import refusal

import linkwork as lw
from linkwork import SourceError
from linkwork.errors import MissingPackageError

mujoco = pytest.importorskip("mujoco")

BALL = '<geom size=".1" mass="1"/>'
ARM = f'<body name="arm"><joint name="hinge"/>{BALL}</body>'


def mjcf(body: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<mujoco/>", "<text>:1: the world has no bodies"),
        (mjcf("<geom size='1'/>"), "<text>:1: the world has no bodies"),
        (
            "<mujoco>\n<worldbody><body></worldbody></mujoco>",
            "<text>:2: MuJoCo: XML parse error 14: Error=XML_ERROR_MISMATCHED_ELEMENT",
        ),
        (
            "<mujoco>\n<worldbody>\n<body><joint/></body></worldbody></mujoco>",
            "<text>:3: MuJoCo: Error: mass and inertia of moving bodies must be larger than",
        ),
        (
            mjcf(f"<body>\n{BALL}<joint/><body>{BALL}<freejoint/></body></body>"),
            "<text>:2: MuJoCo: Error: free joint can only be used on top level",
        ),
        (
            "<mujoco>\n<worldbody><bodi/></worldbody></mujoco>",
            "<text>:2: MuJoCo: XML Error: Schema violation: unrecognized element",
        ),
        (
            mjcf(ARM, '<asset><mesh file="no.stl"/></asset>'),
            "<text>:1: MuJoCo: Error: Error opening file 'no.stl'",
        ),
        (
            mjcf('<include file="no.xml"/>'),
            "<text>:1: MuJoCo: XML Error: Error opening file 'no.xml'",
        ),
        ("<mujoco>" * 5000, "<text>:1: MuJoCo: XML parse error 18"),
        ("<mujoco", "<text>:1: MuJoCo: XML parse error"),
    ],
)
def test_file_that_makes_no_robot_is_refused_in_mujocos_words(text: str, reason: str):
    assert refusal(text).startswith(reason)


def test_refusal_names_the_file(tmp_path: Path):
    file = tmp_path / "bad.xml"
    file.write_text("<mujoco>\n\n<worldbody><bodi/></worldbody></mujoco>")

    assert refusal(file).startswith(f"{file}:3: MuJoCo: XML Error: Schema violation")


def test_missing_file_is_missing_whatever_its_kind(tmp_path: Path):
    with pytest.raises(SourceError, match=r"no file '.*robot\.mjcf'"):
        lw.load(tmp_path / "robot.mjcf")


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)

    with pytest.raises(MissingPackageError) as caught:
        lw.load(mjcf(ARM))

    assert isinstance(caught.value, (lw.LinkworkError, ImportError))
    assert "MJCF" in str(caught.value)
    assert "pip install mujoco" in str(caught.value)


def test_urdf_is_read_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)

    assert lw.robots.load("arm").joints


PART = "<mujocoinclude><worldbody/></mujocoinclude>"
A_PART = "<mujocoinclude>.*MJCF.*includes it"


def test_a_file_for_including_is_told_from_a_model(tmp_path: Path):
    assert_facts(refusal(PART), f"<text>:1: {A_PART}")
    part = tmp_path / "parts" / "arm.xml"
    part.parent.mkdir()
    part.write_text(f"<!-- an arm -->\n{PART}")
    assert_facts(refusal(part), f"{re.escape(str(part))}:1: {A_PART}")


def test_a_file_for_including_names_the_files_that_include_it(tmp_path: Path):
    part = tmp_path / "parts" / "arm.xml"
    part.parent.mkdir()
    part.write_text(PART)
    scene, other = tmp_path / "scene.xml", part.parent / "robot.xml"
    scene.write_text('<mujoco><include file="parts/arm.xml"/></mujoco>')
    other.write_text("<mujoco><include file='arm.xml'/></mujoco>")
    (tmp_path / "else.xml").write_text("<mujoco><include file='forearm.xml'/></mujoco>")
    (tmp_path / "folder.xml").mkdir()
    where, *files = (re.escape(str(path)) for path in (part, other, scene))
    assert_facts(refusal(part), f"{where}:1: {A_PART}: {files[0]} or {files[1]}$")


def test_a_model_without_bodies_names_the_files_that_include_it(tmp_path: Path):
    part, scene = tmp_path / "visual.xml", tmp_path / "scene.xml"
    part.write_text("<mujoco><visual/></mujoco>")
    facts = f"{re.escape(str(part))}:1: .*no bodies"
    assert_facts(refusal(part), f"{facts}$")
    scene.write_text(mjcf(ARM, '<include file="visual.xml"/>'))
    assert_facts(refusal(part), f"{facts}.*{re.escape(str(scene))}$")
    assert lw.load(scene).joint_names == ("hinge",)


@pytest.mark.parametrize("where", ["text", "file", "included", "in the copies of a copy"])
def test_a_model_of_too_many_copies_is_rejected_before_mujoco_makes_them(tmp_path: Path, where):
    """MuJoCo would take hours."""
    many = f'<replicate count="1000"><replicate count="1000000"><body>{BALL}</body></replicate>'
    text = mjcf(f"{many}</replicate>")
    (tmp_path / "part.xml").write_text(text)
    (tmp_path / "scene.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    some = f'<mujocoinclude><replicate count="999"><body>{BALL}</body></replicate></mujocoinclude>'
    (tmp_path / "some.xml").write_text(some)
    inner = '<replicate count="999"><include file="some.xml"/></replicate>'
    (tmp_path / "many.xml").write_text(mjcf(inner))
    source = {
        "text": text,
        "file": tmp_path / "part.xml",
        "included": tmp_path / "scene.xml",
        "in the copies of a copy": tmp_path / "many.xml",
    }

    with pytest.raises(lw.ParseError, match="10000"):
        lw.load(source[where])


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ('<size nkey="2000000000"/>', 10_000),
        ('<size nuser_body="1e9"/>', 10_000),
        ('<asset><hfield name="h" nrow="100000" ncol="9999" size="1 1 1 1"/></asset>', 10**8),
        ('<asset><texture name="t" type="2d" width="1" height="999999999"/></asset>', 10**8),
        ('<worldbody><flexcomp count="999 999 999" type="grid"/></worldbody>', 10_000),
    ],
)
def test_sizes_beyond_all_reason_are_rejected_before_mujoco_allocates_them(more, limit):
    with pytest.raises(lw.ParseError, match=str(limit)):
        lw.load(mjcf(ARM, more))


def test_some_copies_are_loaded():
    model = lw.load(
        mjcf(f'<body><replicate count="5"><body><joint/>{BALL}</body></replicate></body>')
    )
    assert len(model.links) > 5
