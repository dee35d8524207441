"""Calls that the C extension handles, with the results of ordinary calls."""

from __future__ import annotations

import signal
import sys
import threading

import numpy as np
import pytest
from tests.support.kernels import finish, floater, motion, output_of, start_python

import linkwork as lw
from linkwork.engine.kernel import norms
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel


@pytest.fixture(scope="module")
def kernels():
    """bias_force of a floating robot in both precisions; no call is handled in Python."""
    actual = {}
    for dtype in (np.float64, np.float32):
        kernel = floater(dtype=dtype).function("bias_force")
        kernel.warmup()
        actual[dtype] = kernel
    return actual


@pytest.fixture
def only_in_c(monkeypatch):
    """Make calls that are handled in Python fail."""

    def refuse(signature, *args):
        raise AssertionError(f"{signature.name} was left to Python")

    monkeypatch.setattr("linkwork.engine.kernel.kernel.as_rows", refuse)


def strided(array):
    return np.repeat(array, 2, axis=-1)[..., ::2]


def part_of_rows(array):
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + 3), array.dtype)
    wide[..., 1:-2] = array
    return wide[..., 1:-2]


def unaligned(array):
    room = np.zeros(array.nbytes + 1, np.uint8)
    view = room[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


WAYS = {
    "float32": lambda a: a.astype(np.float32),
    "float64": lambda a: a.astype(np.float64),
    "every second number": strided,
    "part of each row": part_of_rows,
    "backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
    "rows backwards": lambda a: a[::-1].copy()[::-1] if a.ndim > 1 else a,
    "Fortran": np.asfortranarray,
    "unaligned": unaligned,
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [(), 1, 3, 8, 100, 3000, (2, 3), (2, 0)])
def test_arrays_of_any_layout_give_the_same_bits(kernels, only_in_c, dtype, way, n):
    kernel, convert = kernels[dtype], WAYS[way]
    q, nu, _ = (a.astype(np.float32) for a in motion(floater(dtype=np.float32), n))
    q[..., 3:7] = [0.5, -0.5, 0.5, 0.5]  # of norm 1 in any type
    if (
        way in {"rows backwards", "Fortran", "every second number", "unaligned"}
        and len(q.shape) > 2
    ):
        return  # rows that are not evenly spaced are left to Python; tested elsewhere
    plain = kernel(q.astype(dtype), nu.astype(dtype))
    actual = kernel(convert(q), convert(nu))
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, plain)


@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("n", [(), 5])
def test_integers_are_converted(kernels, only_in_c, kind, n):
    kernel = kernels[np.float64]
    q = np.broadcast_to(floater().neutral(), (*np.empty(n).shape, 9) if n else (9,))
    nu = np.ones((*q.shape[:-1], 8))
    np.testing.assert_array_equal(kernel(q.astype(kind), nu.astype(kind)), kernel(q.copy(), nu))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [list, tuple])
def test_lists_of_numbers_are_read(kernels, only_in_c, dtype, make):
    kernel = kernels[dtype]
    q, nu, _ = motion(floater(dtype=dtype))
    plain = kernel(q, nu)
    np.testing.assert_array_equal(kernel(make(q.tolist()), make(nu.tolist())), plain)
    np.testing.assert_array_equal(kernel(q, make(map(np.float64, nu))), plain)
    full = kernel(q, np.arange(8).astype(dtype))
    np.testing.assert_array_equal(kernel(q, make(range(8))), full)
    batch = np.repeat(q[None], 5, axis=0)
    np.testing.assert_array_equal(kernel(batch, make(range(8)))[4], kernel(batch, np.arange(8))[4])


def test_a_broadcast_row_is_handled_in_c(kernels, only_in_c):
    kernel = kernels[np.float64]
    q, nu, _ = motion(floater(), 3000)
    for rows in (2, 8, 3000):
        expected = kernel(q[:rows], np.repeat(nu[:1], rows, axis=0))
        for shared in (nu[0], nu[:1], nu[0].tolist(), np.broadcast_to(nu[0], (rows, 8))):
            np.testing.assert_array_equal(kernel(q[:rows], shared), expected)
    assert kernel(q[:1], nu[:1]).shape == (1, 8)
    assert kernel(q[None, :1], nu[0]).shape == (1, 1, 8)


@pytest.mark.parametrize("drift", [1e-14, 1e-12, 1e-9, -1e-6, 9e-4])
@pytest.mark.parametrize("n", [(), 1, 7, 64, 3000])
def test_a_drifted_quaternion_is_the_normalized_one_bit_by_bit(kernels, only_in_c, drift, n):
    kernel = kernels[np.float64]
    q, nu, _ = motion(floater(), n)
    q[..., 3:7] *= 1 + drift
    rows = q.reshape(-1, 9)
    (normal,) = norms.normalized((rows,), ((0, 3, 4),), np.float64)
    out = np.empty(nu.shape)
    np.testing.assert_array_equal(kernel(q, nu), kernel(normal.reshape(q.shape), nu))
    for threads in (1, 2, None):
        np.testing.assert_array_equal(kernel(q, nu, out=out, threads=threads), kernel(q, nu))
    np.testing.assert_array_equal(kernel(part_of_rows(q), nu), kernel(q, nu))


def test_rows_are_normalized_independently(kernels):
    """A row that has drifted does not change the results of other rows."""
    kernel = kernels[np.float64]
    q, nu, _ = motion(floater(), 64)
    expected = kernel(q, nu)
    q[5, 3:7] *= 1 + 1e-9
    np.testing.assert_array_equal(
        np.delete(kernel(q, nu), 5, axis=0), np.delete(expected, 5, axis=0)
    )


@pytest.mark.parametrize("rows", [3, 100, 3000, 20_000])
@pytest.mark.parametrize("bad", ["norm", "nan"])
def test_out_is_not_written_if_a_row_is_rejected(rows, bad):
    kd = floater(check=True)
    kd.warmup("com")
    q = kd.random(rows, seed=0)
    q[rows - 1, 3 if bad == "norm" else 7] = 2.0 if bad == "norm" else np.nan
    for threads in (1, 3):
        for argument in (q, q.astype("f4"), strided(q)):
            out = np.full((rows, 3), 7.0)
            with pytest.raises(lw.LinkworkError, match=f"row {rows - 1}"):
                kd.function("com")(argument, out=out, threads=threads)
            assert (out == 7.0).all()


def test_checked_inputs_are_handled_in_c(only_in_c):
    kd = floater(check=True)
    kernel = kd.function("bias_force")
    kernel.warmup()
    plain = floater().function("bias_force")
    plain.warmup()
    for n in ((), 1, 9, 3000):
        q, nu, _ = motion(kd, n)
        np.testing.assert_array_equal(kernel(q, nu), plain(q, nu))
        np.testing.assert_array_equal(kernel(q, strided(nu)), plain(q, nu))


def test_several_outputs_are_written_to_out_in_c(kd, only_in_c):
    fused = kd.function("mass_matrix", "bias_force")
    fused.warmup()
    for n in ((), 1, 9, 3000):
        q, nu, _ = motion(kd, n)
        out = np.empty((*nu.shape[:-1], 8, 8)), np.empty(nu.shape)
        actual = fused(q, nu, out=out)
        assert actual is out
        for one, other in zip(out, fused(q, nu), strict=True):
            np.testing.assert_array_equal(one, other)


def test_many_inputs_and_outputs_work():
    names = [f"x{k}" for k in range(140)]
    body = f"def function({', '.join(names)}): return tuple(2.0 * x for x in ({', '.join(names)}))"
    made: dict = {}
    exec(body, made)
    function = lw.compile(**dict.fromkeys(names, (2,)))(made["function"])
    function.warmup()
    for n in ((), (5,)):
        arguments = [np.full((*n, 2), float(k)) for k in range(140)]
        for array, actual in zip(arguments, function(*arguments), strict=True):
            np.testing.assert_array_equal(actual, 2 * array)


@pytest.mark.parametrize("axes", [7, 9, 20, 31])
def test_arrays_of_many_axes_work(axes):
    function = lw.compile(x=(1,) * axes)(lambda x: 2.0 * x)
    x = np.full((1,) * axes, 3.0)
    assert function(x).shape == x.shape
    assert function(x).item() == 6.0


def test_too_many_axes_are_rejected_by_name():
    port = lw.compile(x=(2,))(lambda x: x).signature.inputs[0]
    many = type(port)("x", (1,) * 33)
    with pytest.raises(lw.ShapeError, match=r"^x: .*32 axes.*33"):
        Signature("f", (many,), (port,))


# Threads and interrupts.


def test_no_number_of_threads_starts_more_than_64():
    count = output_of(
        """
        kd = floater()
        kd.warmup("com")
        q = kd.random(20_000, seed=0)
        for threads in (1_000_000, 2**80, 10_000):
            kd.function("com")(q, threads=threads)
        print(len(os.listdir("/proc/self/task")))
        """
    )
    assert int(count) <= 70


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("way", ["plain", "strided", "out"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_a_batch_in_c_soon(way, threads):
    """Also in slow code: here, quick code."""
    process = start_python(
        f"""
        import linkwork.engine.runtime.compiled_program as module
        module.background = Never
        kd = lw.KinDyn(lw.robots.load("humanoid"))
        kernel = kd.function("forward_dynamics")
        row = [np.zeros(port.shape) for port in kernel.signature.inputs]
        row[0][3] = 1.0
        kernel(*row)
        q = np.repeat(row[0][None], 100_000, axis=0)
        q = q[:, ::-1].copy()[:, ::-1] if {way == "strided"} else q
        given = dict(out=np.empty((100_000, kd.nv))) if {way == "out"} else {{}}
        try:
            kernel(q, *row[1:], threads={threads}, **given)
            print("go", flush=True)
            while True:
                kernel(q, *row[1:], threads={threads}, **given)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert np.isfinite(kernel(q[:3], *row[1:])).all()
        print("done", flush=True)
        """
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    message = [process.stdout.readline() for _ in range(2)]
    returncode, _, errors = finish(process)
    assert (message, returncode, errors) == (["interrupted\n", "done\n"], 0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_a_handler_of_signals_may_call_the_function_that_runs():
    done = output_of(
        """
        import signal
        kd = floater()
        kd.warmup("forward_dynamics")
        q, nu, tau = motion(kd, 3000)
        few = [a[:9] * 1.0 for a in (q, nu, tau)]
        few[0][:, 3:7] *= 1 + 1e-9
        wanted = kd.forward_dynamics(*few)
        seen = []
        def handler(*_):
            seen.append(np.array_equal(kd.forward_dynamics(*few), wanted))
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
        big = [np.concatenate([a] * 200) for a in (q, nu, tau)]
        one = kd.forward_dynamics(*big)
        until = time.monotonic() + 30
        while len(seen) < 20 and time.monotonic() < until:
            assert np.array_equal(kd.forward_dynamics(*big, ), one)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert len(seen) >= 20 and all(seen)
        print("done")
        """
    )
    assert done == "done"


def test_code_may_be_replaced_while_large_batches_write_to_out():
    """The check of the inputs and the computation are two passes with the same code."""
    done = output_of(
        """
        from linkwork.engine.runtime.compiler import load_code, compiled
        sys.setswitchinterval(1e-5)
        kd = floater()
        kernel = kd.function("com")
        kernel.warmup()
        q = kd.random(5000, seed=0)
        q[:, 3:7] *= 1 + 1e-9
        wanted = kernel(q)
        stop, wrong = threading.Event(), []
        def work(threads):
            out = np.empty((5000, 3))
            while not stop.is_set():
                kernel(q, out=out, threads=threads)
                if not np.allclose(out, wanted, atol=1e-13): wrong.append(1)
                if not np.allclose(kernel(q[0]), wanted[0], atol=1e-13): wrong.append(2)
        workers = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 1)]
        for worker in workers: worker.start()
        one = kernel.code.compile_fast(1, compiled)
        many = kernel.code.compile_fast(kernel.code.width, compiled)
        for k in range(60):
            kernel.code.install(load_code(one), load_code(many) if k % 2 else None, 1)
            time.sleep(0.002)
        stop.set()
        for worker in workers: worker.join()
        assert not wrong
        print("done")
        """
    )
    assert done == "done"


# What is said.


def test_a_wrong_size_is_reported_with_the_meaning_of_the_elements():
    port = lw.compile(x=(2,))(lambda x: x).signature.inputs[0]
    meaning = "x is the left and the right wheel"
    kernel = Kernel(
        Signature("f", (port,), (port,), meanings={"x": meaning}),
        lambda: lw.compile(x=(2,))(lambda x: x).program,
    )
    with pytest.raises(lw.ShapeError) as caught:
        kernel(np.zeros(3))
    for fact in ("x: ", "(..., 2)", "(3,)", meaning):
        assert fact in str(caught.value)


def foreign(module, name="Tensor"):
    kind = type(name, (), {"__array__": lambda self, *_: np.zeros(9)})
    kind.__module__ = module
    return kind()


BRIDGES = {
    "torch": ("a torch tensor", "q.detach().cpu().numpy()", "linkwork.torch"),
    "jaxlib._jax": ("a jax array", "np.asarray(q)", "linkwork.jax"),
    "jax._src.core": ("a jax array", "np.asarray(q)", "linkwork.jax"),
    "casadi.casadi": ("a casadi matrix", "q.full().ravel()", "linkwork.casadi"),
    "dask.array.core": ("a dask array", "q.compute()", "map_blocks"),
}


@pytest.mark.parametrize("module", BRIDGES)
def test_arrays_of_other_libraries_are_rejected_with_what_to_use(kd, module):
    what, numbers, alternative = BRIDGES[module]
    for argument in (foreign(module), [foreign(module)] * 9):
        with pytest.raises(lw.ArgumentError) as caught:
            kd.mass_matrix(argument)
        for fact in ("q: ", what, numbers, alternative):
            assert fact in str(caught.value)


def test_a_function_of_a_robot_can_be_compiled_as_any_other(kd):
    q = kd.random(5, seed=0)
    again = lw.compile(q=kd.nq)(kd.mass_matrix)
    np.testing.assert_allclose(again(q), kd.mass_matrix(q), rtol=1e-12, atol=1e-13)


def test_the_number_of_threads_may_be_any_integer(kd):
    q = kd.random(5000, seed=0)
    kernel = kd.function("com")
    for threads in (np.int64(2), True, None, 2**70):
        np.testing.assert_allclose(kernel(q, threads=threads), kernel(q, threads=1), atol=1e-13)
    with pytest.raises(lw.ArgumentError, match=r"^threads: .*1\.5"):
        kernel(q, threads=1.5)


def test_threads_do_not_share_reused_memory(kernels):
    """Blocks of memory are reused by later calls."""
    kernel = kernels[np.float64]
    q, nu, _ = motion(floater(), 200)
    q[:, 3:7] *= 1 + 1e-8
    expected, wrong = [kernel(a, b) for a, b in zip(q, nu, strict=True)], []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in rng.integers(200, size=400):
            if not np.array_equal(kernel(q[k], nu[k].tolist()), expected[k]):
                wrong.append(k)
            if not np.allclose(kernel(q[: k + 2], nu[: k + 2]), expected[: k + 2], atol=1e-12):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
