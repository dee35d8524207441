"""What builds and publishes packages agrees with `pyproject.toml`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import linkwork as lw

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.peers  # PyYAML


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict:
    if sys.version_info >= (3, 11):
        import tomllib as reader
    else:
        import tomli as reader  # which pytest needs there
    return reader.loads(text("pyproject.toml"))


def parsed(name: str) -> dict:
    import yaml

    return yaml.safe_load(text(name))


def test_all_files_have_the_version_of_the_package():
    assert re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", lw.__version__)
    assert parsed("CITATION.cff")["version"] == lw.__version__
    assert parsed("conda/recipe.yaml")["context"]["version"] == lw.__version__
    released = re.findall(r"^## (\d\S*?),? ", text("CHANGELOG.md"), re.MULTILINE)
    assert released[0] == lw.__version__


def test_the_changelog_groups_entries_by_what_they_change_and_not_by_days():
    headings = re.findall(r"^### (\w+)", text("CHANGELOG.md"), re.MULTILINE)
    assert headings
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(headings) <= known


def test_the_conda_recipe_has_the_dependencies_and_the_command_of_the_project():
    recipe, metadata = parsed("conda/recipe.yaml"), project()["project"]
    run, *others = recipe["requirements"]["run"]
    assert run == "python"
    assert [one.replace(" ", "") for one in others] == metadata["dependencies"]
    host = {one.replace(" ", "") for one in recipe["requirements"]["host"]}
    assert host == {"python", "pip", *project()["build-system"]["requires"]}
    (command,) = metadata["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(command)]
    assert metadata["requires-python"].strip(">=") in recipe["build"]["skip"]
    for name in (*recipe["tests"][1]["files"]["source"], recipe["about"]["license_file"]):
        assert (ROOT / name).is_file()


def test_extensions_are_required_in_wheels_and_conda_packages():
    wheels, recipe = project()["tool"]["cibuildwheel"], parsed("conda/recipe.yaml")
    for environment in (wheels["environment"], recipe["build"]["script"]["env"]):
        assert environment == {"LINKWORK_REQUIRE_EXTENSIONS": "1"}
    assert "tools/check_install.py" in wheels["test-command"]
    assert "python tools/check_install.py" in recipe["tests"][1]["script"]


def test_wheels_are_built_for_the_pythons_of_the_project_and_for_no_musl():
    wheels, metadata = project()["tool"]["cibuildwheel"], project()["project"]
    pythons = re.findall(r":: 3\.(\d+)", " ".join(metadata["classifiers"]))
    expected = [f"cp3{minor}-*" for minor in pythons]
    assert [one for one in wheels["build"] if "t-" not in one] == expected
    assert metadata["requires-python"] == f">=3.{pythons[0]}"
    assert "*-musllinux*" in wheels["skip"]


def test_tags_are_published_after_all_tests_without_a_stored_password():
    jobs = parsed(".github/workflows/wheels.yml")["jobs"]
    systems = jobs["wheels"]["strategy"]["matrix"]["system"]
    assert {re.split(r"[-]", name)[0] for name in systems} == {"ubuntu", "macos", "windows"}
    publish = jobs["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert set(publish["needs"]) == {*jobs} - {"publish"}
    assert "pypa/gh-action-pypi-publish@" in publish["steps"][-1]["uses"]
    assert "with" not in publish["steps"][-1]
    assert "secrets" not in text(".github/workflows/wheels.yml")


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")))
def test_actions_are_pinned_to_commits(path):
    uses = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    assert uses
    for action in uses:
        assert action.startswith("./") or re.search(r"@[0-9a-f]{40}$", action)
