"""Robots by name: bundled, from example-robot-data, and from robot_descriptions."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.named_robots import only_bundled
from tests.support.real_robots import ROBOT_FILES, load_quietly

import linkwork as lw
from linkwork.io.named_robots import (
    LOADER_NAMES,
    described_robots,
    downloaded_robots,
    example_robots,
    named_robot,
    robots_folder,
)

TALOS = next((path for path in ROBOT_FILES if path.name == "talos_reduced.urdf"), None)


def failure(name: str) -> str:
    with pytest.raises(lw.SourceError) as caught:
        lw.load(name)
    return str(caught.value)


@pytest.mark.peers
def test_name_loads_the_same_as_its_file():
    assert lw.load("arm") == lw.robots.load("arm")
    talos = load_quietly("talos")
    assert talos == load_quietly(TALOS, srdf=talos.srdf)
    assert load_quietly("example-robot-data:talos") == talos


@pytest.mark.peers
def test_models_have_the_path_of_their_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arm").write_text("no robot")  # a file of that name, which `load` would take
    for name, path in (("arm", lw.robots.path("arm")), ("panda", example_robots()["panda"])):
        model = lw.robots.load(name)
        assert lw.robots.path(name) == path == model.source
        for copy in (
            model.renamed(prefix="left_"),
            model.reduced(model.joint_names[:1]),
            model.lumped(),
            model.rerooted(),
            pickle.loads(pickle.dumps(model)),
        ):
            assert copy.source == path
        text = lw.load(path.read_text())
        assert text.source is None
        if name == "arm":  # which has no meshes beside it
            assert (text, hash(text)) == (model, hash(model))


@pytest.mark.peers
def test_name_of_a_reduced_robot_is_a_warning():
    with pytest.warns(lw.LinkworkWarning) as caught:
        lw.load("talos")
    text = str(caught[0].message)
    assert "talos_reduced.urdf" in text
    assert "talos_full" in text
    with pytest.warns(lw.LinkworkWarning) as caught:
        lw.load(TALOS)
    assert "talos_full" not in str(caught[0].message)


@pytest.mark.peers
def test_robots_by_name_have_the_named_configurations_of_their_srdf_files():
    robots = {name: load_quietly(name) for name in ("talos", "solo12", "ur5", "ur10", "panda")}
    configurations = {name: [c.name for c in one.configurations] for name, one in robots.items()}
    files = {name: one.srdf and one.srdf.name for name, one in robots.items()}
    panda = robots["panda"]

    assert configurations["talos"] == ["half_sitting"]
    assert configurations["solo12"] == ["standing", "straight_standing"]
    assert files == {
        "talos": "talos.srdf",
        "solo12": "solo.srdf",
        "ur5": "ur5.srdf",
        "ur10": None,
        "panda": "panda.srdf",
    }
    assert lw.load(panda.source, srdf=panda.srdf) == panda


@pytest.mark.peers
def test_every_name_of_the_loaders_is_a_file_and_every_file_has_a_name():
    folder = robots_folder()
    assert folder is not None
    missing = [file for file in LOADER_NAMES.values() if not (folder / file).is_file()]
    assert missing == []
    files = {*folder.rglob("*.urdf"), *folder.rglob("*.sdf")}
    without = files - set(example_robots().values())
    assert {path.name for path in without} == {"iris.urdf", "ur3.urdf"}  # loaders mean others


@pytest.mark.peers
def test_bundled_robots_take_precedence_without_a_prefix():
    assert lw.load("quadruped") == lw.robots.load("quadruped")
    assert lw.load("linkwork:quadruped") == lw.robots.load("quadruped")
    assert load_quietly("example-robot-data:quadruped").name == "quadroped"


def test_file_takes_precedence_over_a_robot_but_a_folder_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pendulum").mkdir()
    Path("arm").write_text('<robot name="mine"><link name="a"/></robot>')

    assert lw.load("arm").name == "mine"
    assert lw.load("pendulum") == lw.robots.load("pendulum")


def test_path_object_is_never_a_name():
    with pytest.raises(lw.MissingFileError):
        lw.load(Path("arm"))


@pytest.mark.peers
def test_error_suggests_similar_names():
    assert_facts(failure("talo"), ".*'talo'.*'talos'")
    assert_facts(failure("linkwork:amrm"), ".*'amrm'.*linkwork.*'arm'")


def test_error_names_a_package_that_is_not_installed(monkeypatch):
    only_bundled(monkeypatch)

    facts = ".*'talos'.*example-robot-data.*pip install example-robot-data"
    assert_facts(failure("example-robot-data:talos"), facts)


@pytest.mark.parametrize("name", ["a b", "../arm", "a/b", "", "arm\0", "x" * 500, "a:b:c"])
def test_invalid_name_is_read_as_a_path(name):
    assert named_robot(name) is None


# robot_descriptions, with a git repository in place of what it would download


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The download folder of robot_descriptions."""
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.startswith("robot_descriptions.")]:
        monkeypatch.delitem(sys.modules, name)  # as its modules look when they are imported
    return tmp_path / "cache"


def downloaded(monkeypatch, cache: Path, repository: str, files: dict[str, str]) -> None:
    """Create a repository with files, at the commit that the package expects."""
    from robot_descriptions._repositories import REPOSITORIES

    folder = cache / REPOSITORIES[repository].cache_path
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "robot"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    monkeypatch.setattr(REPOSITORIES[repository], "commit", head.stdout.strip())


@pytest.mark.peers
def test_robots_that_are_not_downloaded_are_never_downloaded(cache):
    assert "panda_description" in described_robots()
    assert downloaded_robots() == ()
    command = r'python -c "import robot_descriptions\.panda_description"'
    assert_facts(failure("panda_description"), f"'panda_description'.*downloaded.*{command}")
    assert not cache.exists()


@pytest.mark.peers
@pytest.mark.skipif(shutil.which("git") is None, reason="robot_descriptions needs git")
def test_a_downloaded_robot_is_loaded_by_its_name(cache, monkeypatch, capfd):
    text = '<robot name="panda"><link name="a"><visual><geometry>'
    text += (
        '<mesh filename="package://panda_description/m.stl"/></geometry></visual></link></robot>'
    )
    folder = "robots/panda_description"
    files = {f"{folder}/urdf/panda.urdf": text, f"{folder}/m.stl": "solid"}
    downloaded(monkeypatch, cache, "example-robot-data", files)

    model = lw.load("panda_description")

    assert model == lw.load(text)
    assert model.links[0].visuals[0].geometry.path == str(
        cache / "example-robot-data" / folder / "m.stl"
    )
    assert "panda_description" in downloaded_robots()
    assert capfd.readouterr().out == ""


@pytest.mark.peers
@pytest.mark.skipif(shutil.which("git") is None, reason="robot_descriptions needs git")
def test_error_for_a_download_without_the_file_is_one_line(cache, monkeypatch):
    downloaded(monkeypatch, cache, "example-robot-data", {"readme": "nothing here"})

    assert failure("panda_description").startswith(
        "robot_descriptions has no file for 'panda_description': "
    )


@pytest.mark.peers
def test_error_for_a_broken_download_is_one_line(cache, monkeypatch):
    from robot_descriptions._repositories import REPOSITORIES

    (cache / REPOSITORIES["example-robot-data"].cache_path / ".git").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "git", None)  # nothing may reach for the network

    assert failure("panda_description").startswith(
        "robot_descriptions cannot load 'panda_description': "
    )


def test_the_name_of_a_workcell_is_no_robot_and_says_so():
    with pytest.raises(lw.MissingFileError, match=r"'pick_and_place'.*load_workcell"):
        lw.load("pick_and_place")
