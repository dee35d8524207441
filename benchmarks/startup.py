"""What it takes until the first result: import, compile, start from the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from report import Section

from robots import TALOS

_HERE = Path(__file__).parent
_FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
_ON_TWO_FEET = "constrained.forward_dynamics"

_IMPORT = """
import json, time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import linkwork
print(json.dumps({"numpy": middle - start, "all": time.perf_counter() - start}))
"""

_NUMPY = """
import json, time
start = time.perf_counter()
import numpy
print(json.dumps({"all": time.perf_counter() - start}))
"""

_SHORT = """
import json, os, sys, time
import numpy as np
from robots import TALOS, model_of
import linkwork as lw
kd = lw.KinDyn(model_of(TALOS))
q, nu = kd.neutral(), np.zeros(kd.nv)
times, start = {}, time.perf_counter()
for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
    kernel = getattr(kd, name)
    kernel(*[q if one.name == "q" else nu for one in kernel.signature.inputs])
    times[name], start = time.perf_counter() - start, time.perf_counter()
time.sleep(float(sys.argv[2]))
if sys.argv[1] == "as usual":
    from linkwork.engine.runtime import background
    start = time.perf_counter()
    background._close()  # what linkwork does when the program ends
    times["end"] = time.perf_counter() - start
print(json.dumps(times), flush=True)
if sys.argv[1] == "os._exit":
    os._exit(0)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), 9)
"""

_FIRST_CALL = """
import json, sys, time
import numpy as np
from robots import TALOS, model_of
import linkwork as lw
kd = lw.KinDyn(model_of(TALOS))
name, warm = sys.argv[1], sys.argv[2] == "warm"
if name.startswith("constrained."):
    name, kd = name.partition(".")[2], kd.constrained(["left_sole_link", "right_sole_link"])
name, _, derived = name.partition(".")
start = time.perf_counter()
kernel = getattr(kd, name)
if derived:
    kernel = getattr(kernel, derived)()
ports = kernel.signature.inputs
values = [kd.layout.neutral() if port.name == "q" else np.ones(port.shape) for port in ports]
kernel(*values)
elapsed = time.perf_counter() - start
if warm:
    kernel.warmup()
print(json.dumps({"first": elapsed}))
"""

_COMPILE = """
import json, sys, time
from robots import TALOS, kindyn_of
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.runtime.compiler import compiled
from linkwork.engine.runtime.processor import this_machine
name, _, derived = sys.argv[1].partition(".")
kernel, times = kindyn_of(TALOS).function(name), {}
if derived:
    kernel = getattr(kernel, derived)()
lanes = this_machine().lanes
start = time.perf_counter()
program = kernel.program
times["trace"] = time.perf_counter() - start
for name, width in (("one", 1), ("many", lanes)):
    start = time.perf_counter()
    compiled(emit_llvm(program, "f", Lanes(width)))
    times[name] = time.perf_counter() - start
print(json.dumps(times))
"""

_TRAJECTORY = """
import json, time
import numpy as np
from robots import CASES, model_of
import linkwork as lw
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.runtime.compiler import FAST, QUICK, compiled
from linkwork.engine.runtime.processor import this_machine
panda = next(case for case in CASES if case.name == "panda")
kd, knots, times = lw.KinDyn(model_of(panda), floating=False), 30, {}
links = [link.name for link in kd.model.links][3:10]
start = time.perf_counter()

@lw.compile(q=(knots, kd.nv), target=3, obstacle=3)
def cost(q, target, obstacle):
    poses = [kd.transform(link, q) for link in links]
    total = 100 * (poses[-1][-1, :3, 3] - target) @ (poses[-1][-1, :3, 3] - target)
    for k in range(knots):
        step = q[k] - q[k - 1] if k else q[0]
        total = total + step @ step
        for first, second in zip(poses[:-1], poses[1:]):  # capsules against a sphere
            start, along = first[k, :3, 3], second[k, :3, 3] - first[k, :3, 3]
            part = np.clip((obstacle - start) @ along / (along @ along + 1e-9), 0.0, 1.0)
            apart = start + part * along - obstacle
            total = total + np.maximum(0.15 - np.sqrt(apart @ apart), 0.0) ** 2
    return total

times["trace"], start = time.perf_counter() - start, time.perf_counter()
program = cost.gradient("q").program
times["differentiate"] = time.perf_counter() - start
widths = {"quick": (1, QUICK), "one": (1, FAST), "many": (this_machine().lanes, FAST)}
for name, (width, level) in widths.items():
    start = time.perf_counter()
    compiled(emit_llvm(program, "f", Lanes(width)), level)
    times[name] = time.perf_counter() - start
times["operations"] = program.n_ops
print(json.dumps(times))
"""


def startup(repeats: int) -> Section:
    """All of it on talos_reduced."""
    section = Section(f"Start, {TALOS.name}")
    table = section.table("Seconds", "what", "linkwork", "at most", "")

    def add(what: str, seconds: float, wanted: float | None = None) -> None:
        verdict = "" if wanted is None else section.check(what, seconds, wanted, at_most=True)
        table.add(what, f"{seconds:.3f}", "" if wanted is None else f"{wanted:g}", verdict)
        section.data.append({"what": what, "seconds": seconds})

    alone, after = imports(max(5 * repeats, 10))
    add("import numpy, median", median(alone))
    add("import linkwork, median, after importing numpy", median(after))
    times = (min(alone) + min(after)) / min(alone)
    verdict = section.check("import linkwork and numpy, times numpy", times, 1.3, at_most=True)
    table.add("import both, times import numpy", f"{times:.2f}", "1.3", verdict)
    section.data.append({"what": "import both, times import numpy", "ratio": times})
    for end in ("as usual", "os._exit", "killed"):
        for name, seconds in second_run(end, repeats).items():
            wanted = 0.05 if name == "end" else 0.03
            what = "linkwork's part of the end" if name == "end" else f"first {name}"
            add(f"{what}, second run, the first ended {end}", seconds, wanted)
    leaving = min(end_while_compiling() for _ in range(repeats))
    add("linkwork's part of the end, while code is compiled", leaving, 0.05)
    for name in _FUNCTIONS:
        cold, warm = first_calls(name, repeats)
        add(f"first {name}, empty cache", cold, 0.25 if name == "inverse_dynamics" else None)
        add(f"first {name}, from the cache", warm, 0.03)
    cold, warm = first_calls(_ON_TWO_FEET, repeats)
    add("first forward_dynamics on two feet, empty cache", cold, 1.5)
    add("first forward_dynamics on two feet, from the cache", warm, 0.03)
    for name in _FUNCTIONS:
        results = [run_alone("compile", name, cache="off") for _ in range(repeats)]
        times = {key: min(run[key] for run in results) for key in results[0]}
        add(f"trace {name}", times["trace"])
        add(f"compile {name}, one row at a time", times["one"])
        add(f"compile {name}, several rows at a time", times["many"])
        add(f"compile {name}, both", times["one"] + times["many"], 1.5)
    results = [run_alone("trajectory", cache="off") for _ in range(repeats)]
    times = {key: min(run[key] for run in results) for key in results[0]}
    what = f"gradient of a cost of 30 knots, {times.pop('operations'):,} operations"
    for key, seconds in times.items():
        add(f"{what}: {key}", seconds)
    add(f"{what}: all", sum(times.values()), 6.0)
    section.notes.append(
        "First call: from the call to its result, in a fresh process that has loaded the robot and"
        " computed nothing; tracing and quick compilation are in it. Least of several processes."
    )
    return section


def imports(count: int) -> tuple[list[float], list[float]]:
    """Seconds of `import numpy`, and of `import linkwork` after it, in fresh processes in turn."""
    alone: list[float] = []
    after: list[float] = []
    for _ in range(count):
        alone.append(run_alone("numpy", cache="off")["all"])
        results = run_alone("import", cache="off")
        after.append(results["all"] - results["numpy"])
    return alone, after


def second_run(end: str, repeats: int) -> dict[str, float]:
    """Least times of first calls in a script that was run once before, and of its end."""
    results: list[dict[str, float]] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            run_alone("short", end, "0", cache=folder, signals=True)
            results.append(run_alone("short", "as usual", "0", cache=folder))
    return {name: min(run[name] for run in results) for name in results[0]}


def end_while_compiling() -> float:
    """Seconds that linkwork takes when a script ends while its functions are compiled."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return run_alone("short", "as usual", "0.4", cache=folder)["end"]


def first_calls(name: str, repeats: int) -> tuple[float, float]:
    """Least time of the first call with an empty cache, and with one that is filled."""
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(run_alone("first call", name, "warm", cache=folder)["first"])
            warm += [run_alone("first call", name, "cold", cache=folder)["first"] for _ in range(2)]
    return min(cold), min(warm)


_SIMULATION = """
import json, sys, time
start = time.perf_counter()
import mujoco
import numpy as np
import linkwork as lw
middle = time.perf_counter()
sim = lw.Simulation(sys.argv[1])
made = time.perf_counter()
sim.step(sim.state(sim.scene.keyframes[0].name), np.zeros(sim.n_controls))
end = time.perf_counter()
sim.step.warmup()
print(json.dumps({"import": middle - start, "made": made - middle, "step": end - made}))
"""

_PROGRAMS = {
    "simulation": _SIMULATION,
    "numpy": _NUMPY,
    "short": _SHORT,
    "import": _IMPORT,
    "first call": _FIRST_CALL,
    "compile": _COMPILE,
    "trajectory": _TRAJECTORY,
}


def run_alone(what: str, *args: str, cache: str, signals: bool = False) -> dict[str, Any]:
    """Run a program in a separate process; it prints its measurements as JSON."""
    paths = [str(_HERE), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "LINKWORK_CACHE": cache,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", _PROGRAMS[what], *args]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 0 or (done.returncode and not signals):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
