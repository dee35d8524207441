"""Accepted arguments: lists, all numeric types, any memory layout."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest
from tests.support.kernels import floater, motion, output_of, pendulum

import linkwork as lw

OTHER = ">" if sys.byteorder == "little" else "<"


def unaligned(array: np.ndarray) -> np.ndarray:
    room = np.zeros(array.nbytes + 1, dtype=np.uint8)
    view = room[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


class Lengths(np.ndarray):
    """An array class of another package."""


class Given:
    """An object with an `__array__` method."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array


SAME_NUMBERS = {
    "list": lambda a: a.tolist(),
    "tuple of tuples": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a),
    "list of arrays": list,
    "big-endian": lambda a: a.astype(f"{OTHER}f8"),
    "longdouble": lambda a: a.astype(np.longdouble),
    "Fortran": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
    "part of a larger one": lambda a: np.pad(a, [(2, 3)] * a.ndim)[(slice(2, -3),) * a.ndim],
    "read-only": read_only,
    "unaligned": unaligned,
    "unaligned big-endian": lambda a: unaligned(a.astype(f"{OTHER}f8")),
    "memoryview": memoryview,
    "subclass": lambda a: a.view(Lengths),
    "masked, nothing masked": np.ma.array,
    "object with __array__": Given,
    "memory-mapped": lambda a: a.view(np.memmap),
}


@pytest.mark.parametrize("kind", SAME_NUMBERS)
@pytest.mark.parametrize("n", [(), 1, 3, 11, 3000])
def test_equal_values_give_the_same_result_in_any_container(kd, kind, n):
    q, nu, tau = motion(kd, n)
    convert = SAME_NUMBERS[kind]
    actual = kd.forward_dynamics(convert(q), convert(nu), convert(tau))
    assert type(actual) is np.ndarray
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, kd.forward_dynamics(q, nu, tau), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", [(), 5])
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_is_a_batch_of_its_rows(kd, n):
    q = kd.random(n, seed=2)
    actual = kd.mass_matrix(np.matrix(q))
    assert type(actual) is np.ndarray
    np.testing.assert_allclose(actual, kd.mass_matrix(np.atleast_2d(q)), atol=1e-13)


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4"])
def test_integers_and_short_floats_give_float64(kd, kind):
    q = kd.neutral().astype(kind)
    actual = kd.mass_matrix(q)
    assert actual.dtype == np.float64
    np.testing.assert_array_equal(actual, kd.mass_matrix(kd.neutral()))


def test_a_float32_kernel_rounds_arguments_and_returns_float32(kd):
    single = floater(dtype=np.float32)
    q, nu, _ = motion(kd, 7)
    for argument in (q, q.astype(np.float32), q.tolist(), unaligned(q), np.asfortranarray(q)):
        actual = single.bias_force(argument, nu)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, kd.bias_force(q, nu), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [1e39, -1e300])
def test_a_number_too_large_for_float32_is_infinite_without_a_warning(value):
    single = pendulum(dtype=np.float32)
    assert not np.isfinite(single.inverse_dynamics([0.1], [0.0], [value])).any()
    assert not np.isfinite(single.inverse_dynamics([[0.1]], [[0.0]], [[value]])).any()


def test_a_number_too_large_for_float64_is_infinite_without_a_warning():
    value = np.longdouble("1e4000") if np.finfo(np.longdouble).max > 1e308 else np.inf
    assert not np.isfinite(pendulum().inverse_dynamics([0.1], [0.0], np.array([value]))).any()


NO_NUMBERS = [
    None,
    "abc",
    b"abc",
    {},
    set(),
    object(),
    len,
    [None] * 9,
    ["1"] * 9,
    [[1.0, 2.0], [3.0]],
    np.zeros(9, dtype=complex),
    np.zeros(9, dtype=object),
    np.zeros(9, dtype="M8[s]"),
    np.zeros(9, dtype="m8[s]"),
    np.zeros(9, dtype=[("angle", "f8")]),
    np.array(["1"] * 9),
]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_not_a_number_is_rejected_by_name_and_type(kd, value):
    q = kd.neutral()
    for call, name in (
        (lambda: kd.mass_matrix(value), "q"),
        (lambda: kd.bias_force(q, value), "nu"),
        (lambda: kd.gravity_force(q, gravity=value), "gravity"),
    ):
        if name == "gravity" and value is None:
            continue  # that of the robot
        with pytest.raises(lw.ArgumentError) as caught:
            call()
        of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
        assert str(caught.value).startswith(f"{name}: ")
        assert f"{type(value).__name__}{of}" in str(caught.value)
        assert isinstance(caught.value, TypeError)


def test_errors_of_array_methods_are_propagated(kd):
    class Broken:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise OSError("the sensor is gone")

    with pytest.raises(OSError, match="the sensor is gone"):
        kd.mass_matrix(Broken())


def test_inputs_are_not_modified(kd):
    q, nu, tau = motion(kd, 5)
    q[:, 3:7] *= 1.0001  # to be normalized, in a copy
    before = [array.copy() for array in (q, nu, tau)]
    kd.forward_dynamics(q, nu, tau)
    kd.forward_dynamics(q[0], nu[0], tau[0])
    for array, copy in zip((q, nu, tau), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("n", [(), 3, 5000])
def test_a_result_is_not_changed_by_later_calls(kd, n):
    q, nu, _ = motion(kd, n)
    stored = kd.bias_force(q, nu)
    copy = stored.copy()
    for _ in range(3):
        assert not np.shares_memory(stored, kd.bias_force(q, 2 * nu))
    np.testing.assert_array_equal(stored, copy)
    assert stored.flags.owndata
    assert stored.flags.writeable


def test_broadcast_rows_equal_repeated_rows(kd):
    q, nu, tau = motion(kd, (6, 5))
    full = kd.forward_dynamics(q, np.broadcast_to(nu[0, 0], nu.shape), tau[:1])
    repeated = np.repeat(tau[:1], 6, axis=0)
    one_by_one = [
        [kd.forward_dynamics(q[i, j], nu[0, 0], repeated[i, j]) for j in range(5)] for i in range(6)
    ]
    np.testing.assert_allclose(full, one_by_one, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        kd.forward_dynamics(q, nu[0, 0], tau[:1]), full, rtol=1e-12, atol=1e-12
    )


def test_arrays_that_change_during_a_call_do_not_crash(kd):
    q, nu, tau = motion(kd, 4000)
    stop = threading.Event()

    def disturb() -> None:
        turn = np.random.default_rng(0)
        while not stop.is_set():
            row = int(turn.integers(4000))
            nu[row] = turn.normal(size=8)
            q[row, :3] = np.nan
            q[row, :3] = 0.0

    other = threading.Thread(target=disturb)
    other.start()
    try:
        for _ in range(30):
            assert kd.forward_dynamics(q, nu, tau).shape == (4000, 8)
            assert kd.bias_force(q[:2000], nu[:2000]).shape == (2000, 8)
    finally:
        stop.set()
        other.join()


def test_quaternions_that_change_during_a_call_are_rejected_or_computed():
    done = output_of(
        """
        kd = floater()
        q, nu, tau = motion(kd, 3000)
        good = q.copy()
        stop = threading.Event()
        def disturb():
            while not stop.is_set():
                q[1000, 3:7] = 0.0
                q[1000, 3:7] = good[1000, 3:7]
        other = threading.Thread(target=disturb)
        other.start()
        for _ in range(200):
            try:
                kd.forward_dynamics(q, nu, tau)
            except lw.LinkworkError:
                pass
        stop.set()
        other.join()
        print("done")
        """
    )
    assert done == "done"
