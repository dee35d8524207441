"""Exported C in a C loop: against pin from Python and in a C++ loop, and C that CasADi generates.

Everything is compiled with -O2 -march=native. A loop runs bursts of calls and prints the time of
the fastest; loops of the candidates follow each other in turn, round after round.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from exported_casadi import MOST_OPERATIONS, Casadi
from exported_pin import WITHOUT_PIN, compiled, numbers, pin_loop, run
from functions import SHORT
from peers import Pinocchio
from report import Section
from timing import QUICK, Patience, Task, best_of_variants

import linkwork as lw
from robots import TALOS, kindyn_of, random_states

QUANTITY = {
    "rnea": "inverse_dynamics",
    "crba": "mass_matrix",
    "aba": "forward_dynamics",
    "rnea derivatives": "inverse_dynamics_derivatives",
    "aba derivatives": "forward_dynamics_derivatives",
}
CALLS = 100  # in a burst, which is short, so that some bursts are not disturbed
OPTIMIZED = ("-O2", "-march=native")
TARGETS = {"rnea": 1.3, "crba": 1.3, "aba": 1.3}  # times faster than pin in a C++ loop
NOTES = """\
C: gcc -O2 -march=native -std=c99, called in a C loop, the state the same in each call.
kernel: linkwork's compiled function, called from Python.
pin, C++: its header templates, g++ -O2 -march=native, in a C++ loop with the same state; crba and \
aba in both of its conventions, of which the faster counts.
The library of pin's wheel, which Python calls, is compiled with other options: where it is \
faster than the C++ loop, the ratio to Python is the one to look at.
pin computes the upper triangle of the mass matrix and works in body axes; C computes both \
triangles and works in the mixed representation.
casadi C: generated from adam's symbolic functions, gcc -O2 -march=native; with -O1 where one C \
function has more than {most:,} operations, as -O2 takes too long. RNEA is M nu_dot + h, \
as adam has no other; derivatives are CasADi's Jacobians by joint positions, velocities, and \
accelerations or torques, without those by the pose of the base.
Times to compile are of the processor, so other processes do not count.
"""

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
        "talos_reduced: microseconds per call",
        *("function", "C", "kernel", "pin, C++", "pin, Python", "casadi C"),
        *("faster than pin, C++", "target", "enough", "than pin, Python", "than casadi C"),
    )
    sizes = section.table(
        "talos_reduced: operations, object file [KB] and time to compile [s]",
        *("function", "operations", "C [KB]", "C [s]"),
        *("casadi operations", "casadi [KB]", "casadi [s]"),
    )
    kd = kindyn_of(TALOS)
    pin, state = Pinocchio(kd, str(TALOS.path), TALOS.frame), random_states(kd, 1).row(0)
    try:
        casadi = Casadi(kd, state)
    except ImportError:
        casadi = None
        section.notes.append("casadi C is left out: it needs adam-robotics, casadi and liecasadi.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        of_pin = pin_loop(pin, state, loop=_loop(patience), calls=CALLS)
        if not of_pin:
            section.notes.append(WITHOUT_PIN)
        for function in QUANTITY:
            own = folder / function.replace(" ", "_")
            own.mkdir()
            programs = {"pin C++": [of_pin, function]} if of_pin else {}
            row = _measured(function, own, patience, programs=programs, casadi=casadi)
            row |= _in_python(function, kd, pin, state, patience)
            _add(section, table, sizes, function, row)
    section.notes += NOTES.format(most=MOST_OPERATIONS).splitlines()
    return section


def _in_python(
    function: str, kd: lw.KinDyn, pin: Pinocchio, state: Any, patience: Patience
) -> dict[str, float | None]:
    """Times [s] of linkwork's kernel and of pin, called from Python."""
    kernel = kd.function(QUANTITY[function])  # pyright: ignore[reportArgumentType]
    kernel.warmup()
    ways = {"kernel": [Task(kernel, tuple(getattr(state, x) for x in _input_names(function)))]}
    if function.endswith(" derivatives"):
        own, q = pin.convention.state(state), pin.convention.q(state.q, scalar_last=True)
        operands = (pin.model, pin.data, q, own.nu)
        calls = {
            "rnea derivatives": Task(pin.pin.computeRNEADerivatives, (*operands, own.nu_dot)),
            "aba derivatives": Task(pin.pin.computeABADerivatives, (*operands, own.tau)),
        }
        ways["pin"] = [calls[function]]
    else:
        ways["pin"] = pin.tasks(function, state)
    return best_of_variants(ways, patience)


def _add(section: Section, table: Any, sizes: Any, name: str, row: dict[str, Any]) -> None:
    target, good = TARGETS.get(name), ""
    faster = {
        way: row[way] / row["C"] if row.get(way) else None for way in ("pin C++", "pin", "casadi")
    }
    if faster["pin C++"] and target:
        good = section.check(f"talos {name}, C against pin in C++", faster["pin C++"], target)
    ways = ("C", "kernel", "pin C++", "pin", "casadi")
    title = " ".join(SHORT.get(word, word) for word in name.split())
    texts = {way: f"{ratio:.1f}" if ratio else "" for way, ratio in faster.items()}
    table.add(
        title,
        *(f"{row[way] * 1e6:.2f}" if row.get(way) else "" for way in ways),
        *(texts["pin C++"], f"{target:g}" if target else "", good, texts["pin"], texts["casadi"]),
    )
    numbers_of = (
        *(("operations", 1, ",d"), ("bytes", 1e3, ".0f"), ("seconds", 1, ".1f")),
        *(
            ("casadi operations", 1, ",d"),
            ("casadi bytes", 1e3, ".0f"),
            ("casadi seconds", 1, ".1f"),
        ),
    )
    cells = [
        format(row[key] / unit if unit != 1 else row[key], form) if row.get(key) else ""
        for key, unit, form in numbers_of
    ]
    sizes.add(title, *cells)
    section.data.append({"robot": TALOS.name, "function": name} | row)


def _measured(
    name: str,
    folder: Path,
    patience: Patience,
    *,
    programs: dict[str, list[str]],
    casadi: Casadi | None,
) -> dict[str, Any]:
    """Times [s] of all candidates in separate loops, sizes and compile times."""
    kd = kindyn_of(TALOS)
    report = lw.export(kd, folder, [QUANTITY[name]], prefix="talos", check=False)
    state = random_states(kd, 1).row(0)
    row: dict[str, Any] = {"operations": report.rows[0].operations}
    command = ["gcc", "-std=c99", *OPTIMIZED, "-c", f"talos_{QUANTITY[name]}.c", "-o", "function.o"]
    row["seconds"] = compiled(command, folder)
    row["bytes"] = (folder / "function.o").stat().st_size
    programs = {"C": _c_loop(name, folder, kd, state, patience), **programs}
    if casadi:
        programs["casadi"] = [casadi.program(name, folder, row, _loop(patience), CALLS)]
    for _ in range(max(2, patience.rounds // 5)):
        for way, command in programs.items():
            times = [float(text) for text in run(command, folder).split()]
            row[way] = min(row.get(way, np.inf), *times)
    return row


def _loop(patience: Patience) -> str:
    return _LOOP.format(bursts=5 if patience is QUICK else 60)


def _c_loop(name: str, folder: Path, kd: lw.KinDyn, state: Any, patience: Patience) -> list[str]:
    """The program that measures the exported function."""
    inputs = [getattr(state, one) for one in _input_names(name)]
    kernel = kd.function(QUANTITY[name])  # pyright: ignore[reportArgumentType]
    sizes = [port.size for port in kernel.signature.outputs if port.size]
    header = (folder / "talos.h").read_text("ascii")
    text = "#define _POSIX_C_SOURCE 199309L\n"
    text += '#include "talos.h"\n#include <stdio.h>\n#include <time.h>\n' + _loop(patience)
    text += "".join(numbers(f"x{k}", values) for k, values in enumerate(inputs))
    text += "".join(f"static double o{k}[{size}];\n" for k, size in enumerate(sizes))
    text += "static double work[1 << 18];\n"
    outputs = [f"o{k}" for k, _ in enumerate(sizes)]
    work = ["work"] if f"{QUANTITY[name].upper()}_WORK " in header else []
    one = ", ".join([*(f"x{k}" for k, _ in enumerate(inputs)), *outputs, *work])
    text += "int main(void)\n{\n"
    text += f"  MEASURE((void)talos_{QUANTITY[name]}({one}), {CALLS});\n"
    text += "  return 0;\n}\n"
    (folder / "loop.c").write_text(text, "ascii")
    run(["gcc", *OPTIMIZED, "loop.c", "function.o", "-lm", "-o", "loop"], folder)
    return ["./loop"]


def _input_names(name: str) -> tuple[str, ...]:
    return tuple(one.name for one in lw.KinDyn.quantities[QUANTITY[name]].inputs)
