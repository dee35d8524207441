"""The class of `adam.pytorch`: methods for tensors, with gradients, one state or batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.bridges.torch import wrap
from linkwork.compat.adam.differentiable import SmoothFunction
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.kindyn import KinDynComputations as NumpyKinDynComputations
from linkwork.errors import ArgumentError, shown


class KinDynComputations(NumpyKinDynComputations):
    """Kinematics and dynamics of a robot with a floating base, for PyTorch.

    Args:
        urdfstring: path or text of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the joints that move, in their order; all that can if not given. Others
            are locked at 0.
        device: where constants are; results are where the arguments are.
        dtype: torch.float32, as in adam, or torch.float64. Arguments that are no tensors get this
            type; results have that of the tensors.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
    """

    def __init__(  # noqa: PLR0917 - adam's arguments
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str] | None = None,
        device: Any = None,
        dtype: torch.dtype = torch.float32,
        root_link: str | None = None,
        gravity: ArrayLike | torch.Tensor = STANDARD_GRAVITY,
    ) -> None:
        if dtype not in (torch.float32, torch.float64):
            text = "expected torch.float32 or torch.float64"
            raise ArgumentError(f"dtype: {text}, got {shown(dtype)}")
        self.dtype = dtype
        self.device = torch.device("cpu" if device is None else device)
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    @property
    def g(self) -> Any:
        """(6,) acceleration of free fall in the world [m/s^2], and three zeros; may be changed."""
        return torch.as_tensor(self._g, dtype=self.dtype, device=self.device)

    @g.setter
    def g(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().numpy()
        NumpyKinDynComputations.g.fset(self, value)  # pyright: ignore[reportOptionalCall]

    def _function_of(self, request: Any, wrenches: tuple[str, ...]) -> Any:
        function = wrap(SmoothFunction(self._kd, request, wrenches).kernel)
        return Converted(function, self.dtype, self.device)

    def get_total_mass(self) -> Any:
        """Mass of the robot [kg]."""
        return torch.as_tensor(super().get_total_mass(), dtype=self.dtype, device=self.device)


class Converted:
    """A function of tensors that takes anything else as a constant of one type."""

    def __init__(self, function: Any, dtype: torch.dtype, device: torch.device) -> None:
        self._function, self._dtype, self._device = function, dtype, device

    def __call__(self, *given: Any) -> Any:
        """The result for tensors and numbers; constants take the type of the tensors."""
        tensors = [value for value in given if isinstance(value, torch.Tensor)]
        dtype = tensors[0].dtype if tensors else self._dtype
        device = tensors[0].device if tensors else self._device
        return self._function(*[_tensor(value, dtype, device) for value in given])

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        self._function.warmup()


def _tensor(value: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    array: Array = np.asarray(value)
    return torch.as_tensor(array, dtype=dtype, device=device)
