"""`out=`: results are written to arrays of the caller, but not on an error."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.support.kernels import hinge, motion

import linkwork as lw

OTHER = ">" if sys.byteorder == "little" else "<"
BATCHES = [(), (1,), (7,), (2, 3), (3000,)]


@pytest.mark.parametrize("batch", BATCHES)
def test_the_result_is_written_to_out_and_out_is_returned(kd, batch):
    q, nu, _ = motion(kd, batch)
    out = np.full((*batch, 8, 8), 7.0)
    assert kd.mass_matrix(q, out=out) is out
    np.testing.assert_allclose(out, kd.mass_matrix(q), atol=1e-13)
    energy = np.full(batch, 7.0)
    assert kd.kinetic_energy(q, nu, out=energy) is energy
    np.testing.assert_allclose(energy, kd.kinetic_energy(q, nu), rtol=1e-13)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", ["Fortran", "every second", "backwards", "unaligned", "subclass"])
def test_out_may_have_any_memory_layout(kd, batch, kind):
    class Other(np.ndarray):
        pass

    q, _, _ = motion(kd, batch)
    shape = (*batch, 8, 8)
    room = np.zeros((2 * int(np.prod(shape)) + 1) * 8, dtype=np.uint8)
    out = {
        "Fortran": np.zeros(shape, order="F"),
        "every second": np.zeros((*batch, 8, 16))[..., ::2],
        "backwards": np.zeros(shape)[..., ::-1],
        "unaligned": room[1 : 1 + 8 * int(np.prod(shape))].view(float).reshape(shape),
        "subclass": np.zeros(shape).view(Other),
    }[kind]
    assert kd.mass_matrix(q, out=out) is out
    np.testing.assert_allclose(np.asarray(out), kd.mass_matrix(q), atol=1e-13)


def test_memory_next_to_out_is_not_written(kd):
    q = kd.random(5, seed=0)
    room = np.full((9, 12, 12), 7.0)
    kd.mass_matrix(q, out=room[2:7, 2:10, 2:10])
    np.testing.assert_allclose(room[2:7, 2:10, 2:10], kd.mass_matrix(q), atol=1e-13)
    room[2:7, 2:10, 2:10] = 7.0
    np.testing.assert_array_equal(room, 7.0)
    lines = np.full((9, 8), 7.0)
    nu = np.ones((5, 8))
    kd.bias_force(q, nu, out=lines[2:7])
    np.testing.assert_array_equal(lines[:2], 7.0)
    np.testing.assert_array_equal(lines[7:], 7.0)


@pytest.mark.parametrize(
    ("out", "expected", "got"),
    [
        (np.zeros((8, 8), "f4"), "float64", "float32"),
        (np.zeros((8, 8), "i8"), "float64", "int64"),
        (np.zeros((8, 8), complex), "float64", "complex128"),
        (np.zeros((8, 8), object), "float64", "object"),
        (np.zeros((8, 8), OTHER + "f8"), "float64", f"{OTHER}f8"),
        (np.zeros((8, 7)), "(8, 8)", "(8, 7)"),
        (np.zeros(64), "(8, 8)", "(64,)"),
        (np.zeros((1, 8, 8)), "(8, 8)", "(1, 8, 8)"),
        (np.zeros(()), "(8, 8)", "()"),
        (False, "array", "bool"),
        (bytearray(512), "array", "bytearray"),
        ((), "1 arrays", "0"),
        ((np.zeros((8, 8)), np.zeros((8, 8))), "1 arrays", "2"),
    ],
)
def test_an_out_that_does_not_match_is_rejected(kd, out, expected, got):
    before = out.copy() if isinstance(out, np.ndarray) else None
    with pytest.raises(lw.LinkworkError) as caught:
        kd.mass_matrix(kd.neutral(), out=out)
    assert all(fact in str(caught.value) for fact in ("out", expected, f"got {got}"))
    if before is not None:
        np.testing.assert_array_equal(out, before)


def test_a_read_only_out_is_rejected_and_unchanged(kd):
    out = np.full((8, 8), 7.0)
    out.flags.writeable = False
    with pytest.raises(lw.LinkworkError, match=r"out.*mass_matrix is read-only"):
        kd.mass_matrix(kd.neutral(), out=out)
    np.testing.assert_array_equal(out, 7.0)


def test_a_fused_function_writes_nothing_if_one_out_does_not_match(kd):
    q, nu, _ = motion(kd)
    fused = kd.function("mass_matrix", "bias_force")
    first = np.full((8, 8), 7.0)
    for second in (np.zeros(7), np.zeros(8, "f4"), None, 5):
        with pytest.raises(lw.LinkworkError):
            fused(q, nu, out=(first, second))
        np.testing.assert_array_equal(first, 7.0)
    with pytest.raises(lw.LinkworkError):
        fused(q, nu, out=first)


def test_invalid_arguments_leave_out_unchanged(kd):
    q, nu, tau = motion(kd, 3)
    out = np.full((3, 8), 7.0)
    bad = q.copy()
    bad[2, 3:7] *= 2
    for arguments in ((q[:, :8], nu, tau), (q, nu[:2], tau), (bad, nu, tau), (q, nu, None)):
        with pytest.raises(lw.LinkworkError):
            kd.forward_dynamics(*arguments, out=out)
        np.testing.assert_array_equal(out, 7.0)


@pytest.mark.parametrize("n", [1, 3, 3000])
def test_a_singular_robot_leaves_out_unchanged(n):
    """Some rows may be computed before a singular one is found."""
    kd = lw.KinDyn(hinge(lw.Inertia()), floating=False)
    q, nu, tau = motion(kd, n)
    out = np.full((n, 1), 7.0)
    with pytest.raises(lw.SingularJointError):
        kd.forward_dynamics(q, nu, tau, out=out)
    np.testing.assert_array_equal(out, 7.0)


@pytest.mark.parametrize("n", [3, 3000])
def test_rows_that_can_be_computed_are_in_out_when_others_cannot(kd, n):
    q, nu, tau = motion(kd, n)
    expected = kd.forward_dynamics(q, nu, tau)
    good = np.arange(n) != n // 2
    nu[n // 2] = 1e300
    out = np.full((n, 8), 7.0)
    text = rf"forward_dynamics.*too large.*row {n // 2} of {n}"
    with pytest.raises(lw.ValueRangeError, match=text) as caught:
        kd.forward_dynamics(q, nu, tau, out=out)
    np.testing.assert_array_equal(caught.value.mask, ~good)
    np.testing.assert_allclose(out[good], expected[good], rtol=1e-11)
    assert not np.isfinite(out[~good]).all()


@pytest.mark.parametrize("n", [1, 9, 3000])
def test_out_may_be_an_input(kd, n):
    q, nu, tau = motion(kd, n)
    expected = kd.forward_dynamics(q, nu, tau)
    for index in (1, 2):
        arguments = [q.copy(), nu.copy(), tau.copy()]
        actual = kd.forward_dynamics(*arguments, out=arguments[index])
        np.testing.assert_array_equal(actual, arguments[index])
        np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shift", [1, 3, 8, 20])
def test_out_may_overlap_an_input(kd, shift):
    q, nu, tau = motion(kd, 6)
    expected = kd.forward_dynamics(q, nu, tau)
    room = np.zeros(6 * 8 + shift)
    arguments, out = room[: 6 * 8].reshape(6, 8), room[shift:].reshape(6, 8)
    arguments[...] = tau
    np.testing.assert_allclose(kd.forward_dynamics(q, nu, arguments, out=out), expected, rtol=1e-11)


def test_outs_that_overlap_each_other_are_rejected(kd):
    """The array could contain only one of the two results."""
    q, nu, _ = motion(kd)
    fused = kd.function("bias_force", "gravity_force")
    room = np.full(12, 7.0)
    for first, second in ((room[:8], room[:8]), (room[:8], room[4:])):
        with pytest.raises(ValueError, match="out"):
            fused(q, nu, out=(first, second))
        np.testing.assert_array_equal(room, 7.0)


def test_outs_in_the_same_memory_without_overlap_are_accepted(kd):
    q, nu, _ = motion(kd, 5)
    room = np.zeros((5, 2, 8))
    actual = kd.function("bias_force", "gravity_force")(q, nu, out=(room[:, 0], room[:, 1]))
    np.testing.assert_allclose(room[:, 0], kd.bias_force(q, nu), atol=1e-12)
    np.testing.assert_allclose(room[:, 1], kd.gravity_force(q), atol=1e-12)
    assert actual[0].base is room
