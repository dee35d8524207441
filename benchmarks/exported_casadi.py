"""The C that CasADi generates from adam's functions, in a C loop."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from exported_pin import compiled, numbers, run
from urdf_text import plain, read

import linkwork as lw
from robots import GRAVITY, TALOS

# More in one C function are compiled with -O1: gcc -O2 had not compiled 286,188 of them after 15
# minutes on a machine that was shared with others, -O1 takes half a minute.
MOST_OPERATIONS = 100_000


class Casadi:
    """Programs that measure generated C, each with what it cost to compile."""

    def __init__(self, kd: lw.KinDyn, state: Any) -> None:
        """Load the robot; raises ImportError if a package is missing."""
        import casadi
        from adam.casadi import KinDynComputations

        joints = list(kd.joint_names)
        gravity = np.array([*GRAVITY, 0.0, 0.0, 0.0])
        self._casadi, self._state = casadi, state
        self._peer = KinDynComputations(plain(read(str(TALOS.path))), joints, gravity=gravity)
        n = len(joints)
        sizes = {"H": (4, 4), "s": (n,), "nu": (n + 6,), "nu_dot": (n + 6,), "tau": (n,)}
        self._symbols = {name: casadi.SX.sym(name, *shape) for name, shape in sizes.items()}

    def program(self, name: str, folder: Path, row: dict[str, Any], loop: str, calls: int) -> str:
        """The program that measures a function.

        Args:
            name: such as "rnea derivatives".
            folder: where to put it.
            row: gets the operations, the size of the object and the seconds that it took.
            loop: C text of the macro MEASURE.
            calls: how many are in a burst.
        """
        function, inputs = self._function(name)
        row["casadi operations"] = function.n_instructions()
        level = "-O2" if row["casadi operations"] <= MOST_OPERATIONS else "-O1"
        file = f"casadi_{function.name()}.c"
        function.generate(file)
        shutil.move(file, folder / file)
        command = ["gcc", level, "-march=native", "-c", file, "-o", "casadi.o"]
        row["casadi seconds"] = compiled(command, folder)
        row["casadi bytes"] = (folder / "casadi.o").stat().st_size
        text = "#define _POSIX_C_SOURCE 199309L\n#include <stdio.h>\n#include <time.h>\n" + loop
        text += "".join(numbers(f"x{k}", self._given(one)) for k, one in enumerate(inputs))
        own = function.name()
        text += f"int {own}(const double **, double **, long long int *, double *, int);\n"
        sizes = [function.nnz_out(k) for k in range(function.n_out())]
        text += "".join(f"static double o{k}[{size}];\n" for k, size in enumerate(sizes))
        text += f"static double w[{max(function.sz_w(), 1)}];\n"
        text += f"static long long int iw[{max(function.sz_iw(), 1)}];\n"
        values = ", ".join(f"x{k}" for k, _ in enumerate(inputs))
        results = ", ".join(f"o{k}" for k, _ in enumerate(sizes))
        text += "int main(void)\n{\n"
        text += f"  const double *arg[64] = {{{values}}};\n  double *res[64] = {{{results}}};\n"
        text += f"  MEASURE((void){own}(arg, res, iw, w, 0), {calls});\n  return 0;\n}}\n"
        (folder / "casadi_loop.c").write_text(text, "ascii")
        command = ["gcc", "-O2", "-march=native", "casadi_loop.c", "casadi.o"]
        run([*command, "-lm", "-o", "casadi_loop"], folder)
        return "./casadi_loop"

    def _function(self, name: str) -> tuple[Any, tuple[str, ...]]:
        """A function of CasADi, and the names of its inputs.

        adam has no inverse dynamics with accelerations: it is M nu_dot + h here. Derivatives are
        CasADi's Jacobians by joint positions, velocities, and accelerations or torques.
        """
        of, jacobian = self._symbols, self._casadi.jacobian
        parts: dict[str, Callable[[], list[Any]]] = {
            "rnea": lambda: [self._rnea()],
            "crba": lambda: [self._peer.mass_matrix_fun()(of["H"], of["s"])],
            "aba": lambda: [self._aba()],
            "rnea derivatives": lambda: [jacobian(self._rnea(), of[x]) for x in ("s", "nu")],
            "aba derivatives": lambda: [jacobian(self._aba(), of[x]) for x in ("s", "nu", "tau")],
        }
        last = {"rnea": ("nu", "nu_dot"), "crba": (), "aba": ("nu", "tau")}
        inputs = ("H", "s", *last[name.removesuffix(" derivatives")])
        results = parts[name]()
        if name == "rnea derivatives":
            results.append(self._peer.mass_matrix_fun()(of["H"], of["s"]))
        symbols = [of[one] for one in inputs]
        return self._casadi.Function(name.replace(" ", "_"), symbols, results), inputs

    def _rnea(self) -> Any:
        H, s, nu, nu_dot = (self._symbols[name] for name in ("H", "s", "nu", "nu_dot"))
        M = self._peer.mass_matrix_fun()(H, s)
        return M @ nu_dot + self._peer.bias_force_fun()(H, s, nu[:6], nu[6:])

    def _aba(self) -> Any:
        H, s, nu, tau = (self._symbols[name] for name in ("H", "s", "nu", "tau"))
        return self._peer.aba_fun()(H, s, nu[:6], nu[6:], tau)

    def _given(self, name: str) -> Any:
        state = self._state
        if name == "H":
            return np.eye(4)
        return {"s": state.q[7:], "tau": state.tau[6:]}.get(name, getattr(state, name, None))
