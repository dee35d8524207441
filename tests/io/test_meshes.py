"""Search for meshes, which is restricted to the allowed folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.urdf_files import changed, loaded, notes

from linkwork.io.meshes import MeshFinder
from linkwork.model.geometry import Mesh

SEARCH_PATHS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH")
SEARCH_PATHS += ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")


@pytest.fixture(autouse=True)
def no_search_paths(monkeypatch):
    for name in SEARCH_PATHS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package `lamp_description` with the folders urdf and meshes, next to a secret file."""
    folder = tmp_path / "lamp_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    for name in ("arm.stl", "the arm.stl"):
        (folder / "meshes" / name).touch()
    (tmp_path / "secret.stl").touch()
    return folder


def with_mesh(filename: str) -> str:
    return changed('<box size="1 2 3"/>', f'<mesh filename="{filename}"/>')


def mesh_of(source, **options) -> Mesh:
    model, messages = loaded(source, **options)
    mesh = model.link("arm").visuals[0].geometry
    assert isinstance(mesh, Mesh)
    assert messages == []  # a mesh that is not found is a note, not a warning
    return mesh


def written(folder: Path, filename: str) -> Path:
    file = folder / "lamp.urdf"
    file.write_text(with_mesh(filename), encoding="utf-8")
    return file


def test_mesh_outside_the_folder_of_the_file_is_rejected(tmp_path: Path):
    name = "../" * 20 + "etc/passwd"
    file = written(tmp_path, name)
    outside = Path(os.sep, "etc", "passwd").resolve()

    mesh = mesh_of(file)

    assert mesh.path is None
    assert mesh.filename == name
    assert mesh.searched == (f"{outside} (rejected: outside {tmp_path})",)
    (note,) = notes(file)
    assert note.startswith(f"{file}:3: link 'arm': ")
    assert all(fact in note for fact in (repr(name), mesh.searched[0]))


def test_mesh_of_an_unknown_package_is_reported_with_the_searched_paths(package: Path):
    name = "package://no_such/meshes/arm.stl"
    file = written(package / "urdf", name)
    around = (package / "urdf", package, package.parent)

    mesh = mesh_of(file)

    assert mesh.path is None
    assert mesh.searched == tuple(str(f / "no_such" / "meshes" / "arm.stl") for f in around)
    (note,) = notes(file)
    assert note.startswith(f"{file}:3: link 'arm': ")
    assert all(fact in note for fact in (repr(name), ", ".join(mesh.searched)))


@pytest.mark.parametrize(
    "name",
    [
        "package://lamp_description/meshes/arm.stl",
        "model://lamp_description/meshes/arm.stl",
        "../meshes/arm.stl",
        "../urdf/../meshes/./arm.stl",
    ],
)
def test_mesh_in_the_package_of_the_file_is_found(package: Path, name: str):
    assert mesh_of(written(package / "urdf", name)).path == str(package / "meshes" / "arm.stl")


@pytest.mark.parametrize("folders", [(), (".",), ("..",)])
def test_package_is_found_by_the_name_in_its_package_xml(package: Path, folders: tuple[str, ...]):
    (package / "package.xml").write_text("<package><name> lamp </name></package>")
    file = written(
        package / "urdf" if not folders else package.parent, "package://lamp/meshes/arm.stl"
    )
    outside = written(package, "package://lamp/../secret.stl")

    assert mesh_of(file, package_dirs=[package / f for f in folders]).path
    assert mesh_of(outside).path is None


def test_mesh_relative_to_the_file_is_found(package: Path):
    assert mesh_of(written(package / "meshes", "arm.stl")).path is not None


def test_file_url_is_percent_decoded(package: Path):
    name = (package / "meshes" / "the arm.stl").as_uri()
    assert "%20" in name

    mesh = mesh_of(written(package / "urdf", name))

    assert mesh.path == str(package / "meshes" / "the arm.stl")


@pytest.mark.parametrize("form", [str, Path])
def test_package_dirs_may_be_strings_or_path_objects(package: Path, form):
    text = with_mesh("package://lamp_description/meshes/arm.stl")

    assert mesh_of(text).path is None
    for folder in (package.parent, package):
        mesh = mesh_of(text, package_dirs=[form(folder)])
        assert mesh.path == str(package / "meshes" / "arm.stl")


def test_single_string_as_package_dirs_is_one_folder(package: Path):
    """As a sequence, its letters would be folders, and `/` would allow every file."""
    text = with_mesh("../" * 20 + "etc/passwd")

    try:
        mesh = mesh_of(text, package_dirs=str(package))
    except TypeError:
        return  # refused: fine as well
    assert mesh.path is None
    assert "/etc/passwd" not in mesh.searched


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.stl",
        "package://lamp_description/../secret.stl",
        "package://../secret.stl",
        "package://./../secret.stl",
        "model://../secret.stl",
        "../urdf/../../secret.stl",
    ],
)
def test_mesh_outside_its_package_is_never_found(package: Path, name: str):
    file = written(package / "urdf", name)
    assert (package.parent / "secret.stl").is_file()

    assert mesh_of(file).path is None


def test_absolute_path_and_file_url_outside_the_roots_are_rejected(package: Path):
    secret = package.parent / "secret.stl"

    for name in (str(secret), secret.as_uri()):
        mesh = mesh_of(written(package / "urdf", name))
        assert mesh.path is None
        assert mesh.searched == (f"{secret} (rejected: outside {package})",)


def test_absolute_path_inside_a_given_folder_is_found(package: Path):
    secret = package.parent / "secret.stl"
    file = written(package / "urdf", secret.as_uri())

    assert mesh_of(file, package_dirs=[package.parent]).path == str(secret)


def test_symbolic_link_inside_the_package_is_followed(package: Path):
    """A robot file cannot create symbolic links, so they are intentional."""
    link = package / "meshes" / "linked.stl"
    try:
        link.symlink_to(package.parent / "secret.stl")
    except OSError:
        pytest.skip("no symbolic links here")

    assert mesh_of(written(package / "urdf", "../meshes/linked.stl")).path == str(link)


def test_parent_of_a_symbolic_link_is_resolved_by_name(package: Path):
    """`linked/..` is the folder of the link, not the parent of its target."""
    try:
        (package / "linked").symlink_to(os.sep, target_is_directory=True)
    except OSError:
        pytest.skip("no symbolic links here")
    file = written(package / "urdf", "../linked/../meshes/arm.stl")

    assert mesh_of(file).path == str(package / "meshes" / "arm.stl")


@pytest.mark.parametrize(
    "name",
    [
        "file://[x/arm.stl",  # no host name
        "file://\u2100/arm.stl",  # a letter that is several after normalisation
        "file://",
        "file:///%00",
        "package://",
        "package:///arm.stl",
        "http://example.org/arm.stl",
        "arm" * 2000,
        "~/arm.stl",
        ".",
        "..",
    ],
)
def test_invalid_mesh_name_is_kept_and_reported_as_not_found(package: Path, name: str):
    file = written(package / "urdf", name)

    mesh = mesh_of(file)

    assert mesh.filename == name
    assert mesh.path is None
    (note,) = notes(file)
    assert note.startswith(f"{file}:3: link 'arm': mesh {name!r} not found"[:500])


def test_relative_mesh_of_a_string_is_not_found():
    mesh = mesh_of(with_mesh("arm.stl"))

    assert mesh.path is None
    assert len(mesh.searched) == 1


@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH"])
def test_packages_of_environment_variables_are_found(package: Path, variable: str):
    paths = os.pathsep.join(["", "/no/such/folder", str(package.parent)])

    finder = MeshFinder(None, environment={variable: paths})

    result = finder.find("package://lamp_description/meshes/arm.stl")
    assert result.path == str(package / "meshes" / "arm.stl")


def test_packages_of_ament_are_in_share(package: Path):
    (package.parent / "share").mkdir()
    package.rename(package.parent / "share" / package.name)

    finder = MeshFinder(None, environment={"AMENT_PREFIX_PATH": str(package.parent)})

    result = finder.find("package://lamp_description/meshes/arm.stl")
    assert result.path == str(package.parent / "share" / package.name / "meshes" / "arm.stl")


def test_paths_of_meshes_do_not_affect_equality(package: Path):
    file = written(package / "urdf", "../meshes/arm.stl")

    assert loaded(file)[0] == loaded(file.read_text(encoding="utf-8"))[0]
