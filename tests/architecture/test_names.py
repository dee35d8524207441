"""Names in the tables of pages exist, in linkwork and in the libraries that it is compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.spatial import idyn, pin

import linkwork as lw
from linkwork.kindyn.foreign_names import FOREIGN_NAMES

ROOT = Path(lw.__file__).parents[2]
PAGE = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
ROBWORK = (ROOT / "docs" / "from_robwork.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
CELL = lw.WorkCell("cell").with_robot("arm", lw.robots.load("arm"))
KD = lw.KinDyn(lw.robots.load("arm"))
OWNERS = {
    "lw": lw,
    "kd": KD,
    "model": KD.model,
    "cell": CELL,
    "device": CELL.device("arm"),
    "np": np,
}


def cells(section: str, column: int) -> Iterator[str]:
    """Code in backticks in a column of a section's table."""
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) > 3
    for row in rows[1:]:
        yield from re.findall(r"`([^`]+)`", row[column])


def resolve(text: str) -> None:
    """Look up every `kd.something`, and the keywords that it is called with."""
    for owner, name in re.findall(r"\b(lw|kd|model|cell|device|np)\.(\w+)", text):
        assert hasattr(OWNERS[owner], name), f"{owner}.{name}"


@pytest.mark.parametrize("section", [name for name in SECTIONS if name != "RobWork"])
def test_linkworks_names_in_the_tables_exist(section):
    texts = list(cells(SECTIONS[section], 1))
    assert len(texts) > 5
    for text in texts:
        resolve(text)


def test_linkworks_names_in_the_table_for_robwork_exist():
    table = ROBWORK.split("| RobWork | linkwork |")[1].split("\n\n")[0]
    texts = re.findall(r"`([^`]+)`", table)
    named = [text for text in texts if re.search(r"\b(cell|lw)\.", text)]
    assert len(named) > 10
    for text in named:
        resolve(re.sub(r"cell\.device\(name\)", "device", text))


def test_an_unknown_name_is_detected():
    with pytest.raises(AssertionError):
        resolve("kd.mass_matrices(q)")


ELSEWHERE = {"buildReducedModel", "KinDynComputations", "loadRobotModel", "rollout", "code"}


@pytest.mark.parametrize("section", [name for name in SECTIONS if name != "RobWork"])
def test_names_of_other_libraries_raise_an_error_with_the_name_here(section):
    """The error of `kd.rnea` names the method in the same row of the table."""
    rows = [line.split(" | ") for line in SECTIONS[section].splitlines() if line[:3] == "| `"]
    asked = 0
    for theirs, ours in rows:
        here = re.findall(r"`kd\.(\w+)", ours)
        for text in re.findall(r"`([^`]+)`", theirs) if here else ():
            name = text.split("(")[0].removeprefix("d.").replace("Δx", "delta_x")
            if name in ELSEWHERE or hasattr(KD, name):
                continue
            with pytest.raises(AttributeError) as caught:
                getattr(KD, name)
            assert any(f"kd.{one}" in str(caught.value) for one in here), name
            asked += 1
    assert asked > 5
    assert all(hasattr(KD, name) for name in FOREIGN_NAMES.values())


@pytest.mark.peers
def test_pinocchios_names_in_the_table_exist():
    for text in cells(SECTIONS["Pinocchio"], 0):
        name = text.split("(")[0]
        owner = pin.Model if name.startswith("model.") else pin
        assert hasattr(owner, name.removeprefix("model.")), text


@pytest.mark.peers
def test_idyntrees_names_in_the_table_exist():
    for text in cells(SECTIONS["iDynTree"], 0):
        assert hasattr(idyn.KinDynComputations, text.split("(")[0]), text


@pytest.mark.peers
def test_adams_names_in_the_table_exist():
    from adam.numpy import KinDynComputations

    for text in cells(SECTIONS["adam"], 0):
        name = text.split("(")[0]
        assert name == "KinDynComputations" or hasattr(KinDynComputations, name), text


@pytest.mark.peers
def test_mujocos_names_in_the_table_exist():
    import mujoco
    import mujoco.batch
    import mujoco.rollout

    for text in cells(SECTIONS["MuJoCo"], 0):
        owner: object = mujoco
        name = text.split("(")[0]
        if name.startswith("d."):
            owner, name = mujoco.MjData, name[2:]
        for part in name.split("."):
            owner = getattr(owner, part)


def test_pinnzoos_names_in_the_table_are_those_of_the_view():
    from linkwork.compat import pinnzoo

    for text in cells(SECTIONS["PinnZoo"], 0):
        name = text.split("(")[0].replace("Δx", "delta_x")
        assert hasattr(pinnzoo, name), text
