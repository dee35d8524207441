from __future__ import annotations

import pytest

from kernel_helpers import floater


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Compiled code of these tests is kept for this run only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWORK_CACHE", str(tmp_path_factory.mktemp("code")))
        yield


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
