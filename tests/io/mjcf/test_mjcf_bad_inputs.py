"""Invalid MJCF files: rejected with MuJoCo's message, the file and the line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import error_message

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
def test_invalid_file_is_rejected_with_mujocos_message(text: str, reason: str):
    assert error_message(text).startswith(reason)


def test_error_names_the_file(tmp_path: Path):
    file = tmp_path / "bad.xml"
    file.write_text("<mujoco>\n\n<worldbody><bodi/></worldbody></mujoco>")

    assert error_message(file).startswith(f"{file}:3: MuJoCo: XML Error: Schema violation")


def test_missing_mjcf_file_is_a_missing_file(tmp_path: Path):
    with pytest.raises(SourceError, match=r"no file '.*robot\.mjcf'"):
        lw.load(tmp_path / "robot.mjcf")


def test_error_without_the_package_states_how_to_install_it(monkeypatch):
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


def test_included_file_is_distinguished_from_a_model(tmp_path: Path):
    assert_facts(error_message(PART), f"<text>:1: {A_PART}")
    part = tmp_path / "parts" / "arm.xml"
    part.parent.mkdir()
    part.write_text(f"<!-- an arm -->\n{PART}")
    assert_facts(error_message(part), f"{re.escape(str(part))}:1: {A_PART}")


def test_error_for_a_model_without_bodies_suggests_the_file_that_includes_it(tmp_path: Path):
    part, scene = tmp_path / "visual.xml", tmp_path / "scene.xml"
    part.write_text("<mujoco><visual/></mujoco>")
    scene.write_text(mjcf(ARM, '<include file="visual.xml"/>'))

    facts = f"{re.escape(str(part))}:1: .*no bodies.*includes"
    assert_facts(error_message(part), facts)
    assert lw.load(scene).joint_names == ("hinge",)


@pytest.mark.parametrize("where", ["text", "file", "included", "in the copies of a copy"])
def test_model_with_too_many_copies_is_rejected_before_mujoco_reads_it(tmp_path: Path, where):
    """MuJoCo would need hours."""
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
def test_excessive_sizes_are_rejected_before_mujoco_allocates_them(more, limit):
    with pytest.raises(lw.ParseError, match=str(limit)):
        lw.load(mjcf(ARM, more))


def test_model_with_some_copies_is_loaded():
    model = lw.load(
        mjcf(f'<body><replicate count="5"><body><joint/>{BALL}</body></replicate></body>')
    )
    assert len(model.links) > 5


@pytest.mark.parametrize("part", ["body", "joint", "geom", "mesh", "key", "mujoco model"])
def test_a_name_that_is_not_unicode_is_an_error(part: str):
    names = dict.fromkeys(("body", "joint", "geom", "mesh", "key", "mujoco model"), "a")
    names[part] = "b&#xDFFF;"
    text = f"""<mujoco model="{names["mujoco model"]}">
        <asset><mesh name="{names["mesh"]}" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
        <worldbody><body name="{names["body"]}"><joint name="{names["joint"]}"/>
        <geom name="{names["geom"]}" size="1"/></body></worldbody>
        <keyframe><key name="{names["key"]}"/></keyframe></mujoco>"""

    with pytest.raises(lw.ParseError, match="b\ufffd"):
        lw.load(text)
