"""What a call costs with Python's limited API, which wheels for all Pythons (abi3) need.

    python benchmarks/abi3.py          needs Python 3.12 or later, a C compiler and NumPy

The C files are compiled twice, as they are and with the functions of the limited API in place of
macros and fields of types. Calls are measured in processes that alternate; the fastest counts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).parents[1] / "src" / "linkwork"
PROCESSES = 6
LIMITED = {
    "PyTuple_GET_SIZE": "PyTuple_Size",
    "PyTuple_GET_ITEM": "PyTuple_GetItem",
    "PyTuple_SET_ITEM": "PyTuple_SetItem",
    "PyFloat_AS_DOUBLE": "PyFloat_AsDouble",
    "self->result->tp_alloc(": "((allocfunc)PyType_GetSlot(self->result, Py_tp_alloc))(",
    "type->tp_alloc(": "((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(",
    "type->tp_free(": "((freefunc)PyType_GetSlot(type, Py_tp_free))(",
    "PySequence_Fast_GET_SIZE(value)": "PySequence_Size(value)",
    "PyObject **items = PySequence_Fast_ITEMS(value);": "int is_list = PyList_CheckExact(value);",
    "read_number(items[i],": "read_number(is_list ? PyList_GetItem(value, i)"
    " : PyTuple_GetItem(value, i),",
}
MEASURE = """
import json, timeit, warnings
import linkwork as lw, numpy as np
warnings.simplefilter("ignore")
kd = lw.KinDyn(lw.load("arm"), floating=False)
pendulum = lw.KinDyn(lw.load("pendulum"), floating=False)
q, nu, out = kd.neutral(), np.zeros(kd.nv), np.empty((kd.nv, kd.nv))
one, lists = pendulum.neutral(), (q.tolist(), nu.tolist(), nu.tolist())
kd.warmup("mass_matrix", "inverse_dynamics")
pendulum.warmup("mass_matrix")
calls = {
    "mass matrix of a pendulum": lambda: pendulum.mass_matrix(one),
    "mass matrix of an arm": lambda: kd.mass_matrix(q),
    "the same with out=": lambda: kd.mass_matrix(q, out=out),
    "inverse dynamics of an arm": lambda: kd.inverse_dynamics(q, nu, nu),
    "the same with lists": lambda: kd.inverse_dynamics(*lists),
}
print(json.dumps({name: min(timeit.repeat(call, number=5000, repeat=40)) / 5e-6
                  for name, call in calls.items()}))
"""


def build(folder: Path, *, limited: bool) -> None:
    """Copy the package, and compile the extension that calls kernels."""
    package = folder / "linkwork"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    kernel = package / "engine" / "kernel"
    files = sorted((kernel / "csrc").glob("*.c"))
    for file in files if limited else ():
        text = file.read_text()
        for old, new in LIMITED.items():
            text = text.replace(old, new)
        file.write_text(text)
    flags = sysconfig.get_config_var("CFLAGS").split()
    flags += ["-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off"]
    flags += ["-Wno-implicit-function-declaration"]  # a header of NumPy's, with the limited API
    flags += ["-DPy_LIMITED_API=0x030C0000"] if limited else []
    flags += [f"-I{path}" for path in (sysconfig.get_paths()["include"], np.get_include())]
    end = ".abi3.so" if limited else sysconfig.get_config_var("EXT_SUFFIX")
    subprocess.run(["cc", *flags, *files, "-o", kernel / f"_call{end}"], check=True)


def measure(folder: Path) -> dict[str, float]:
    """Nanoseconds of each call, in a process of its own."""
    command = [sys.executable, "-c", MEASURE]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = Path(name) / "full", Path(name) / "limited"
        for folder in folders:
            build(folder, limited=folder.name == "limited")
        runs = [[measure(folder) for folder in folders] for _ in range(PROCESSES)]
    print(f"{'ns a call':30} {'full':>6} {'limited':>8}")
    for call in runs[0][0]:
        full, limited = (min(run[k][call] for run in runs) for k in range(2))
        print(f"{call:30} {full:6.0f} {limited:8.0f} {100 * (limited / full - 1):+6.1f} %")


if __name__ == "__main__":
    main()
