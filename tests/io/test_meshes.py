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


def link(path: Path, target: Path) -> Path:
    """A symbolic link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("no symbolic links here")
    return path


def test_symbolic_link_out_of_the_package_is_rejected(package: Path):
    """An archive or a repository can contain links; the caller can allow their targets."""
    secret = package.parent / "secret.stl"
    linked = link(package / "meshes" / "linked.stl", secret)
    file = written(package / "urdf", "../meshes/linked.stl")

    assert mesh_of(file).path is None
    assert mesh_of(file).searched == (f"{linked} (rejected: outside {package})",)
    assert mesh_of(file, package_dirs=[package.parent]).path == str(linked)


def test_symbolic_link_inside_of_the_package_is_followed(package: Path):
    linked = link(package / "urdf" / "linked.stl", package / "meshes" / "arm.stl")

    assert mesh_of(written(package / "urdf", "linked.stl")).path == str(linked)


@pytest.mark.parametrize("name", ["package://{}/meshes/arm.stl", "../meshes/arm.stl"])
def test_folders_of_links_of_colcon_are_followed(package: Path, tmp_path: Path, name: str):
    """`colcon build --symlink-install` links every file of a package, its package.xml included."""
    (package / "package.xml").write_text("<package><name>lamp_description</name></package>")
    file = written(package / "urdf", name.format(package.name))
    share = tmp_path / "install" / "share" / package.name
    for one in ("package.xml", "urdf/lamp.urdf", "meshes/arm.stl"):
        link(share / one, package / one)

    assert mesh_of(share / "urdf" / file.name).path == str(share / "meshes" / "arm.stl")
    other = written(tmp_path / "install", f"package://{package.name}/meshes/arm.stl")
    found = mesh_of(other, package_dirs=[share.parent])
    assert found.path == str(share / "meshes" / "arm.stl")


def test_store_of_links_is_followed(package: Path, tmp_path: Path):
    """Caches of downloads have folders of links to one folder of files."""
    store = tmp_path / "blobs"
    store.mkdir()
    (store / "1").write_text(with_mesh("meshes/arm.stl"))
    (store / "2").touch()
    snapshot = tmp_path / "snapshots"
    file = link(snapshot / "lamp.urdf", store / "1")
    mesh = link(snapshot / "meshes" / "arm.stl", store / "2")

    assert mesh_of(file).path == str(mesh)


@pytest.mark.parametrize("manifest", ["package.xml", "model.config"])
def test_package_next_to_that_of_the_file_needs_a_manifest(package: Path, manifest: str):
    file = written(package / "urdf", "package://parts/arm.stl")
    (package.parent / "parts").mkdir()
    mesh = package.parent / "parts" / "arm.stl"
    mesh.touch()

    assert mesh_of(file).path is None
    assert any(f"{mesh} (rejected" in one for one in mesh_of(file).searched)
    (package.parent / "parts" / manifest).touch()
    assert mesh_of(file).path == str(mesh)


@pytest.mark.parametrize("has_manifest", [True, False])
def test_link_in_a_package_folder_is_followed_if_it_is_a_package(package: Path, has_manifest: bool):
    """In workspaces, packages are often links."""
    linked = link(package.parent / "src" / "lamp", package)
    if has_manifest:
        (package / "package.xml").touch()
    file = written(linked.parent, "package://lamp/meshes/arm.stl")

    mesh = mesh_of(file, package_dirs=[linked.parent])

    assert (mesh.path is not None) == has_manifest


@pytest.mark.parametrize("folder", ["/", "/a", "/a/b", "/a/urdf", "/a/b/urdf"])
@pytest.mark.parametrize("scheme", ["package", "model"])
@pytest.mark.parametrize("name", ["etc/passwd", "a/secret", "b/secret"])
def test_no_package_is_above_that_of_the_file(monkeypatch, folder: str, scheme: str, name: str):
    """All files exist here, none of them is a manifest, and none is a link."""
    monkeypatch.setattr("linkwork.io.meshes.isfile", lambda _: True)
    monkeypatch.setattr("linkwork.io.meshes.lexists", lambda _: True)
    package = {"/a/b/urdf": "/a/b"}.get(folder, folder)

    path = MeshFinder(f"{folder}/r.urdf", environment={}).find(f"{scheme}://{name}").path

    assert path is None or (path.startswith(f"{package}/") and package != "/")


def test_pipe_in_the_place_of_a_manifest_is_not_opened(package: Path):
    os.mkfifo(package / "package.xml")

    assert mesh_of(written(package / "urdf", "package://lamp/arm.stl")).path is None


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
