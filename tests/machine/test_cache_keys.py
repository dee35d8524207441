"""Under which name code is kept: what differs never shares code, what is the same always does."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import floater, output_of, with_frames

import linkwork as lw
from linkwork.kernel import kernel


def keys_of(kd: lw.KinDyn, *requests: object) -> set[str]:
    found = kd.function(*requests)
    return {found._cache_key(1), found._cache_key(found._width)}


def test_what_differs_never_shares_code():
    model = floater().model
    heavy = model.with_inertia("tip", lw.Inertia(1e-9, (0, 0, 0), (0,) * 6))
    framed = model.with_frame("tool", "tip", lw.Pose(xyz=(1e-12, 0.0, 0.0)))
    moved = model.with_frame("tool", "tip", lw.Pose(xyz=(1.0000000000000002e-12, 0.0, 0.0)))
    robots = [
        lw.KinDyn(model),
        lw.KinDyn(model, floating=False),
        lw.KinDyn(model, base="tip"),
        lw.KinDyn(model, velocity="body"),
        lw.KinDyn(model, velocity="inertial"),
        lw.KinDyn(model, gravity=(0, 0, -1.62)),
        lw.KinDyn(model, gravity=(0, 0, -1.6200000000000003)),
        lw.KinDyn(model, dtype=np.float32),
        lw.KinDyn(heavy),
        lw.KinDyn(framed),
        lw.KinDyn(moved),
        lw.KinDyn(with_frames(2)),
    ]
    requests = ["com", "com_jacobian", "bias_force", ("jacobian", "base"), ("jacobian", "tip")]
    seen: set[str] = set()
    for kd in robots:
        for request in requests:
            if request[-1] in ("base", "tip") and request[-1] not in kd.model.frame_names:
                continue
            new = keys_of(kd, request)
            assert len(new) == 2
            assert not new & seen
            seen |= new
    kd = robots[0]
    for request in (("com", "bias_force"), ("bias_force", "com"), ("com", "com")):
        new = keys_of(kd, *request)
        assert not new & seen
        seen |= new


def test_the_name_of_the_robot_and_whether_it_checks_do_not_matter():
    model = floater().model
    assert keys_of(lw.KinDyn(model), "com") == keys_of(lw.KinDyn(model, check=True), "com")
    assert keys_of(lw.KinDyn(model), "com") == keys_of(lw.KinDyn(model, base="base"), "com")


@pytest.mark.parametrize("seeds", [("1", "2"), ("random", "random")])
def test_a_key_is_the_same_in_every_process(seeds):
    code = """
    kd = floater()
    print([kd.function(name)._cache_key(4) for name in ("com", "forward_dynamics")])
    kernel = kd.function("com", ("jacobian", "tip"))
    print(kernel._cache_key(1), kernel.program.digest)
    """
    assert len({output_of(code, PYTHONHASHSEED=seed) for seed in seeds}) == 1


def test_how_numbers_are_printed_does_not_change_a_key(monkeypatch):
    model = floater().model.with_frame("tool", "tip", lw.Pose(xyz=(0.1234567, 0.0, 0.0)))
    other = floater().model.with_frame("tool", "tip", lw.Pose(xyz=(0.1234568, 0.0, 0.0)))
    with np.printoptions(precision=2, threshold=1):
        keys = keys_of(lw.KinDyn(model), "com")
        assert keys != keys_of(lw.KinDyn(other), "com")
    assert keys == keys_of(lw.KinDyn(model), "com")


def test_a_changed_printer_finds_no_code_of_the_old_one(monkeypatch):
    """A program that has no name of its own is known by its steps, and what prints them."""
    function = lw.compile(x=3)(lambda x: 2 * x)
    before = {function._cache_key(1), function._cache_key(4)}
    monkeypatch.setattr(kernel, "source_digest", lambda: "another")
    assert not before & {function._cache_key(1), function._cache_key(4)}
