"""Without the C extension, calls are computed with NumPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.support.kernels import output_of
from tests.support.stand_ins import WITHOUT_EXTENSION

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


def test_numpy_agrees_with_the_extension():
    with_it = json.loads(output_of(RESULTS))
    without = json.loads(output_of(WITHOUT_EXTENSION + RESULTS))
    assert len(with_it) == len(without) > 500
    for number, (one, other) in enumerate(zip(with_it, without, strict=True)):
        assert one[:2] == other[:2], number
        tolerance = 1e-11 if one[1] == "float64" else 1e-2
        np.testing.assert_allclose(other[2], one[2], rtol=tolerance, atol=tolerance)
        scale = max(1.0, abs(one[3]))
        assert abs(one[3] - other[3]) <= 1e3 * tolerance * scale


def test_numpy_rejects_what_the_extension_rejects():
    done = output_of(
        WITHOUT_EXTENSION
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
                              column_function=path))
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


@pytest.mark.parametrize("path", ["C", "NumPy"])
def test_every_entry_of_a_checked_result_has_to_be_finite(path):
    assert output_of(f"NUMPY = {path == 'NumPy'}\n" + OVERFLOW) == "done"


def test_the_missing_extension_is_reported_once():
    message = output_of(
        WITHOUT_EXTENSION
        + """
warnings.resetwarnings()
kd = floater()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in ((), 3):
        kd.com(kd.random(n, seed=0))
        kd.mass_matrix(kd.random(n, seed=0))
print(len(caught), caught[0].category.__name__, caught[0].message)
print(kd.mass_matrix.status)
"""
    )
    warning, status = message.split("\n")
    assert warning.startswith("1 LinkworkWarning")
    for fact in ("without its C extension", "install a C compiler", "with NumPy"):
        assert fact in warning
    assert status.startswith("NumPy: ")
    assert "C extension" in status
