"""Pinocchio in a C++ loop: its headers come with its wheel, Eigen's with CasADi's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
from peers import Pinocchio

WITHOUT_PIN = (
    "pin, C++ is left out: it needs g++ and Eigen's headers (those of the casadi wheel, of "
    "libeigen3-dev, or a folder that EIGEN_INCLUDE names)."
)
DEFINES = (  # those of its CMake target
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
# By function: the calls, of which the fastest counts, and the results that they leave in the data.
CALLS = {
    "rnea": (("rnea(model, data, q, v, a)",), "tau"),
    "crba": (
        (
            "crba(model, data, q, pinocchio::Convention::LOCAL)",
            "crba(model, data, q, pinocchio::Convention::WORLD)",
        ),
        "M",
    ),
    "aba": (
        (
            "aba(model, data, q, v, tau, pinocchio::Convention::LOCAL)",
            "aba(model, data, q, v, tau, pinocchio::Convention::WORLD)",
        ),
        "ddq",
    ),
    "rnea derivatives": (("computeRNEADerivatives(model, data, q, v, a)",), "dtau_dq"),
    "aba derivatives": (("computeABADerivatives(model, data, q, v, tau)",), "ddq_dq"),
}
OPTIONS = ("-std=c++17", "-O2", "-march=native", "-DNDEBUG", *(f"-D{one}" for one in DEFINES))
KEPT = Path(__file__).parent / "build"  # compiling takes minutes and 5 GB of memory, so it is kept


def pin_loop(pin: Pinocchio, state: Any, *, loop: str, calls: int) -> str:
    """Compile the program that measures pin, and return its path; "" if something is missing.

    It takes the name of a function and prints the time of each of its ways.

    Args:
        pin: the robot.
        state: in linkwork's conventions.
        loop: C text of the macro MEASURE.
        calls: how many are in a burst.
    """
    wheels = Path(sysconfig.get_paths()["purelib"])
    prefix = wheels / "cmeel.prefix"
    chosen = (Path(os.environ["EIGEN_INCLUDE"]),) if "EIGEN_INCLUDE" in os.environ else ()
    of_casadi, system = wheels / "casadi/include/eigen3", Path("/usr/include/eigen3")
    folders = (*chosen, prefix / "include/eigen3", system, of_casadi)
    eigen = next((folder for folder in folders if folder.is_dir()), None)
    if eigen is None or shutil.which("g++") is None or not (prefix / "include/pinocchio").is_dir():
        return ""
    own, q = pin.convention.state(state), pin.convention.q(state.q, scalar_last=True)
    vectors = {"q": q, "v": own.nu, "a": own.nu_dot, "tau": own.tau}
    command = ["g++", *OPTIONS, f"-I{prefix / 'include'}", f"-I{eigen}", "pin_loop.cpp"]
    text = _program(pin.model, vectors, loop, calls)
    key = hashlib.sha256(repr((text, command, pin.pin.__version__)).encode()).hexdigest()[:16]
    program = KEPT / f"pin_loop_{key}"
    if not program.exists():
        KEPT.mkdir(exist_ok=True)
        (KEPT / "pin_loop.cpp").write_text(text, "ascii")
        run([*command, "-o", program.name], KEPT)
    _check(str(program), KEPT, pin, vectors)
    return str(program)


def _program(model: Any, vectors: dict[str, Any], loop: str, calls: int) -> str:
    """The text of the program."""
    text = "#include <pinocchio/multibody.hpp>\n"
    for part in ("rnea", "crba", "aba", "rnea-derivatives", "aba-derivatives"):
        text += f"#include <pinocchio/algorithm/{part}.hpp>\n"
    text += "#include <cstdio>\n#include <cstring>\n#include <ctime>\n" + loop
    text += "".join(numbers(f"{name}0", values) for name, values in vectors.items())
    text += _model(model)
    text += "int main(int, char **argv)\n{\n  const auto model = build_model();\n"
    text += "  pinocchio::Data data(model);\n"
    for name, values in vectors.items():
        text += f"  const Eigen::VectorXd {name} = Eigen::Map<Eigen::VectorXd>({name}0, "
        text += f"{len(values)});\n"
    for name, (ways, result) in CALLS.items():
        text += f'  if (!std::strcmp(argv[1], "{name}")) {{\n'
        for way in ways:
            text += f"    MEASURE(pinocchio::{way}, {calls});\n"
            text += f'    if (argv[2]) std::printf("%.17g\\n", data.{result}.norm());\n'
        text += "  }\n"
    return text + "}\n"


def _model(model: Any) -> str:
    """A function that builds the same robot."""
    text = "static pinocchio::Model build_model()\n{\n  pinocchio::Model model;\n"
    text += "  Eigen::Matrix3d R, I;\n  Eigen::Vector3d p, c;\n"
    text += f"  model.gravity.linear() << {_listed(model.gravity.linear)};\n"
    for k in range(1, model.njoints):
        placement, inertia = model.jointPlacements[k], model.inertias[k]
        kind = model.joints[k].shortname()
        assert kind != "JointModelRevoluteUnaligned", "has an axis of its own"
        text += f"  R << {_listed(placement.rotation)};\n  p << {_listed(placement.translation)};\n"
        text += f"  I << {_listed(inertia.inertia)};\n  c << {_listed(inertia.lever)};\n"
        text += f"  model.addJoint({model.parents[k]}, pinocchio::{kind}(), "
        text += f'pinocchio::SE3(R, p), "j{k}");\n'
        text += f"  model.appendBodyToJoint({k}, pinocchio::Inertia({inertia.mass!r}, c, I), "
        text += "pinocchio::SE3::Identity());\n"
    return text + "  return model;\n}\n"


def _check(program: str, folder: Path, pin: Pinocchio, inputs: dict[str, Any]) -> None:
    """The program computes what pin computes in Python, in each of the ways."""
    q, v, a, tau = inputs.values()
    own, model, data = pin.pin, pin.model, pin.data
    norm = np.linalg.norm  # taken at once: results are views of the data, which calls change
    wanted = {
        "rnea": norm(own.rnea(model, data, q, v, a)),
        "crba": norm(_as_filled(own.crba(model, data, q))),
        "aba": norm(own.aba(model, data, q, v, tau)),
        "rnea derivatives": norm(own.computeRNEADerivatives(model, data, q, v, a)[0]),
        "aba derivatives": norm(own.computeABADerivatives(model, data, q, v, tau)[0]),
    }
    for name, number in wanted.items():
        for text in run([program, name, "check"], folder).split()[1::2]:
            assert abs(float(text) - number) < 1e-9 * number, (name, text, number)


def _as_filled(M: Any) -> Any:
    """What crba fills of the mass matrix: above the diagonal, and the square of the base."""
    filled = np.triu(M)
    filled[:6, :6] = M[:6, :6]
    return filled


def numbers(name: str, values: Any) -> str:
    """An array in C."""
    return f"static double {name}[] = {{{_listed(values)}}};\n"


def _listed(values: Any) -> str:
    return ", ".join(f"{x!r}" for x in np.ravel(values).tolist())


def run(command: list[str], folder: Path) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def compiled(command: list[str], folder: Path) -> float:
    """Run a compiler: the seconds of processor time it takes, which others do not disturb."""
    before = os.times()
    run(command, folder)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system
