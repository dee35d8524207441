"""The examples of RobWork's manual run unchanged, and print the same as RobWork."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.robwork_cells import PRINTED_TREE, SNIPPETS_HOME, snippets_cell

import linkwork as lw
from linkwork.compat import robwork as rw

FOLDER = Path(__file__).parents[3] / "examples" / "workcell"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("ex_*.py"))


def example(name: str) -> dict[str, object]:
    return runpy.run_path(str(FOLDER / f"{name}.py"))


def test_all_examples_of_the_manual_exist():
    assert EXAMPLES == [
        "ex_frame_to_frame_transform",
        "ex_frame_to_frame_transforms",
        "ex_fwd_kinematics",
        "ex_fwd_kinematics_device",
        "ex_grip_frame",
        "ex_is_daf",
        "ex_print_kinematic_tree",
        "ex_world_transforms",
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, capsys):
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")

    assert capsys.readouterr().out.count("\n") >= 1


def test_the_printed_tree_is_robworks(capsys):
    cell = rw.WorkCell(lw.load_workcell(snippets_cell()))

    example("ex_print_kinematic_tree")["printDefaultWorkCellStructure"](cell)  # type: ignore[operator]

    assert capsys.readouterr().out == PRINTED_TREE


def test_the_arm_of_the_printed_tree_has_its_home_configuration():
    cell = rw.WorkCell(lw.load_workcell(snippets_cell()))
    arm = cell.findSerialDevice("Device")
    assert arm is not None

    assert arm.getQ(cell.getDefaultState()).toStdVector() == list(SNIPPETS_HOME)


def test_the_interface_needs_only_linkwork():
    code = "import sys, linkwork.compat.robwork as rw; rw.WorkCell('c'); "
    code += "print([m for m in ('lxml', 'llvmlite', 'scipy', 'sdurw') if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert result.strip() == "[]"
