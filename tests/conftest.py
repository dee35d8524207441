"""What every test may use: random numbers that are the same in each run, and a cache of its own."""

from __future__ import annotations

import gc
import signal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.support.kernels import Never, floater
from tests.support.packages import OPTIONAL, UNAVAILABLE, is_missing

from linkwork.engine.runtime import compiled_program

TESTS = Path(__file__).parent
# Folders of which all tests have a marker. Other tests have theirs where they are defined.
FOLDERS_OF_PEERS = ("bridges", "compat", "envs", "io/mjcf", "simulation/mjcf", "viewer")
FOLDERS_OF_COMPILERS = ("export",)
# Folders whose tests concern compilation in the background, or run as long as users' programs.
FOLDERS_WITH_BACKGROUND = ("engine", "envs", "examples", "viewer")


def pytest_ignore_collect(collection_path, config):
    """Leave out modules that cannot be imported without the packages that are not to be used."""
    return True if _without_peers(config) and _is_in(collection_path, FOLDERS_OF_PEERS) else None


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    for item in items:
        if _is_in(item.path, FOLDERS_OF_PEERS):
            item.add_marker("peers")
        if _is_in(item.path, FOLDERS_OF_COMPILERS):
            item.add_marker("compiler")


def pytest_pycollect_makemodule(module_path, parent):
    packages = OPTIONAL if _without_peers(parent.config) else UNAVAILABLE
    return _ModuleOfInstalledPackages.from_parent(parent, path=module_path, packages=packages)


class _ModuleOfInstalledPackages(pytest.Module):
    """A module of tests that is skipped if it imports one of `packages` that is missing."""

    def __init__(self, packages, **options):
        super().__init__(**options)
        self.packages = packages

    def collect(self):
        try:
            return list(super().collect())
        except self.CollectError as error:
            if is_missing(error.__cause__, self.packages):
                pytest.skip(str(error.__cause__), allow_module_level=True)
            raise


def _without_peers(config):
    return "not peers" in config.option.markexpr


@cache
def _is_in(path, folders):
    return any(path.is_relative_to(TESTS / name) for name in folders)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(request, tmp_path_factory):
    """Compiled code of the tests is kept for this run only, apart from the user's cache.

    The processes of a run share it, so that each kernel is compiled once.
    """
    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):  # of pytest-xdist: a folder in that of the run
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWORK_CACHE", str(folder / "code"))
        yield


@pytest.fixture(scope="module", autouse=True)
def _quick_collections():
    """Exclude the objects of earlier tests from garbage collection: there are millions of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _no_background(request):
    """In most tests, optimized code is compiled only by `warmup`.

    It gives the same bits, and compiling it in the background takes longer than the tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.relative_to(TESTS).parts[0] not in FOLDERS_WITH_BACKGROUND:
            patch.setattr(compiled_program, "background", Never)
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts():
    """Jobs that a script starts in the background ignore SIGINT, and so do their children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _seldom_collected():
    """Programs are large and live long: without this, Python looks through them again and again."""
    gc.set_threshold(200_000, 50, 1000)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A folder for compiled code with nothing in it."""
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "linkwork-code"


@pytest.fixture
def rng():
    return np.random.default_rng(20240601)


@pytest.fixture(scope="session")
def kd():
    """A base that floats, two joints; shared, for nothing that a test does may change it."""
    return floater()


@pytest.fixture(scope="module")
def kernel():
    """mass_matrix of a robot with two joints: (2,) to (2, 2)."""
    kernel = floater(floating=False).function("mass_matrix")
    kernel.warmup()
    return kernel
