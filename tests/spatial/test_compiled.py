"""The implementation of the public functions, and the arguments that they accept."""

from __future__ import annotations

import datetime
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.support.spatial import assert_close, random_poses

import linkwork
from linkwork import spatial
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64
from linkwork.engine.symbolic.arrays import as_array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.spatial import _compiled, inertia, motion, quat, se3, so3
from linkwork.spatial.source import se3 as source

PACKAGE = Path(linkwork.__file__).parent


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


once = pytest.mark.parametrize("how", ["compiled"], indirect=True)
HEAVY = ["llvmlite", "linkwork.engine.kernel.kernel", "linkwork.engine.runtime.background"]


@once
def test_loading_robots_does_not_import_the_compiler():
    code = f"""
import sys, threading
import linkwork as lw
from linkwork.model.tree import tree_from
for name in lw.robots.names():
    for _ in range(3):
        model = lw.robots.load(name)
        tree_from(model), lw.check(model), lw.describe(model), model.lumped()
print([name for name in {HEAVY} if name in sys.modules], threading.active_count())
"""
    assert run(code) == "[] 1"


@once
def test_the_first_call_runs_compiled_code(empty_cache):
    code = """
import sys
import numpy as np
from linkwork.spatial import _compiled, se3
se3.exp(np.arange(6.0) / 7)
print(_compiled.FUNCTIONS[se3.exp].kernel.status != "none")
se3.inverse(np.eye(4, dtype=np.longdouble))
print(_compiled.FUNCTIONS[se3.inverse].__dict__.get("kernel"))
_compiled.warmup(se3.exp)
print("llvmlite" in sys.modules)
"""
    assert run(code).split() == ["True", "None", "True"]
    loads_llvm = not IS_LINUX_ON_X86_64  # elsewhere, LLVM identifies the machine and loads the code
    assert run(code).split() == ["True", "None", str(loads_llvm)]  # from the cache


@once
def test_every_call_returns_the_same_bits(rng):
    """Single calls and batches agree up to rounding; equal calls return the same bits."""
    spatial.warmup(se3.exp)
    xi = rng.normal(size=6)
    assert len({se3.exp(xi).tobytes() for _ in range(100)}) == 1


@once
def test_linkwork_uses_the_sources():
    """Loading a robot must not start the compiler."""
    made_of_users_calls = {
        *("idyntree", "pinocchio/conventions.py", "pinnzoo/functions.py"),
        *("adam/core.py", "adam/casadi.py", "workcell/dynamics/loads.py"),
        *("envs/quadruped.py", "envs/humanoid.py"),  # pages that users copy
    }
    public = re.compile(r"from linkwork\.spatial import")
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("spatial/") and not any(
            part in name for part in made_of_users_calls
        ):
            assert not public.search(path.read_text()), name


def test_functions_have_their_public_names(how):
    assert se3.log.__module__ == "linkwork.spatial.se3"
    assert se3.log.__doc__ == source.log.__doc__
    assert pickle.loads(pickle.dumps(se3.log)) is se3.log


def test_warming_up():
    spatial.warmup(so3.project, quat.conjugate)

    assert _compiled.FUNCTIONS[quat.conjugate].kernel.status == "fast"
    assert_close(quat.conjugate([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -2.0, -3.0, -4.0]))


def test_first_calls_from_several_threads(rng, monkeypatch):
    compiled = _compiled.FUNCTIONS[se3.inverse]
    for name in ("kernel", "compute"):
        monkeypatch.delitem(compiled.__dict__, name, raising=False)
    poses = random_poses(rng, 40)
    results = {}

    def work(number):
        results[number] = np.stack([se3.inverse(pose) for pose in poses])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for result in results.values():
        assert_close(result, np.linalg.inv(poses), 1e-14)


# What may be given.


def test_arguments_by_name(rng):
    H, xi = random_poses(rng), rng.normal(size=6)

    assert np.array_equal(motion.transform_motion(H, b_v=xi), motion.transform_motion(H, xi))
    assert np.array_equal(motion.transform_motion(b_v=xi, a_H_b=H), motion.transform_motion(H, xi))


@pytest.mark.parametrize("wrong", [{"H": np.eye(4)}, {}, {"a_H_b": np.eye(4), "b": 1}])
def test_wrong_names_raise_the_type_error_of_python(wrong):
    with pytest.raises(TypeError, match="argument"):
        se3.inverse(**wrong)


def test_too_many_arguments():
    with pytest.raises(TypeError, match="too many"):
        se3.inverse(np.eye(4), np.eye(4))


def test_parts_of_other_arrays_and_other_byte_orders(rng):
    H = random_poses(rng, 5)
    R = np.ascontiguousarray(H[..., :3, :3])

    assert np.array_equal(so3.log(H[..., :3, :3]), so3.log(R))
    assert np.array_equal(so3.log(H[0, :3, :3]), so3.log(R[0]))
    assert np.array_equal(so3.log(np.asfortranarray(R)), so3.log(R))
    assert np.array_equal(so3.log(R.astype(">f8")), so3.log(R))
    assert so3.log(R.astype(">f8")).dtype.isnative


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_other_precisions_are_preserved(dtype, rng):
    xi = rng.normal(size=6).astype(dtype)

    assert se3.exp(xi).dtype == dtype
    assert_close(se3.exp(xi), se3.exp(xi.astype(float)), 10 * float(np.finfo(np.float16).eps))


def test_mixed_precisions_give_the_larger(rng):
    H, xi = random_poses(rng), rng.normal(size=6)
    assert motion.transform_motion(H.astype(np.float32), xi).dtype == np.float64
    assert motion.transform_motion(H.astype(np.float32), xi.astype(np.float32)).dtype == np.float32
    assert motion.transform_motion(H.astype(np.float32), [0, 0, 0, 0, 0, 1]).dtype == np.float64


def test_float32_that_overflows_is_infinite_without_a_warning():
    pose, point = np.full((4, 4), 1e30, np.float32), np.full(3, 1e30, np.float32)
    assert np.isinf(se3.transform_point(pose, point)).all()


def test_a_scalar_result_is_not_an_array(rng):
    params = inertia.from_com(1.0, [0.1, 0.2, 0.3], np.eye(3))
    assert isinstance(inertia.kinetic_energy(params, np.ones(6)), np.float64)
    assert isinstance(inertia.kinetic_energy(params.astype("f"), np.ones(6, "f")), np.float32)
    assert inertia.kinetic_energy(params[None], np.ones(6)).shape == (1,)


def test_results_that_are_not_finite_give_no_warning():
    assert np.isnan(quat.normalize(np.zeros(4))).all()
    assert np.isnan(quat.log(np.full(4, np.inf))).all()


def test_a_large_batch(rng):
    H = random_poses(rng, 5000)
    assert_close(se3.inverse(H), np.linalg.inv(H), 1e-14)


def test_results_are_new_arrays(rng):
    H = random_poses(rng)
    first = se3.inverse(H)
    first[0, 0] = 7.0
    assert se3.inverse(H)[0, 0] == H[0, 0]


def fake(package):
    kind = type("Tensor", (), {"__module__": f"{package}.tensor", "__array__": lambda self: [0.0]})
    return kind()


MASKED = np.ma.masked_array(np.zeros(3), [False, True, False])
DAY = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
REJECTED = [
    (1j * np.ones(3), "complex128"),
    ([0.0, 1j, 0.0], "complex128"),
    ("abc", "str96"),
    (["1", "2", "3"], "str32"),
    (b"abc", "bytes24"),
    (None, "NoneType"),
    ([0.0, None, 1.0], "NoneType"),
    (np.array(["2024-01-01"] * 3, "M8[D]"), "datetime64[D]"),
    (np.zeros(3, "m8[s]"), "timedelta64[s]"),
    ([DAY] * 3, "datetime"),
    ({"x": 1.0}, "dict"),
    (MASKED, "masked"),
    ([0.0, MASKED[1], 0.0], "masked"),
    (fake("cupy"), "cupy"),
]


@pytest.mark.parametrize(("value", "type_name"), REJECTED, ids=lambda x: str(x)[:20])
def test_what_is_no_real_number_is_rejected(value, type_name):
    with pytest.raises(ArgumentError, match=f"^phi: .*{re.escape(type_name)}"):
        so3.exp(value)


@pytest.mark.parametrize("call", [motion.split, se3.rotation_of, so3.project, inertia.to_com])
def test_functions_that_are_not_compiled_reject_it_too(call):
    with pytest.raises(ArgumentError, match="complex128"):
        call(np.full((10, 10), 1j))


def test_rows_of_different_lengths():
    with pytest.raises(ShapeError, match=r"^phi: "):
        so3.exp([[1.0, 2.0], [3.0]])


def test_batches_that_cannot_be_broadcast():
    with pytest.raises(ShapeError, match=r"a_wxyz \(2,\), b_wxyz \(3,\)"):
        quat.multiply(np.ones((2, 4)), np.ones((3, 4)))


def test_masked_arrays_without_a_mask_are_accepted():
    assert_close(so3.wedge(np.ma.masked_array([1.0, 2.0, 3.0])), so3.wedge([1.0, 2.0, 3.0]))


def test_arguments_without_a_name_are_named_in_messages():
    with pytest.raises(ArgumentError, match=r"^value: .*NoneType"):
        as_array(None)
