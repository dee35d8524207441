"""Exported C in a C loop: against pin from Python and in a C++ loop, and C that CasADi generates.

Everything is compiled with -O2 -march=native. A loop runs bursts of calls and prints the time of
the fastest; loops of the candidates follow each other in turn, round after round.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from functions import SHORT, arguments, kernel_of
from peers import Pinocchio
from report import Section
from timing import QUICK, Patience, Task, best_of_variants

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
PIN_CALLS = {
    "rnea": "pinocchio::rnea(model, data, q, v, a)",
    "crba": "pinocchio::crba(model, data, q)",
    "aba": "pinocchio::aba(model, data, q, v, a)",
    "rnea derivatives": "pinocchio::computeRNEADerivatives(model, data, q, v, a)",
    "aba derivatives": "pinocchio::computeABADerivatives(model, data, q, v, a)",
}
ROWS = 64  # in one call of the function of many rows
PIN_DEFINES = (  # those of its CMake target
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
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
#define MEASURE(call) do {{ \\
  double fastest = 1e9; \\
  for (int burst = 0; burst < {bursts}; ++burst) {{ \\
    const double start = now(); \\
    for (int k = 0; k < {calls}; ++k) {{ call; }} \\
    const double one = (now() - start) / {calls}; \\
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
    with tempfile.TemporaryDirectory() as folder:
        for name in functions:
            own = Path(folder) / name.replace(" ", "_")
            own.mkdir()
            row = _measured(name, own, patience, section)
            _add(section, table, name, row)
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


def _measured(name: str, folder: Path, patience: Patience, section: Section) -> dict[str, Any]:
    """Times [s] of all candidates, sizes and compile times."""
    kd = kindyn_of(TALOS)
    report = lw.export(kd, folder, [QUANTITY[name]], prefix="talos", lanes=4, check=False)
    del report
    state = random_states(kd, 1).row(0)
    pin = Pinocchio(kd, str(TALOS.path), TALOS.frame)
    row: dict[str, Any] = {}
    seconds = time.perf_counter()
    source = f"talos_{QUANTITY[name]}.c"
    _run(["gcc", "-std=c99", *OPTIMIZED, "-c", source, "-o", "function.o"], folder)
    row["seconds"] = time.perf_counter() - seconds
    row["bytes"] = (folder / "function.o").stat().st_size
    batch = source.replace(".c", "_batch.c")
    _run(["gcc", "-std=c99", *OPTIMIZED, "-c", batch, "-o", "batch.o"], folder)
    programs = {"C": _c_loop(name, folder, kd, state, patience)}
    programs |= _pin_loop(name, folder, pin=pin, state=state, patience=patience, section=section)
    if name == "crba":
        programs |= _casadi_loop(
            folder, row, kd=kd, state=state, patience=patience, section=section
        )
    for _ in range(max(2, patience.rounds // 5)):
        for way, command in programs.items():
            one, *many = map(float, _run([command], folder).split())
            row[way] = min(row.get(way, np.inf), one)
            if many:
                row["lanes"] = min(row.get("lanes", np.inf), many[0] / ROWS)
    if name in ("rnea", "crba", "aba"):
        kernel = kernel_of(kd, name, TALOS.frame)
        tasks = {"kernel": [Task(kernel, arguments(name, state))], "pin": pin.tasks(name, state)}
        row |= best_of_variants(tasks, patience)
    return row


def _numbers(name: str, values: Any) -> str:
    listed = ", ".join(f"{x!r}" for x in np.ravel(values).tolist())
    return f"static double {name}[] = {{{listed}}};\n"


def _loop(patience: Patience) -> str:
    return _LOOP.format(bursts=3 if patience is QUICK else 20, calls=200)


def _c_loop(name: str, folder: Path, kd: lw.KinDyn, state: Any, patience: Patience) -> str:
    """The program that measures the exported functions, of one row and of many."""
    inputs = [getattr(state, one) for one in _input_names(name)]
    kernel = kd.function(QUANTITY[name])  # pyright: ignore[reportArgumentType]
    sizes = [port.size for port in kernel.signature.outputs if port.size]
    header = (folder / "talos.h").read_text("ascii")
    text = "#define _POSIX_C_SOURCE 199309L\n"
    text += '#include "talos.h"\n#include <stdio.h>\n#include <time.h>\n' + _loop(patience)
    text += "".join(_numbers(f"x{k}", values) for k, values in enumerate(inputs))
    text += "".join(_numbers(f"y{k}", np.tile(v, (ROWS, 1))) for k, v in enumerate(inputs))
    text += "".join(f"static double o{k}[{ROWS * size}];\n" for k, size in enumerate(sizes))
    text += "static double work[1 << 18];\n"
    outputs = [f"o{k}" for k, _ in enumerate(sizes)]
    macros = (f"{QUANTITY[name].upper()}{part}_WORK " for part in ("", "_BATCH"))
    work = [["work"] if macro in header else [] for macro in macros]
    one = ", ".join([*(f"x{k}" for k, _ in enumerate(inputs)), *outputs, *work[0]])
    many = ", ".join([f"{ROWS}u", *(f"y{k}" for k, _ in enumerate(inputs)), *outputs, *work[1]])
    text += "int main(void)\n{\n"
    text += f"  MEASURE((void)talos_{QUANTITY[name]}({one}));\n"
    text += f"  MEASURE((void)talos_{QUANTITY[name]}_batch({many}));\n  return 0;\n}}\n"
    (folder / "loop.c").write_text(text, "ascii")
    _run(["gcc", *OPTIMIZED, "loop.c", "function.o", "batch.o", "-lm", "-o", "loop"], folder)
    return "./loop"


def _pin_loop(
    name: str, folder: Path, *, pin: Pinocchio, state: Any, patience: Patience, section: Section
) -> dict[str, str]:
    """The C++ program that measures pin, if its headers and those of Eigen are there."""
    prefix = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix"
    places = (prefix / "include/eigen3", Path("/usr/include/eigen3"), *_given_eigen())
    eigen = next((place for place in places if place.is_dir()), None)
    if eigen is None or shutil.which("g++") is None or not (prefix / "include/pinocchio").is_dir():
        note = "pin in C++ needs g++ and Eigen's headers (libeigen3-dev, or EIGEN_INCLUDE)."
        section.notes += [note] if note not in section.notes else []
        return {}
    pin.model.saveToText(str(folder / "model.txt"))
    own = pin.convention.state(state)
    q = pin.convention.q(state.q, scalar_last=True)
    text = "#include <pinocchio/multibody.hpp>\n#include <pinocchio/serialization.hpp>\n"
    for part in ("rnea", "crba", "aba", "rnea-derivatives", "aba-derivatives"):
        text += f"#include <pinocchio/algorithm/{part}.hpp>\n"
    text += "#include <cstdio>\n#include <ctime>\n" + _loop(patience)
    third = own.tau if name.startswith("aba") else own.nu_dot
    for one, values in (("q0", q), ("v0", own.nu), ("a0", third)):
        text += _numbers(one, values)
    text += f"""int main()
{{
  pinocchio::Model model;
  pinocchio::serialization::loadFromText(model, "model.txt");
  pinocchio::Data data(model);
  const Eigen::VectorXd q = Eigen::Map<Eigen::VectorXd>(q0, model.nq);
  const Eigen::VectorXd v = Eigen::Map<Eigen::VectorXd>(v0, model.nv);
  const Eigen::VectorXd a = Eigen::Map<Eigen::VectorXd>(a0, model.nv);
  MEASURE({PIN_CALLS[name]});
}}
"""
    (folder / "pin_loop.cpp").write_text(text, "ascii")
    library = prefix / "lib"
    options = ["-std=c++17", *OPTIMIZED, "-DNDEBUG", f"-I{prefix / 'include'}", f"-I{eigen}"]
    options += [f"-D{define}" for define in PIN_DEFINES]
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lboost_serialization"]
    _run(["g++", *options, "pin_loop.cpp", *link, "-o", "pin_loop"], folder)
    return {"pin C++": "./pin_loop"}


def _given_eigen() -> tuple[Path, ...]:
    from os import environ

    return (Path(environ["EIGEN_INCLUDE"]),) if "EIGEN_INCLUDE" in environ else ()


def _casadi_loop(
    folder: Path,
    row: dict[str, Any],
    *,
    kd: lw.KinDyn,
    state: Any,
    patience: Patience,
    section: Section,
) -> dict[str, str]:
    """The program that measures the C that casadi generates from adam, if both are there."""
    try:
        from adam.casadi import KinDynComputations
    except ImportError:
        section.notes.append("casadi C needs adam-robotics, casadi and liecasadi.")
        return {}
    peer = KinDynComputations(str(TALOS.path), list(kd.joint_names))
    function = peer.mass_matrix_fun()
    function.generate("casadi_mass_matrix.c")
    shutil.move("casadi_mass_matrix.c", folder / "casadi_mass_matrix.c")
    start = time.perf_counter()
    _run(["gcc", *OPTIMIZED, "-c", "casadi_mass_matrix.c", "-o", "casadi.o"], folder)
    row["casadi seconds"] = time.perf_counter() - start
    row["casadi bytes"] = (folder / "casadi.o").stat().st_size
    pose = np.eye(4)
    name = function.name()
    text = "#define _POSIX_C_SOURCE 199309L\n#include <stdio.h>\n#include <time.h>\n"
    text += _loop(patience) + _numbers("pose", pose) + _numbers("s", state.q[7:])
    text += f"int {name}(const double **, double **, long long int *, double *, int);\n"
    text += f"static double out[{kd.nv * kd.nv}], w[{max(function.sz_w(), 1)}];\n"
    text += f"static long long int iw[{max(function.sz_iw(), 1)}];\n"
    text += "int main(void)\n{\n  const double *arg[64] = {pose, s};\n  double *res[64] = {out};\n"
    text += f"  MEASURE((void){name}(arg, res, iw, w, 0));\n  return 0;\n}}\n"
    (folder / "casadi_loop.c").write_text(text, "ascii")
    _run(["gcc", *OPTIMIZED, "casadi_loop.c", "casadi.o", "-lm", "-o", "casadi_loop"], folder)
    return {"casadi": "./casadi_loop"}


def _input_names(name: str) -> tuple[str, ...]:
    return tuple(one.name for one in QUANTITIES[QUANTITY[name]].inputs)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
