"""adam on NumPy, CasADi, JAX and PyTorch. It has no inverse dynamics with accelerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from conventions import Convention
from peers import Peer
from timing import Task
from urdf_text import plain, read

import linkwork as lw
from robots import GRAVITY, State

_METHODS = {
    "rnea": "bias_force",
    "crba": "mass_matrix",
    "aba": "aba",
    "pose": "forward_kinematics",
    "jacobian": "jacobian",
    "cmm": "centroidal_momentum_matrix",
}
_GRAVITY6 = np.array([*GRAVITY, 0.0, 0.0, 0.0])


class _Adam(Peer):
    package, has_acceleration = "adam-robotics", False
    kindyn: Any

    def __init__(self, kd: lw.KinDyn, source: str, frame: str) -> None:
        self.frame = frame
        self.convention = Convention(kd, "mixed", kd.joint_names)
        self.ways: dict[str, Callable[..., Any]] = {}
        self.kindyn = self.make(plain(read(source)), list(kd.joint_names))

    def make(self, source: str, joints: list[str]) -> Any:
        """Its KinDynComputations."""
        raise NotImplementedError

    def array(self, numbers: Any) -> Any:
        """A NumPy array as the framework has it."""
        return numbers

    def way(self, function: str) -> Callable[..., Any]:
        """A function of arrays of the framework that returns a NumPy array."""
        raise NotImplementedError

    def tasks(self, function: str, state: State) -> list[Task]:
        if function not in _METHODS:
            return []
        H, s = self.convention.pose(state.q), state.q[7:].copy()
        inputs = [H, s]
        if function in ("rnea", "aba"):
            inputs += [state.nu[:6].copy(), state.nu[6:].copy()]
        if function == "aba":
            inputs += [state.tau[6:].copy()]
        if function not in self.ways:
            self.ways[function] = self.way(function)
        return [Task(self.ways[function], tuple(self.array(numbers) for numbers in inputs))]

    def method(self, function: str) -> Callable[..., Any]:
        """Its method, with the frame as an argument."""
        method = getattr(self.kindyn, _METHODS[function])
        if function in ("pose", "jacobian"):
            frame = self.frame
            return lambda H, s: method(frame, H, s)
        return method


class AdamNumpy(_Adam):
    """adam on NumPy."""

    name = "adam numpy"

    def make(self, source: str, joints: list[str]) -> Any:
        from adam.numpy import KinDynComputations

        return KinDynComputations(source, joints, gravity=_GRAVITY6)

    def way(self, function: str) -> Callable[..., Any]:
        return self.method(function)


class AdamCasadi(_Adam):
    """adam's CasADi functions, evaluated by CasADi's virtual machine."""

    name = "adam casadi"

    def make(self, source: str, joints: list[str]) -> Any:
        from adam.casadi import KinDynComputations

        return KinDynComputations(source, joints, gravity=_GRAVITY6)

    def way(self, function: str) -> Callable[..., Any]:
        maker = getattr(self.kindyn, f"{_METHODS[function]}_fun")
        compiled = maker(self.frame) if function in ("pose", "jacobian") else maker()
        return lambda *inputs: compiled(*inputs).full()


class AdamJax(_Adam):
    """adam on JAX, jitted, in double precision."""

    name = "adam jax"

    def make(self, source: str, joints: list[str]) -> Any:
        import jax
        from adam.jax import KinDynComputations

        jax.config.update("jax_enable_x64", True)
        return KinDynComputations(source, joints, gravity=jax.numpy.asarray(_GRAVITY6))

    def array(self, numbers: Any) -> Any:
        import jax

        return jax.numpy.asarray(numbers)

    most_coordinates = 12  # of a robot; larger ones take minutes to compile

    def tasks(self, function: str, state: State) -> list[Task]:
        """Its forward dynamics is left out: compiling it takes minutes for any robot."""
        if function == "aba" or len(state.nu) > self.most_coordinates:
            return []
        return super().tasks(function, state)

    def way(self, function: str) -> Callable[..., Any]:
        import jax

        compiled = jax.jit(self.method(function))
        return lambda *inputs: np.asarray(compiled(*inputs))


class AdamTorch(_Adam):
    """adam on PyTorch, in double precision on the CPU."""

    name = "adam torch"

    def make(self, source: str, joints: list[str]) -> Any:
        import torch
        from adam.pytorch import KinDynComputations

        torch.set_num_threads(1)
        options = {"device": torch.device("cpu"), "dtype": torch.float64}
        return KinDynComputations(source, joints, gravity=torch.tensor(_GRAVITY6), **options)

    def array(self, numbers: Any) -> Any:
        import torch

        return torch.tensor(numbers)

    def way(self, function: str) -> Callable[..., Any]:
        method = self.method(function)
        return lambda *inputs: method(*inputs).numpy()
