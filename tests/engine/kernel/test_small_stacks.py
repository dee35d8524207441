"""Generated code has no buffers on the stack: calls work in threads with small stacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.kernels import output_of

FOLDER = Path(__file__).parent
FILES = ("test_out.py", "test_array_arguments.py", "test_bad_values.py", "test_streaming.py")

IN_A_SMALL_THREAD = """
def in_a_small_thread(work):
    failed = []
    def body():
        try:
            work()
        except BaseException as error:
            failed.append(error)
    threading.stack_size(SMALLEST_STACK)
    thread = threading.Thread(target=body)
    thread.start()
    threading.stack_size(0)
    thread.join()
    if failed: raise failed[0]
"""


@pytest.mark.parametrize(
    ("robot", "names"),
    [("quadruped", ("regressor", "forward_dynamics")), ("humanoid", ("regressor",))],
)
def test_large_functions_of_robots_work_in_a_thread_with_a_small_stack(robot, names):
    """The regressor has the largest buffers: 56 and 188 KB."""
    done = output_of(
        IN_A_SMALL_THREAD
        + f"""
kd = lw.KinDyn(lw.robots.load({robot!r}))
kd.warmup(*{names})
inputs = {{n: motion(kd, n, seed=1) for n in ((), 3, 8, 300)}}
def results():
    found = []
    for name in {names}:
        kernel = kd.function(name)
        for n, (q, nu, tau) in inputs.items():
            given = dict(q=q, nu=nu, nu_dot=tau, tau=tau)
            for kind in ("f8", "f4"):
                args = [given[port.name].astype(kind) for port in kernel.signature.inputs]
                found.append(kernel(*args, threads=2))
    return found
wanted, found = results(), []
in_a_small_thread(lambda: found.extend(results()))
assert len(found) == len(wanted) >= 8
assert all(np.array_equal(one, other) for one, other in zip(found, wanted))
print("done")
"""
    )
    assert done == "done"


OUTER = """
@lw.compile(x=(40,))
def function(x):
    return x[:, None] * x
"""
TANGLED = """
@lw.compile(x=(500,))
def function(x):
    y = z = np.sin(x)
    for k in range(1, 4):
        z = z * np.roll(y[::-1], k) + y
    return z * y[::-1]
"""


@pytest.mark.parametrize("function", [OUTER, TANGLED], ids=["outer", "tangled"])
def test_functions_with_many_values_at_a_time_work_in_a_thread_with_a_small_stack(function):
    """Values that do not fit into registers are on the stack; they must be few."""
    done = output_of(
        IN_A_SMALL_THREAD
        + function
        + """
def work():
    for n in (1, 8, 100):
        x = np.random.default_rng(0).normal(size=(n, *function.signature.inputs[0].shape))
        found.append(function(x))
found = []
in_a_small_thread(work)       # with the code of the first call
in_a_small_thread(function.warmup)
in_a_small_thread(work)
wanted, found = found, []
work()
for one, other in zip(wanted, found + found):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
print("done")
"""
    )
    assert done == "done"


def test_the_tests_of_calls_pass_in_threads_with_small_stacks():
    root = FOLDER.parents[2]
    options = ["-q", "-x", "-p", "tests.support.small_stack", "-p", "no:cacheprovider"]
    options += ["-p", "no:xdist", "--rootdir", str(root)]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    completed = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(FOLDER / name) for name in FILES)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
