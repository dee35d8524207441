"""Sources of `load`: paths, strings and bytes; errors for everything else."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import GOOD, changed, error_message, loaded

from linkwork import LinkworkError, SourceError, load
from linkwork.io.xml import documents

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices are files only here")


def failure(path) -> str:
    with pytest.raises(SourceError) as caught:
        load(path)
    assert isinstance(caught.value, OSError)
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lamp.urdf"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_path_string_and_bytes_load_the_same_model(file: Path):
    models = [loaded(argument)[0] for argument in (file, str(file), GOOD, GOOD.encode())]

    assert models == [models[0]] * 4


def test_path_may_be_relative(file: Path, monkeypatch):
    monkeypatch.chdir(file.parent)

    assert error_location("lamp.urdf", file) == "lamp.urdf:6"


def error_location(argument: str, file: Path) -> str:
    file.write_text(changed('value="2"', 'value="?"'), encoding="utf-8")
    return error_message(argument).partition(": ")[0]


def test_objects_with_fspath_are_paths(file: Path):
    class Where:
        def __fspath__(self) -> str:
            return str(file)

    assert loaded(Where())[0].name == "lamp"


def test_folder_is_rejected(tmp_path: Path):
    assert_facts(failure(tmp_path), f"{re.escape(repr(str(tmp_path)))}.*folder")


def test_missing_file_is_named(tmp_path: Path):
    path = tmp_path / "no.urdf"

    assert failure(path) == f"no file {str(path)!r}"


def test_missing_folder_is_named(tmp_path: Path):
    path = tmp_path / "no" / "no.urdf"

    message = failure(path)
    assert message.startswith(f"no file {str(path)!r}")
    assert f"no folder {str(path.parent)!r}" in message


def test_error_for_an_unreadable_file_states_the_reason(file: Path, monkeypatch):
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "read_bytes", denied)
    monkeypatch.setattr(Path, "open", denied)

    assert_facts(failure(file), f".*{re.escape(repr(str(file)))}.*Permission denied")


@posix
def test_pipe_is_rejected_without_waiting(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    assert_facts(failure(path), f"{re.escape(repr(str(path)))}.*regular file")


@posix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_device_is_rejected(device: str):
    assert_facts(failure(device), f"{device!r}.*regular file")


@posix
def test_broken_symbolic_links_are_missing_files(tmp_path: Path):
    loop, dangling = tmp_path / "loop", tmp_path / "dangling"
    loop.symlink_to(loop)
    dangling.symlink_to(tmp_path / "nothing")

    assert failure(loop) == f"no file {str(loop)!r}"
    assert failure(dangling) == f"no file {str(dangling)!r}"


def test_symbolic_link_to_a_file_is_followed(file: Path):
    link = file.with_name("link.urdf")
    try:
        link.symlink_to(file)
    except OSError:
        pytest.skip("no symbolic links here")

    assert loaded(link) == loaded(file)


def test_file_that_is_too_large_is_rejected(file: Path, monkeypatch):
    monkeypatch.setattr(documents, "MAX_FILE_SIZE", 1 << 20)
    file.write_bytes(b" " * ((1 << 20) + 1))

    assert_facts(failure(file), f"{re.escape(repr(str(file)))}.*1 MiB")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc exists on Linux only")
def test_file_of_unknown_size_is_read_up_to_the_limit(monkeypatch):
    """Files of /proc have the size 0, and some of them are almost endless."""
    path = "/proc/self/maps"
    monkeypatch.setattr(documents, "MAX_FILE_SIZE", 100)
    assert len(Path(path).read_bytes()) > 100

    assert_facts(failure(path), f"{path!r}.*larger")


def test_empty_path_object_is_the_current_folder():
    assert_facts(failure(Path()), r"'\.'.*folder")


def test_empty_file_is_an_empty_document(file: Path):
    file.write_bytes(b"")

    assert_facts(error_message(file), f"{re.escape(str(file))}:1: .*empty")


def test_path_with_a_nul_is_a_missing_file():
    for path in ("la\0mp.urdf", Path("la\0mp.urdf")):
        assert "'la\\x00mp.urdf'" in failure(path)


def test_path_that_is_too_long_cannot_be_read():
    assert failure("a" * 5000).startswith(("cannot read 'aaa", "no file 'aaa"))


def test_path_object_may_contain_characters_of_documents(tmp_path: Path):
    path = tmp_path / "a<b>.urdf"
    try:
        path.write_text(GOOD, encoding="utf-8")
    except OSError:
        pytest.skip("no such file names here")

    assert loaded(path)[0].name == "lamp"
    assert_facts(error_message(str(path)), "<text>:1: .*XML")


def test_without_xacro_its_files_are_rejected_with_a_hint(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)  # as if it were not installed
    path = tmp_path / "lamp.xacro"
    path.write_text(
        changed("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ').replace(
            "</robot>", '<xacro:include filename="arm.xacro"/></robot>'
        ),
        encoding="utf-8",
    )

    advice = r"`xacro robot\.xacro > robot\.urdf`.*pip install xacro"
    assert_facts(error_message(path), f"{re.escape(str(path))}:20: <xacro:include>.*{advice}")


def test_expanded_xacro_file_is_a_robot(tmp_path: Path):
    path = tmp_path / "lamp.xacro"
    path.write_text(GOOD, encoding="utf-8")

    assert loaded(path) == loaded(GOOD)


@pytest.mark.parametrize("argument", [None, 3, ["lamp.urdf"], bytearray(b"<robot/>"), object()])
def test_other_types_are_type_errors_that_name_the_type(argument):
    with pytest.raises(TypeError, match=rf"path.*{type(argument).__name__}") as caught:
        load(argument)
    assert isinstance(caught.value, LinkworkError)
