"""Small robots, and separate Python processes for code that may end the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np

from linkwork import Inertia, KinDyn, Model, ModelBuilder, Pose, robots
from linkwork.engine.runtime.background import background

BODY = Inertia(1.5, (0.1, 0.0, 0.02), (0.1, 0.0, 0.0, 0.2, 0.0, 0.15))
# [s] a process that takes longer hangs; sanitizers and emulators need more
LONGEST = float(os.environ.get("LINKWORK_TEST_SECONDS", "60"))
# whether QEMU runs this process: see tools/test_aarch64.py
EMULATED = os.environ.get("LINKWORK_EMULATED") == "1"
# [bytes] 64 KB, or what the system allows: glibc's limit is 128 KB on 64-bit ARM
SMALLEST_STACK = max(65536, os.sysconf("SC_THREAD_STACK_MIN") if hasattr(os, "sysconf") else 0)

PREPARED = """
import os, sys, time, threading
import numpy as np
import numpy.random  # not by a thread with a small stack
import linkwork as lw
from tests.support.kernels import *
"""

# Threads call a kernel while other code takes over, again and again; what was in use before is
# dropped.
TAKE_OVER = """
from linkwork.engine.runtime.compiler import load_code, compiled
sys.setswitchinterval(1e-5)
kd = floater()
kernel = kd.function("forward_dynamics")
inputs = [motion(kd, n, seed=3) for n in ((), 5, 61, 2503)]
expected = [kernel(*args) for args in inputs]
stop, wrong = threading.Event(), []
def work(place):
    while not stop.is_set():
        found = kernel(*inputs[place])
        if not np.allclose(found, expected[place], rtol=1e-9, atol=1e-9):
            wrong.append(place)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads: thread.start()
kernel.warmup()
one = kernel.code.compile_fast(1, compiled)
many = kernel.code.compile_fast(kernel.code.width, compiled)
for turn in range(50):
    kernel.code.install(load_code(one), load_code(many) if turn % 2 else None, 1)
    time.sleep(0.002)
stop.set()
for thread in threads: thread.join()
assert not wrong
print("done")
"""

BUSY = """
kd = lw.KinDyn(lw.robots.load("quadruped"))   # takes a second or more to compile
q, nu, tau = motion(kd, 5)
expected = kd.forward_dynamics(q, nu, tau)
"""


class Never:
    """A background that never runs a job."""

    def submit(self, job: object, *, is_urgent: bool = False) -> threading.Event:
        end = threading.Event()
        end.set()
        return end


def start_python(code: str, *, cache: object = "off", **environment: str) -> subprocess.Popen[str]:
    """Start a process that runs code with warnings as errors, except those of long programs."""
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    path = os.pathsep.join(folders)
    setting = {**os.environ, "LINKWORK_CACHE": str(cache), "PYTHONPATH": path, **environment}
    # Python 3.12 warns of any fork of a process that has threads
    options = ["-W", "error", "-W", "ignore::DeprecationWarning", "-W", "ignore:compiling"]
    return subprocess.Popen(
        [sys.executable, *options, "-c", PREPARED + textwrap.dedent(code)],
        env=setting,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a process; return its exit code, output and errors."""
    with process:
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            end_group(process)  # its children have the pipes too
            out, err = process.communicate()
            err += "\nit hangs"
    return process.returncode, out, err


def end_group(process: subprocess.Popen[str]) -> None:
    """End a process and its forked children."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def run_python(code: str, *, cache: object = "off", **environment: str) -> tuple[int, str, str]:
    """Run code in a separate process; return its exit code, output and errors."""
    return finish(start_python(code, cache=cache, **environment))


def output_of(code: str, *, cache: object = "off", **environment: str) -> str:
    """Return the output of code in a separate process, which must succeed without errors."""
    returncode, out, err = run_python(code, cache=cache, **environment)
    assert (returncode, err) == (0, ""), f"exit code {returncode}\n{out}\n{err}"
    return out.strip()


def wait_for_background() -> None:
    """Wait until all background jobs are done."""
    done = threading.Event()
    background().submit(done.set)
    assert done.wait(LONGEST)


def worker_pid() -> int:
    """Return the id of the compiler process, once it has started."""
    until = time.monotonic() + LONGEST / 2
    while time.monotonic() < until:
        process = background()._process
        if process is not None and process.pid:
            return process.pid
        time.sleep(0.001)
    raise AssertionError("no process compiles")


def pendulum(**options: object) -> KinDyn:
    """One joint; the base is fixed by default."""
    return KinDyn(robots.load("pendulum"), **{"floating": False, **options})


def floater(**options: object) -> KinDyn:
    """A floating base and two joints: q has 9 coordinates, nu 8."""
    return KinDyn(robots.load("double_pendulum"), **{"floating": True, **options})


def motion(kd: KinDyn, n: object = (), seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, nu, and a third argument of the size of nu."""
    q = kd.random(n, seed=seed)
    rng = np.random.default_rng(seed)
    shape = (*q.shape[:-1], kd.nv)
    return q, rng.normal(size=shape).astype(q.dtype), rng.normal(size=shape).astype(q.dtype)


def joint_kinds() -> Model:
    """A slide, a hinge with (cos, sin) in q, and a ball joint, one after the other.

    With a floating base, q has 14 numbers, among them two quaternions, and nu 11.
    """
    builder = ModelBuilder("joint kinds")
    for name in ("trunk", "slider", "arm", "ball"):
        builder.add_link(name, inertia=BODY)
    mount = Pose(xyz=(0.1, -0.2, 0.3))
    builder.add_joint("slide", "prismatic", "trunk", "slider", axis=(0, 0, 1), first_H_joint=mount)
    hinge_axis = (0.6, 0.8, 0.0)
    builder.add_joint(
        "hinge", "revolute_cos_sin", "slider", "arm", axis=hinge_axis, first_H_joint=mount
    )
    builder.add_joint("wrist", "spherical", "arm", "ball", first_H_joint=mount)
    return builder.build()


def one_link(name: str = "body") -> Model:
    """A robot without joints."""
    builder = ModelBuilder("one link")
    builder.add_link(name, inertia=BODY)
    return builder.build()


def hinge(inertia: Inertia, *, axis: tuple[float, ...] = (0.0, 0.0, 1.0), **mount: Pose) -> Model:
    """Two links and a revolute joint named `hinge`; `inertia` is that of the second."""
    builder = ModelBuilder("hinge")
    builder.add_link("first", inertia=BODY)
    builder.add_link("second", inertia=inertia)
    builder.add_joint("hinge", "revolute", "first", "second", axis=axis, **mount)
    return builder.build()


def with_frames(count: int) -> Model:
    """A link with many frames: frame0, frame1, ..."""
    builder = ModelBuilder("frames")
    builder.add_link("body", inertia=BODY)
    for number in range(count):
        builder.add_frame(f"frame{number}", "body", Pose(xyz=(0.1 * number, 0.2, 0.3)))
    return builder.build()
