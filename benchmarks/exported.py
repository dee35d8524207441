"""Exported C in a C loop: against pin from Python and in a C++ loop, and C that CasADi generates.

Everything is compiled with -O2 -march=native. A loop runs bursts of calls and prints the time of
the fastest; loops of the candidates follow each other in turn, round after round.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from exported_pin import WITHOUT_PIN, numbers, pin_loop, run
from functions import SHORT, arguments, kernel_of
from peers import Pinocchio
from report import Section
from timing import QUICK, Patience, Task, best_of_variants
from urdf_text import plain, read

import linkwork as lw
from linkwork.kindyn.quantities import QUANTITIES
from robots import TALOS, kindyn_of, random_states

QUANTITY = {
    "rnea": "inverse_dynamics",
    "crba": "mass_matrix",
    "aba": "forward_dynamics",
    "rnea derivatives": "inverse_dynamics_derivatives",
    "aba derivatives": "forward_dynamics_derivatives",
}
CALLS = 100  # in a burst, which is short, so that some bursts are not disturbed
ROWS = 64  # in one call of the function of many rows
TIMED_IN_PYTHON = ("rnea", "crba", "aba")
OPTIMIZED = ("-O2", "-march=native")
WANTED = {"rnea": 1.3, "crba": 1.3, "aba": 1.3}  # times faster than pin in a C++ loop

_LOOP = """
static double now(void)
{{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}

/* Prints the seconds of one call, in the fastest of some bursts. */
#define MEASURE(call, calls) do {{ \\
  double fastest = 1e9; \\
  for (int burst = 0; burst < {bursts}; ++burst) {{ \\
    const double start = now(); \\
    for (int k = 0; k < (calls); ++k) {{ call; }} \\
    const double one = (now() - start) / (calls); \\
    fastest = one < fastest ? one : fastest; \\
  }} \\
  printf("%.12g\\n", fastest); \\
}} while (0)
"""


def exported(patience: Patience) -> Section:
    """Time, size and compile time of exported C, of talos."""
    section = Section("Exported C")
    table = section.table(
        "talos_reduced: microseconds per call, object file and compile time",
        *("function", "C", "C, 4 rows at a time", "kernel", "pin, C++", "pin, Python"),
        *("casadi C", "faster than pin, C++", "wanted", "enough"),
        *("object [KB]", "compiled in [s]", "casadi [KB]", "casadi in [s]"),
    )
    functions = [name for name, quantity in QUANTITY.items() if quantity in QUANTITIES]
    kd = kindyn_of(TALOS)
    pin, state = Pinocchio(kd, str(TALOS.path), TALOS.frame), random_states(kd, 1).row(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        has_pin = pin_loop(folder, pin, state, loop=_loop(patience), calls=CALLS)
        if not has_pin:
            section.notes.append(WITHOUT_PIN)
        for function in functions:
            own = folder / function.replace(" ", "_")
            own.mkdir()
            programs = {"pin C++": [str(folder / "pin_loop"), function]} if has_pin else {}
            row = _measured(function, own, patience, section, programs=programs)
            if function in TIMED_IN_PYTHON:
                kernel = kernel_of(kd, function, TALOS.frame)
                ways = {"kernel": [Task(kernel, arguments(function, state))]}
                row |= best_of_variants(ways | {"pin": pin.tasks(function, state)}, patience)
            _add(section, table, function, row)
    section.notes += [
        "C: gcc -O2 -march=native -std=c99, called in a C loop, the state the same in each call.",
        "4 rows at a time: the function of many rows (`--lanes 4`), 64 rows in each call, per row.",
        "pin, C++: its header templates, -O2 -march=native, in a C++ loop with the same state.",
        "casadi C: mass matrix of adam's casadi form, generated as C by casadi.",
    ]
    return section


def _add(section: Section, table: Any, name: str, row: dict[str, Any]) -> None:
    faster = row["pin C++"] / row["C"] if row.get("pin C++") else None
    wanted = WANTED.get(name)
    good = ""
    if faster and wanted:
        good = section.check(f"talos {name}, C against pin in C++", faster, wanted)
    ways = ("C", "lanes", "kernel", "pin C++", "pin", "casadi")
    table.add(
        SHORT.get(name, name),
        *(f"{row[way] * 1e6:.2f}" if row.get(way) else "" for way in ways),
        *(f"{faster:.1f}" if faster else "", f"{wanted:g}" if wanted else "", good),
        *(f"{row['bytes'] / 1e3:.0f}", f"{row['seconds']:.1f}"),
        f"{row['casadi bytes'] / 1e3:.0f}" if row.get("casadi bytes") else "",
        f"{row['casadi seconds']:.1f}" if row.get("casadi seconds") else "",
    )
    section.data.append({"robot": TALOS.name, "function": name} | row)


def _measured(
    name: str,
    folder: Path,
    patience: Patience,
    section: Section,
    *,
    programs: dict[str, list[str]],
) -> dict[str, Any]:
    """Times [s] of all candidates in loops of their own, sizes and compile times."""
    kd = kindyn_of(TALOS)
    lw.export(kd, folder, [QUANTITY[name]], prefix="talos", lanes=4, check=False)
    state = random_states(kd, 1).row(0)
    row: dict[str, Any] = {}
    seconds = time.perf_counter()
    source = f"talos_{QUANTITY[name]}.c"
    run(["gcc", "-std=c99", *OPTIMIZED, "-c", source, "-o", "function.o"], folder)
    row["seconds"] = time.perf_counter() - seconds
    row["bytes"] = (folder / "function.o").stat().st_size
    batch = source.replace(".c", "_batch.c")
    run(["gcc", "-std=c99", *OPTIMIZED, "-c", batch, "-o", "batch.o"], folder)
    programs = {"C": _c_loop(name, folder, kd, state, patience), **programs}
    if name == "crba":
        programs |= _casadi_loop(
            folder, row, kd=kd, state=state, patience=patience, section=section
        )
    for _ in range(max(2, patience.rounds // 5)):
        for way, command in programs.items():
            one, *many = map(float, run(command, folder).split())
            row[way] = min(row.get(way, np.inf), one)
            if many:
                row["lanes"] = min(row.get("lanes", np.inf), many[0] / ROWS)
    return row


def _loop(patience: Patience) -> str:
    return _LOOP.format(bursts=5 if patience is QUICK else 60)


def _c_loop(name: str, folder: Path, kd: lw.KinDyn, state: Any, patience: Patience) -> list[str]:
    """The program that measures the exported functions, of one row and of many."""
    inputs = [getattr(state, one) for one in _input_names(name)]
    kernel = kd.function(QUANTITY[name])  # pyright: ignore[reportArgumentType]
    sizes = [port.size for port in kernel.signature.outputs if port.size]
    header = (folder / "talos.h").read_text("ascii")
    text = "#define _POSIX_C_SOURCE 199309L\n"
    text += '#include "talos.h"\n#include <stdio.h>\n#include <time.h>\n' + _loop(patience)
    text += "".join(numbers(f"x{k}", values) for k, values in enumerate(inputs))
    text += "".join(numbers(f"y{k}", np.tile(v, (ROWS, 1))) for k, v in enumerate(inputs))
    text += "".join(f"static double o{k}[{ROWS * size}];\n" for k, size in enumerate(sizes))
    text += "static double work[1 << 18];\n"
    outputs = [f"o{k}" for k, _ in enumerate(sizes)]
    macros = (f"{QUANTITY[name].upper()}{part}_WORK " for part in ("", "_BATCH"))
    work = [["work"] if macro in header else [] for macro in macros]
    one = ", ".join([*(f"x{k}" for k, _ in enumerate(inputs)), *outputs, *work[0]])
    many = ", ".join([f"{ROWS}u", *(f"y{k}" for k, _ in enumerate(inputs)), *outputs, *work[1]])
    text += "int main(void)\n{\n"
    text += f"  MEASURE((void)talos_{QUANTITY[name]}({one}), {CALLS});\n"
    text += f"  MEASURE((void)talos_{QUANTITY[name]}_batch({many}), {max(CALLS // ROWS, 1)});\n"
    text += "  return 0;\n}\n"
    (folder / "loop.c").write_text(text, "ascii")
    run(["gcc", *OPTIMIZED, "loop.c", "function.o", "batch.o", "-lm", "-o", "loop"], folder)
    return ["./loop"]


def _casadi_loop(
    folder: Path,
    row: dict[str, Any],
    *,
    kd: lw.KinDyn,
    state: Any,
    patience: Patience,
    section: Section,
) -> dict[str, list[str]]:
    """The program that measures the C that casadi generates from adam, if both are there."""
    try:
        from adam.casadi import KinDynComputations
    except ImportError:
        section.notes.append("casadi C needs adam-robotics, casadi and liecasadi.")
        return {}
    peer = KinDynComputations(plain(read(str(TALOS.path))), list(kd.joint_names))
    function = peer.mass_matrix_fun()
    function.generate("casadi_mass_matrix.c")
    shutil.move("casadi_mass_matrix.c", folder / "casadi_mass_matrix.c")
    start = time.perf_counter()
    run(["gcc", *OPTIMIZED, "-c", "casadi_mass_matrix.c", "-o", "casadi.o"], folder)
    row["casadi seconds"] = time.perf_counter() - start
    row["casadi bytes"] = (folder / "casadi.o").stat().st_size
    pose = np.eye(4)
    name = function.name()
    text = "#define _POSIX_C_SOURCE 199309L\n#include <stdio.h>\n#include <time.h>\n"
    text += _loop(patience) + numbers("pose", pose) + numbers("s", state.q[7:])
    text += f"int {name}(const double **, double **, long long int *, double *, int);\n"
    text += f"static double out[{kd.nv * kd.nv}], w[{max(function.sz_w(), 1)}];\n"
    text += f"static long long int iw[{max(function.sz_iw(), 1)}];\n"
    text += "int main(void)\n{\n  const double *arg[64] = {pose, s};\n  double *res[64] = {out};\n"
    text += f"  MEASURE((void){name}(arg, res, iw, w, 0), {CALLS});\n  return 0;\n}}\n"
    (folder / "casadi_loop.c").write_text(text, "ascii")
    run(["gcc", *OPTIMIZED, "casadi_loop.c", "casadi.o", "-lm", "-o", "casadi_loop"], folder)
    return {"casadi": ["./casadi_loop"]}


def _input_names(name: str) -> tuple[str, ...]:
    return tuple(one.name for one in QUANTITIES[QUANTITY[name]].inputs)
