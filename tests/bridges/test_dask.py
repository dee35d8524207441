"""Kernels and methods of KinDyn on dask arrays: lazy, with the same values as NumPy arrays."""

from __future__ import annotations

import pickle
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize

import linkwork as lw
from linkwork.bridges.dask import arrays as bridge
from linkwork.bridges.dask.arrays import Sent, threads_of_block

ROWS = 64


@pytest.fixture(scope="module")
def states():
    from tests.support.kernels import floater

    kd = floater()
    rng = np.random.default_rng(3)
    return kd.random(ROWS, seed=1), rng.normal(size=(ROWS, kd.nv)), rng.normal(size=(ROWS, kd.nv))


def lazily(array, rows=16):
    return da.from_array(array, chunks=(rows, *array.shape[1:]))


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def check_same(lazy, expected):
    assert isinstance(lazy, da.Array)
    computed = lazy.compute()
    assert lazy.shape == computed.shape == expected.shape
    assert lazy.dtype == computed.dtype == expected.dtype
    assert lazy._meta.ndim == expected.ndim
    assert lazy._meta.dtype == expected.dtype
    assert np.array_equal(computed, expected)


def test_a_method_returns_a_lazy_array_with_the_blocks_of_its_input(kd, states):
    q = states[0]
    kd.mass_matrix.warmup()
    result = kd.mass_matrix(lazily(q))
    assert result.chunks == ((16,) * 4, (kd.nv,), (kd.nv,))
    check_same(result, kd.mass_matrix(q))


def test_nothing_is_computed_by_a_call(kd):
    def explode(block):
        raise AssertionError(block)

    q = da.from_array(np.zeros((8, kd.nq)), chunks=4).map_blocks(
        explode, dtype=float, meta=np.zeros((0, 0))
    )
    assert kd.mass_matrix(q).shape == (8, kd.nv, kd.nv)


def test_every_quantity_takes_dask_arrays(kd, states):
    """Shapes and types are known without computing."""
    from linkwork.bridges.methods import METHODS

    q, nu, other = states
    by_name = {
        "q": q,
        "q_start": q,
        "q_end": q[::-1].copy(),
        "nu": nu,
        "nu_dot": other,
        "tau": other,
    }
    frames = kd.model.frame_names
    for method in METHODS.values():
        if method.name == "transforms":
            continue
        names = [frames[k % len(frames)] for k in range(len(method.frames))]
        arguments = [by_name.get(one.name, np.full(ROWS, 0.1)) for one in method.inputs]
        wrenches = {"wrenches": {frames[0]: np.ones(6)}} if method.name == "external_force" else {}
        lazy = getattr(kd, method.name)(*names, *map(lazily, arguments), **wrenches)
        direct = getattr(kd, method.name)(*names, *[a[:2] for a in arguments], **wrenches)
        assert type(lazy) is (type(direct) if isinstance(direct, tuple) else da.Array)
        for one, two in zip(
            *((x if isinstance(x, tuple) else (x,)) for x in (lazy, direct)), strict=True
        ):
            assert one.shape == (ROWS, *two.shape[1:]), method.name
            assert one.dtype == two.dtype


def test_several_results_are_lazy_arrays_in_the_named_tuple(kd, states):
    kernel = kd.function("inverse_dynamics_derivatives")
    kernel.warmup()
    lazy, direct = kernel(*map(lazily, states)), kernel(*states)
    assert type(lazy) is type(direct)
    for one, two in zip(dask.compute(*lazy), direct, strict=True):
        assert np.array_equal(one, two)


def test_a_fused_function_is_computed_once_for_all_its_results(kd, states, monkeypatch):
    calls = []
    fused = kd.function("mass_matrix", "com")
    fused.warmup()
    expected = fused(states[0])
    monkeypatch.setattr(bridge, "threads_of_block", lambda requested: calls.append(requested) or 1)
    computed = dask.compute(*fused(lazily(states[0])))
    assert all(np.array_equal(a, b) for a, b in zip(computed, expected, strict=True))
    assert len(calls) == 4


@pytest.mark.parametrize("kind", ["dask", "numpy", "list", "row"])
def test_batch_axes_broadcast_as_in_numpy(kd, states, kind):
    q, nu, _ = states
    kernel = kd.function("bias_force")
    kernel.warmup()
    left = q.reshape(16, 4, -1)
    right = {"row": nu[0], "list": nu[0].tolist()}.get(kind, nu[:4])
    direct = kernel(left, right)
    arguments = da.from_array(right, chunks=(2, -1)) if kind == "dask" else right
    result = kernel(da.from_array(left, chunks=(8, 4, 3)), arguments)
    assert result.numblocks == (2, 2 if kind == "dask" else 1, 1)
    check_same(result, direct)


def test_numpy_arrays_are_split_like_dask_arrays(kd, states):
    q, nu, _ = states
    result = kd.bias_force(lazily(q), nu)
    assert result.chunks[0] == (16,) * 4
    pieces = [task for key, task in dict(result.dask).items() if str(key[0]).startswith("array-")]
    assert max(len(pickle.dumps(task)) for task in pieces) < nu.nbytes


def test_one_row_results_in_one_row(kd, states):
    kd.mass_matrix.warmup()
    check_same(kd.mass_matrix(da.from_array(states[0][0], chunks=3)), kd.mass_matrix(states[0][0]))


def test_blocks_within_a_row_are_merged(kd, states):
    kd.mass_matrix.warmup()
    result = kd.mass_matrix(da.from_array(states[0], chunks=(32, 2)))
    assert result.numblocks == (2, 1, 1)
    check_same(result, kd.mass_matrix(states[0]))


def test_gravity_and_wrenches_may_be_lazy(kd, states):
    q, nu, nu_dot = states
    frame = kd.model.frame_names[-1]
    wrench, gravity = np.ones((ROWS, 6)), np.array([0.0, 1.0, -3.0])
    forces = {"wrenches": {frame: wrench}, "gravity": gravity}
    kd.function("inverse_dynamics", wrenches=[frame], gravity=True).warmup()
    direct = kd.inverse_dynamics(q, nu, nu_dot, **forces)
    forces["wrenches"] = {frame: lazily(wrench)}
    check_same(kd.inverse_dynamics(q, nu, nu_dot, **forces), direct)


def test_single_precision_stays_single(kd, states):
    single = kd.replace(dtype=np.float32)
    single.mass_matrix.warmup()
    check_same(single.mass_matrix(lazily(states[0])), single.mass_matrix(states[0]))


def test_an_unknown_number_of_rows_is_computed(kd, states):
    q = lazily(states[0])
    chosen = kd.com(q[q[:, 0] > 0])
    assert np.isnan(chosen.shape[0])
    np.testing.assert_allclose(chosen.compute(), kd.com(states[0][states[0][:, 0] > 0]), rtol=1e-12)


@lw.compile(x=3, A=(3, 3))
def transformed(x, A):
    return A @ x


def test_compiled_functions_and_their_derivatives():
    x, A = np.arange(36.0).reshape(12, 3), np.eye(3) + 1
    transformed.warmup()
    transformed.jacobian("x").warmup()
    check_same(transformed(lazily(x, 8), A), transformed(x, A))
    derivative = transformed.jacobian("x")
    check_same(derivative(lazily(x, 8), A), derivative(x, A))


# Serialization of kernels for workers.


def test_a_compiled_function_is_sent_by_its_content_not_by_its_name(monkeypatch):
    sent = pickle.dumps([Sent(transformed), Sent(transformed.vjp("x"))])
    monkeypatch.delattr(sys.modules[__name__], "transformed")
    again, vjp = (one.kernel for one in pickle.loads(sent))
    assert np.array_equal(again(np.ones(3), np.eye(3)), np.ones(3))
    assert np.array_equal(vjp(np.ones(3), np.eye(3), np.ones(3)), np.ones(3))


def test_the_kernel_is_in_the_graph_once(kd, states):
    """Tasks refer to it by name, so that a graph of a million tasks stays small."""
    (result,) = dask.optimize(kd.mass_matrix(lazily(states[0], 1)))
    tasks = dict(result.dask)
    robots = [key for key, task in tasks.items() if len(pickle.dumps(task)) > 1000]
    assert len(tasks) > ROWS
    assert len(robots) == 1


NAMES = """
import dask.array as da, numpy as np
from dask.base import tokenize
from tests.support.kernels import floater
kd = floater()
q = da.zeros((4, kd.nq), chunks=2)
print(tokenize(kd), kd.mass_matrix(q).name, kd.mass_matrix.jacobian("q")(q).name)
"""


def test_names_depend_on_content_and_are_the_same_in_every_process(kd):
    run = [sys.executable, "-c", NAMES]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    q = da.zeros((4, kd.nq), chunks=2)
    expected = [tokenize(kd), kd.mass_matrix(q).name, kd.mass_matrix.jacobian("q")(q).name]
    assert printed == expected
    others = [kd.replace(gravity=(0, 0, -1)), kd.replace(dtype=np.float32), kd.replace(check=True)]
    assert len({tokenize(one) for one in (kd, *others)}) == 4
    assert len({one.mass_matrix(q).name for one in (kd, *others)}) == 4


# Threads.


class Worker:
    class state:
        nthreads = 2


@pytest.mark.parametrize(
    ("cores", "requested", "environment", "expected"),
    [
        (8, None, None, 1),
        (8, None, "3", 3),
        (8, None, "16", 4),
        (8, 3, "2", 3),
        (8, 9, None, 4),
        (1, None, "4", 1),
    ],
)
def test_threads_of_a_worker_times_those_of_linkwork_do_not_exceed_the_cores(
    cores, requested, environment, expected, monkeypatch
):
    import distributed

    monkeypatch.setattr(distributed, "get_worker", Worker)
    monkeypatch.setattr(bridge, "available_cores", lambda: cores)
    monkeypatch.delenv("LINKWORK_THREADS", raising=False)
    if environment:
        monkeypatch.setenv("LINKWORK_THREADS", environment)
    assert threads_of_block(requested) == expected


def test_outside_of_a_worker_a_block_has_one_thread_unless_the_call_sets_threads(monkeypatch):
    monkeypatch.setenv("LINKWORK_THREADS", "4")
    assert (threads_of_block(), threads_of_block(3)) == (1, 3)


# Errors.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda kd, q: kd.mass_matrix(q, out=np.empty((64, 8, 8))),
            "out: .*dask array",
        ),
        (lambda kd, q: kd.mass_matrix(q[:, :3]), r"q: .*\(..., 9\).*\(64, 3\)"),
        (lambda kd, q: kd.mass_matrix(q.astype(complex)), "q: .*dask array.*complex"),
        (
            lambda kd, q: kd.bias_force(q, np.zeros((7, 8))),
            r"q \(64,\).*nu \(7,\)",
        ),
        (lambda kd, q: kd.mass_matrix([q[0], q[1]]), r"q: .*dask array.*q\.compute\(\)"),
        (lambda kd, q: kd.mass_matrix(dask.delayed(1)), "q: .*dask array.*Delayed"),
        (lambda kd, q: kd.mass_matrix(q, threads="all"), "threads: .*'all'"),
    ],
)
def test_invalid_arguments_raise_at_the_call(kd, states, call, message):
    with pytest.raises(lw.LinkworkError, match=message):
        call(kd, lazily(states[0]))


def test_large_blocks_issue_a_warning(kd):
    q = da.zeros((10_000_000, kd.nq), chunks=(-1, -1))
    with pytest.warns(lw.LinkworkWarning, match=r"5\.1 GB.*262,144 rows"):
        kd.mass_matrix(q)


def test_calls_with_numpy_arrays_do_not_load_dask():
    code = "import sys, numpy, linkwork; from tests.support.kernels import floater; kd = floater();"
    code += "kd.mass_matrix(kd.neutral().tolist()); print('dask' in sys.modules)"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_inverse_kinematics_computes_no_dask_array_silently():
    arm = lw.KinDyn(lw.robots.load("arm"), floating=False)
    pose = da.eye(4)
    for targets, options, name in (
        ({"tool": pose}, {}, "tool"),
        ({"tool": [pose, pose]}, {}, "tool"),
        ({"tool": np.eye(4)}, {"q0": da.zeros(arm.nq)}, "q0"),
        ({}, {"com": [da.zeros(3)]}, "com"),
    ):
        with pytest.raises(lw.ArgumentError, match=rf"{name}: .*dask array.*{name}\.compute\(\)"):
            lw.ik(arm, targets, **options)
