"""`kernel.call_slow`: the same as the C extension, where that could not be built."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from tests.support.kernels import TAKE_OVER, output_of

from linkwork.engine.kernel import _call, call_slow

METHODS = {"_roll", "_roll_back", "_run", "_use"}

WITHOUT = """
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "linkwork.engine.kernel._call":
            raise ImportError("no compiler")
for name in [name for name in sys.modules if name.startswith(("linkwork", "tests"))]:
    del sys.modules[name]
sys.meta_path.insert(0, Blocked())
import linkwork as lw
from tests.support.kernels import *
from linkwork.engine.kernel.call_slow import Call
from linkwork.engine.kernel.kernel import Kernel
assert issubclass(Kernel, Call)
import warnings
from linkwork.engine.kernel import call_slow
warnings.filterwarnings("ignore", call_slow._WARNING[:40], lw.LinkworkWarning)
"""

RESULTS = """
import json
def results():
    found = []
    for dtype in (np.float64, np.float32):
        kd = floater(dtype=dtype)
        for turn in range(2):
            for n in ((), 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, (2, 3), (0,), 2500):
                q, nu, tau = motion(kd, n, seed=4)
                found.append(kd.forward_dynamics(q, nu, tau))
                found.append(kd.mass_matrix(q))
                found.append(kd.kinetic_energy(q, nu))
                found.append(kd.transforms(q))
                found.append(kd.inverse_dynamics(q, nu[..., :1, :] if n else nu, kd.neutral()[:8]))
                found.append(kd.bias_force(q.reshape(-1, 9)[:1] if q.size else q, nu))
                found.extend(kd.function("com", "gravity_force")(q))
                found.append(kd.jacobian("tip", np.asfortranarray(q)))
                found.append(kd.com(q.tolist() if q.size else q))
            kd.warmup()
    one = lw.KinDyn(one_link(), floating=False)
    found.append(one.mass_matrix(np.zeros((5, 0))))
    found.append(one.com(np.zeros(0)))
    return [[list(array.shape), str(array.dtype), array.ravel()[:40].tolist(), float(array.sum())]
            for array in found]
print(json.dumps(results()))
"""


def test_the_stand_in_gives_the_results_of_the_extension():
    with_it, without = json.loads(output_of(RESULTS)), json.loads(output_of(WITHOUT + RESULTS))
    assert len(with_it) == len(without) > 500
    for number, (one, other) in enumerate(zip(with_it, without, strict=True)):
        assert one[:2] == other[:2], number
        tolerance = 1e-11 if one[1] == "float64" else 1e-2
        np.testing.assert_allclose(other[2], one[2], rtol=tolerance, atol=tolerance)
        scale = max(1.0, abs(one[3]))
        assert abs(one[3] - other[3]) <= 1e3 * tolerance * scale


def test_the_stand_in_refuses_what_the_extension_refuses():
    done = output_of(
        WITHOUT
        + """
kd = floater()
q, nu, tau = motion(kd, 3)
bad = q.copy(); bad[1, 3:7] *= 2
out = np.full((3, 8), 7.0)
for call in (
    lambda: kd.mass_matrix(q[:, :8]),
    lambda: kd.mass_matrix(bad),
    lambda: kd.mass_matrix(None),
    lambda: kd.function("com")(q, q),
    lambda: kd.function("com")(x=q),
    lambda: kd.bias_force(q, nu, out=out[:2]),
    lambda: kd.forward_dynamics(q, nu[:2], tau),
    lambda: lw.KinDyn(hinge(lw.Inertia()), floating=False).forward_dynamics([0], [0], [1]),
    lambda: kd.replace(check=True).com(q * np.nan),
):
    try:
        call()
        print("accepted")
    except lw.LinkworkError:
        pass
assert (out == 7).all()
q[0, 7] = np.nan
assert np.isnan(kd.forward_dynamics(q, nu, tau)[0]).any()
assert np.isfinite(kd.forward_dynamics(q, nu, tau)[1:]).all()
print("done")
"""
    )
    assert done == "done"


# One entry of a result overflows, at any place, in any row; `check_result` has to see all of them.
OVERFLOW = """
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.numpy_code import NumpyCode
class Overflow(Exception): pass
def check(kernel, inputs, outputs): raise Overflow
kernels = []
for n in (6, 7):
    outer = lw.compile(x=n, y=n)(lambda x, y: x[:, None] * y)
    several = lw.compile(x=n, y=n)(lambda x, y: (x, x[:, None] * y, np.stack([x[:, None] * y] * 2)))
    for function in (outer, several):
        path = NumpyCode(function.program) if NUMPY else None
        kernels.append(Kernel(function.signature, lambda f=function: f.program, check_result=check,
                              numpy_path=path))
for kernel in kernels:
    n = kernel.signature.inputs[0].size
    for turn in range(2):
        for rows in ((), 1, 3, 8, 11, 600):
            batch = (rows,) if rows else ()
            kernel(np.ones((*batch, n)), np.full((*batch, n), 1e200))
            for row in {0, (rows or 1) // 2, (rows or 1) - 1}:
                for i, j in ((0, 0), (0, n - 1), (n - 1, 0), (2, 3)):
                    x, y = np.ones((2, *batch, n))
                    x.reshape(-1, n)[row, i] = y.reshape(-1, n)[row, j] = 1e200
                    try:
                        kernel(x, y)
                        print("silent:", kernel, turn, rows, row, i, j)
                    except Overflow:
                        pass
        kernel.warmup()
print("done")
"""


@pytest.mark.parametrize("path", ["C", "ctypes", "NumPy"])
def test_every_entry_of_a_checked_result_has_to_be_finite(path):
    setting = f"NUMPY = {path == 'NumPy'}\n"
    assert output_of((WITHOUT if path == "ctypes" else "") + setting + OVERFLOW) == "done"


def test_the_stand_in_may_be_used_by_threads_while_faster_code_takes_over():
    assert output_of(WITHOUT + TAKE_OVER) == "done"


class Watched(call_slow.Call):
    """Lets somebody else in after each attribute that `use` sets."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        between = self.__dict__.get("between")
        if between:
            between()


def test_the_stand_in_takes_new_code_over_at_once():
    """A call in another thread sees all of the old code or all of the new, whenever it comes."""
    calls: list[tuple[str, int]] = []

    def function(name: str):
        def run(ins: int, outs: int, strides: int, rows: int, workspace: int) -> int:
            calls.extend([(name, rows)] if rows else [])
            return 0

        return call_slow._FUNCTION(run)

    functions = {name: function(name) for name in ("old one", "new one", "new many")}

    def address(name: str) -> int:
        return call_slow.ctypes.cast(functions[name], call_slow.ctypes.c_void_p).value or 0

    call = Watched(((1,),), ((1,),), (), (0.0, 0.0), False, False, False, None, print)
    call._use(address("old one"), 0, 1, "old")
    rows, result = np.zeros((6, 1)), np.zeros((6, 1))
    seen: list[list[tuple[str, int]]] = []

    def between() -> None:
        calls.clear()
        call._run((rows,), (result,), 6, None)
        seen.append(list(calls))

    call.__dict__["between"] = between
    call._use(address("new one"), address("new many"), 4, "new")
    between()
    assert seen[-1] == [("new many", 4), ("new one", 2)]
    for one in seen:
        assert one in ([("old one", 6)], seen[-1])


def test_extension_and_stand_in_have_the_same_methods():
    def own(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("__")}

    assert own(_call.Call) == own(call_slow.Call) - {"_call_row"} == METHODS
    assert list(inspect.signature(call_slow.Call).parameters) == [
        "in_shapes",
        "out_shapes",
        "unit_norms",
        "norm_limits",
        "single_precision",
        "check_inputs",
        "check_outputs",
        "result",
        "slow",
    ]


def test_the_stand_in_says_once_that_it_is_slow_and_what_to_do():
    said = output_of(
        WITHOUT
        + """
warnings.resetwarnings()
kd = floater()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in ((), 3):
        kd.com(kd.random(n, seed=0))
        kd.mass_matrix(kd.random(n, seed=0))
print(len(caught), caught[0].category.__name__, caught[0].message)
"""
    )
    assert said == (
        "1 LinkworkWarning linkwork was installed without its C extension, so each call takes some "
        "10 microseconds more, and large batches use one thread; install a C compiler and then "
        "linkwork again, or a wheel"
    )


def test_the_stand_in_calls_a_plain_row_without_converting_it():
    done = output_of(
        WITHOUT
        + """
kd = floater()
q, nu, tau = motion(kd)
expected = [kd.bias_force(q, nu), kd.mass_matrix(q)]
kd.warmup()
def refuse(*args, **named): raise AssertionError
for name in ("bias_force", "mass_matrix"): kd.function(name)._slow = refuse
for found, wanted in zip((kd.bias_force(q, nu), kd.mass_matrix(q)), expected):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
print("done")
"""
    )
    assert done == "done"


def test_the_stand_in_needs_no_stack_either():
    done = output_of(
        WITHOUT
        + """
kd = lw.KinDyn(lw.robots.load("quadruped"))
kd.warmup("regressor")
q, nu, nu_dot = motion(kd, 9)
wanted, found = kd.regressor(q, nu, nu_dot), []
threading.stack_size(65536)
thread = threading.Thread(target=lambda: found.append(kd.regressor(q, nu, nu_dot)))
thread.start(); thread.join()
assert np.array_equal(found[0], wanted)
print("done")
"""
    )
    assert done == "done"
