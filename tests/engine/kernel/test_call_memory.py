"""The C type `Call`: memory is freed, accesses stay inside of arrays, calls are thread-safe."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest
from tests.support.calls import GIVEN, Call, make
from tests.support.kernels import (
    floater,
    motion,
    one_link,
    output_of,
    pendulum,
    wait_for_background,
)

from linkwork import KinDyn


def test_a_subclass_may_have_attributes_and_be_referred_to_weakly():
    class Own(Call):
        pass

    own = Own(*GIVEN.values())
    own.name = "mine"
    assert (own.name, own()) == ("mine", ("slow", (), {}))
    dead = weakref.ref(own)
    del own
    assert dead() is None


def test_a_kernel_is_freed_with_its_robot(kernel):
    kd = pendulum()
    kd.warmup("com", "mass_matrix")
    dead = [weakref.ref(kd.function(name)) for name in ("com", "mass_matrix")]
    assert all(ref() for ref in dead)
    del kd
    gc.collect()
    assert not any(ref() for ref in dead)


def test_a_call_in_a_reference_cycle_is_collected():
    class Own(Call):
        def method(self) -> None:
            pass

    for turn in range(3):
        own = Own.__new__(Own)
        Call.__init__(own, **{**GIVEN, "slow": own.method if turn == 0 else (lambda own=own: own)})
        if turn == 2:
            own._use(0, 0, 1, 1, (own,))
        dead = weakref.ref(own)
        del own
        gc.collect()
        assert dead() is None


@pytest.mark.parametrize("loader", ["own", "llvm"])
def test_finalizers_may_call_a_kernel_that_is_collected_with_them(loader):
    """The collector runs the finalizers of a cycle in any order: none of them frees the code."""
    code = """
    import gc
    found = []
    class Last:
        def __init__(self, kernel):
            self.kernel = kernel
        def __del__(self):
            found.append(float(self.kernel(2.0)))
    def made(early):
        @lw.compile(x=())
        def twice(x):
            return 2 * x
        twice.early = [Last(twice) for _ in range(early)]
        twice.warmup()
        twice.late = [Last(twice) for _ in range(3)]
    for early in range(3):
        made(early)
        gc.collect()
    print(found == [4.0] * 12)
    """
    assert output_of(code, LINKWORK_LOADER=loader, LINKWORK_BACKGROUND="off") == "True"


def test_calls_leave_no_reference_behind(kernel):
    q, batch = np.zeros(2), np.zeros((5, 2))
    wrong, keep, out = np.zeros(3), (batch,), np.zeros((5, 4))
    drifted, listed, flipped = floater().neutral() * (1 + 1e-9), [0.1, 0.2], batch[::-1, ::-1]
    floating = floater().function("com")
    floating(drifted)
    watched = (q, batch, wrong, kernel, keep, out, drifted, listed, flipped, None)
    for _ in range(10):
        kernel(q)
    before = [sys.getrefcount(one) for one in watched[:-1]]
    for _ in range(500):
        kernel(q)
        kernel(batch)
        kernel(batch, out=out.reshape(5, 2, 2))
        kernel(listed)
        kernel(flipped)
        floating(drifted)
        kernel._run(keep, (out,), 5, None)
        for bad in (lambda: kernel(wrong), lambda: kernel._run(keep, (q,), 5, None), kernel):
            with pytest.raises((ValueError, TypeError)):
                bad()
    del bad
    after = [sys.getrefcount(one) for one in watched[:-1]]
    assert after == before


@pytest.mark.parametrize("what", ["row", "batch", "list", "wrong", "out", "made and dropped"])
def test_many_calls_do_not_grow(kernel, what):
    fused = floater().function("forward_dynamics", "com")
    fused.warmup()
    q, nu, tau = motion(floater(), 3)
    out = (np.zeros((3, 8)), np.zeros((3, 3)))

    def wrong() -> None:
        with pytest.raises(ValueError, match="expected"):
            fused(q[:, 1:], nu, tau)

    call, count = {
        "row": (lambda: fused(q[0], nu[0], tau[0]), 100_000),
        "batch": (lambda: fused(q, nu, tau), 50_000),
        "list": (lambda: kernel([0.0, 1.0]), 5_000),
        "wrong": (wrong, 2_000),
        "out": (lambda: fused(q, nu, tau, out=out), 2_000),
        "made and dropped": (make, 20_000),
    }[what]
    for _ in range(200):
        call()
    wait_for_background()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(count // 10 if what in ("row", "batch") else count):
            call()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    for _ in range(count if what in ("row", "batch") else 0):
        call()
    assert grown < 20_000


def test_robots_that_come_and_go_do_not_fill_the_memory(tmp_path):
    grown = output_of(
        """
        import gc, resource
        def turn():
            kd = floater()
            kd.warmup("mass_matrix")
            kd.mass_matrix(kd.neutral())
        def size():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * resource.getpagesize()
        for _ in range(20): turn()
        before = size()
        for _ in range(60): turn()
        print(size() - before)
        """,
        cache=tmp_path,
    )
    assert int(grown) < 30e6


def test_many_threads_may_call_one_kernel(kernel):
    q = np.linspace(-1, 1, 4000).reshape(2000, 2)
    expected, wrong = kernel(q), []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            start = int(rng.integers(1990))
            stop = start + int(rng.integers(1, 10))
            actual = (kernel(q[start:stop]), kernel(q[start]))
            if not np.allclose(actual[0], expected[start:stop], rtol=1e-12):
                wrong.append(start)
            if not np.allclose(actual[1], expected[start], rtol=1e-12):
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_kernel_with_empty_inputs_works():
    kernel = KinDyn(one_link(), floating=False).function("com")
    kernel.warmup()
    kernel(np.zeros(0))
    out = np.zeros((3, 3))
    kernel._run((np.zeros((3, 0)),), (out,), 3, None)
    np.testing.assert_allclose(out, [kernel(np.zeros(0))] * 3)


@pytest.mark.skipif(sys.platform != "linux", reason="maps memory as Linux does")
def test_nothing_is_read_or_written_outside_of_the_arrays():
    """The arrays border on inaccessible memory, so that any access outside crashes the process."""
    done = output_of(
        """
        import ctypes
        libc, page = ctypes.CDLL(None), 4096
        libc.mmap.restype = ctypes.c_void_p
        whole = ctypes.c_int
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [whole] * 3 + [ctypes.c_long]
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        def guarded(shape, dtype, front):
            count = int(np.prod(shape))
            size = count * np.dtype(dtype).itemsize
            pages = -(-size // page) + 1
            at = libc.mmap(None, (pages + 1) * page, 3, 0x22, -1, 0)
            libc.mprotect(at, page, 0)
            libc.mprotect(at + pages * page, page, 0)
            start = at + page if front else at + pages * page - size
            room = (ctypes.c_char * max(size, 1)).from_address(start)
            return np.frombuffer(room, dtype, count).reshape(shape)
        def check(kd, request):
            kernel = kd.function(request)
            for _ in range(2):
                for n in range(1, 18):
                    by_name = dict(zip(("q", "nu", "tau"), motion(kd, n)))
                    for front in (False, True):
                        inputs = []
                        for port in kernel.signature.inputs:
                            inputs.append(guarded((n, *port.shape), kd.dtype, front))
                            inputs[-1][...] = by_name[port.name]
                        shape = kernel.signature.outputs[0].shape
                        out = guarded((n, *shape), kd.dtype, front)
                        kernel(*inputs, out=out)
                        np.testing.assert_allclose(out, kernel(*inputs), rtol=1e-3, atol=1e-3)
                kernel.warmup()
        for dtype in (np.float64, np.float32):
            for kd in (floater(dtype=dtype), pendulum(dtype=dtype)):
                for request in ("mass_matrix", "forward_dynamics", "com", "kinetic_energy",
                                ("transforms", list(kd.model.frame_names))):
                    check(kd, request)
        print("done")
        """
    )
    assert done == "done"


@pytest.mark.parametrize("joints", [33, 58])
def test_chunks_that_grow_after_a_check_have_their_memory(joints):
    """With `out=`, inputs are checked first; converted inputs still need a buffer afterwards."""
    code = f"""
    import numpy as np, linkwork as lw
    body, robot = lw.solid_sphere(1.0, 0.1), lw.ModelBuilder("chain")
    robot.add_link("l0", inertia=body)
    for k in range({joints}):
        robot.add_link(f"l{{k + 1}}", inertia=body)
        robot.add_joint(f"j{{k}}", "revolute", f"l{{k}}", f"l{{k + 1}}", axis=(0, 0, 1))
    kd = lw.KinDyn(robot.build(), floating=True)
    q = kd.random(4096, seed=0)
    nu = np.random.default_rng(0).normal(size=(4096, kd.nv)).astype(np.float32)
    f, out = kd.function(("velocity", "l0")), np.empty((4096, 6))
    f.warmup()
    for _ in range(30):
        f(q, nu, out=out, threads=1)
    others = [bytearray(200_000 + 1000 * k) for k in range(50)]
    print(np.array_equal(out, f(q, nu.astype(float))))
    """
    assert output_of(code, GLIBC_TUNABLES="glibc.malloc.mmap_threshold=33554432") == "True"
