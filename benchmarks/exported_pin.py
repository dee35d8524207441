"""Pinocchio in a C++ loop: its headers come with the wheel, Eigen's from the system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
from peers import Pinocchio

WITHOUT_PIN = (
    "pin, C++ is left out: it needs g++ and Eigen's headers (libeigen3-dev, or EIGEN_INCLUDE)."
)
DEFINES = (  # those of its CMake target
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)
# By function: the call, and the result that is compared with that of pin's Python functions.
CALLS = {
    "rnea": ("rnea(model, data, q, v, a)", "tau"),
    "crba": ("crba(model, data, q)", "M"),
    "aba": ("aba(model, data, q, v, tau)", "ddq"),
    "rnea derivatives": ("computeRNEADerivatives(model, data, q, v, a)", "dtau_dq"),
    "aba derivatives": ("computeABADerivatives(model, data, q, v, tau)", "ddq_dq"),
}


def pin_loop(folder: Path, pin: Pinocchio, state: Any, *, loop: str, calls: int) -> bool:
    """Compile the program that measures pin; False if something is missing.

    Args:
        folder: where to put `pin_loop`, which takes the name of a function and prints its time.
        pin: the robot.
        state: in linkwork's conventions.
        loop: C text of the macro MEASURE.
        calls: how many are in a burst.
    """
    prefix = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix"
    given = (Path(os.environ["EIGEN_INCLUDE"]),) if "EIGEN_INCLUDE" in os.environ else ()
    places = (*given, prefix / "include/eigen3", Path("/usr/include/eigen3"))
    eigen = next((place for place in places if place.is_dir()), None)
    if eigen is None or shutil.which("g++") is None or not (prefix / "include/pinocchio").is_dir():
        return False
    own, q = pin.convention.state(state), pin.convention.q(state.q, scalar_last=True)
    text = "#include <pinocchio/multibody.hpp>\n"
    for part in ("rnea", "crba", "aba", "rnea-derivatives", "aba-derivatives"):
        text += f"#include <pinocchio/algorithm/{part}.hpp>\n"
    text += "#include <cstdio>\n#include <cstring>\n#include <ctime>\n" + loop
    vectors = {"q": q, "v": own.nu, "a": own.nu_dot, "tau": own.tau}
    text += "".join(numbers(f"{name}0", values) for name, values in vectors.items())
    text += _model(pin.model)
    text += "int main(int, char **argv)\n{\n  const auto model = made();\n"
    text += "  pinocchio::Data data(model);\n"
    for name, values in vectors.items():
        text += f"  const Eigen::VectorXd {name} = Eigen::Map<Eigen::VectorXd>({name}0, "
        text += f"{len(values)});\n"
    for name, (call, result) in CALLS.items():
        text += f'  if (!std::strcmp(argv[1], "{name}")) {{ MEASURE(pinocchio::{call}, {calls}); '
        text += f'if (argv[2]) std::printf("%.17g\\n", data.{result}.norm()); }}\n'
    (folder / "pin_loop.cpp").write_text(text + "}\n", "ascii")
    options = ["-std=c++17", "-O2", "-march=native", "-DNDEBUG"]
    options += [f"-D{define}" for define in DEFINES]
    options += [f"-I{prefix / 'include'}", f"-I{eigen}"]
    run(["g++", *options, "pin_loop.cpp", "-o", "pin_loop"], folder)
    _check(folder, pin, vectors)
    return True


def _model(model: Any) -> str:
    """A function that makes the same robot."""
    text = "static pinocchio::Model made()\n{\n  pinocchio::Model model;\n"
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


def _check(folder: Path, pin: Pinocchio, given: dict[str, Any]) -> None:
    """The program computes what pin computes in Python."""
    q, v, a, tau = given.values()
    own, model, data = pin.pin, pin.model, pin.data
    wanted = {
        "rnea": np.linalg.norm(own.rnea(model, data, q, v, a)),
        "aba": np.linalg.norm(own.aba(model, data, q, v, tau)),
    }
    for name, number in wanted.items():
        found = float(run([str(folder / "pin_loop"), name, "check"], folder).split()[1])
        assert abs(found - number) < 1e-9 * number, (name, found, number)


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
