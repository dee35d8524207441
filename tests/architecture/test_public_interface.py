"""The public interface changes only on purpose: `public_interface.txt` lists it."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = spec_from_file_location("public_interface", ROOT / "tools" / "public_interface.py")
TOOL = module_from_spec(SPEC)
SPEC.loader.exec_module(TOOL)
STORED = TOOL.stored()
NEED_PACKAGES = ("linkwork", "linkwork.envs", *TOOL.FRAMEWORKS)  # gymnasium, for environments
ALONE = [path for path in (*TOOL.MODULES, *TOOL.CLASSES) if path not in NEED_PACKAGES]


def assert_stored(part: str, lines: list[str]) -> None:
    gone, new = sorted({*STORED[part]} - {*lines}), sorted({*lines} - {*STORED[part]})
    text = "\n".join((*(f"- {line}" for line in gone), *(f"+ {line}" for line in new)))
    assert not text, (
        f"the public interface changed:\n{text}\n"
        "If it should, run `python tools/public_interface.py`; see the rules for changes of "
        "the public interface in CONTRIBUTING.md"
    )


@pytest.mark.parametrize("path", ALONE)
def test_names_and_signatures_are_those_that_are_stored(path):
    assert_stored(path, list(TOOL.lines_of(path)))


@pytest.mark.peers
@pytest.mark.parametrize("path", NEED_PACKAGES)
def test_those_of_modules_that_need_packages_are_stored_too(path):
    assert_stored(path, list(TOOL.lines_of(path)))


def test_commands_and_their_options_are_those_that_are_stored():
    assert_stored(TOOL.COMMANDS, sorted(TOOL.commands()))


def test_the_list_has_every_part_and_what_matters_most():
    parts = [*TOOL.MODULES, *TOOL.FRAMEWORKS, *TOOL.CLASSES, TOOL.COMMANDS]
    assert list(STORED) == parts
    assert [part for part in parts if not STORED[part]] == []
    for name in (
        "KinDyn",
        "ConstrainedKinDyn",
        "CollisionModel",
        "Simulation",
        "VectorEnv",
        "WorkCell",
    ):
        assert (
            len([line for line in STORED["linkwork"] if line.startswith(f"linkwork.{name}.")]) > 10
        )


def test_a_removed_name_and_a_changed_default_are_reported(monkeypatch):
    lines = STORED["linkwork.linalg"]
    assert_stored("linkwork.linalg", lines)
    for changed in (lines[1:], [lines[0].replace(")", ", *, extra=1)"), *lines[1:]]):
        with pytest.raises(AssertionError, match=r"public_interface\.py"):
            assert_stored("linkwork.linalg", changed)
