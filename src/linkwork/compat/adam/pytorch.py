"""The class of `adam.pytorch`: methods for tensors, with gradients, one state or batches."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam import parametric
from linkwork.compat.adam.core import SpatialMath as SpatialMath  # noqa: PLC0414 - of adam's module
from linkwork.compat.adam.numpy import STANDARD_GRAVITY, ConvertedFunction, DifferentiableKinDyn
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError, missing_package, shown

try:
    import torch

    from linkwork.bridges.torch.functions import wrap
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise missing_package("linkwork.compat.adam.pytorch", "torch") from error


class KinDynComputations(DifferentiableKinDyn):
    """Kinematics and dynamics of a robot with a floating base, for PyTorch.

    Args:
        urdfstring: path or contents of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the moving joints, in this order; by default all movable joints. Other
            joints are locked at 0.
        device: of arguments, which are moved to it, and of results; by default the device of the
            tensors among the arguments.
        dtype: torch.float32, as in adam, or torch.float64. All arguments are converted to this
            type, and results have it.
        root_link: the link whose pose and velocity are those of the base; by default the link that
            is the child of no joint.
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
            message = "expected torch.float32 or torch.float64"
            raise ArgumentError(f"dtype: {message}, got {shown(dtype)}")
        self.dtype = dtype
        self._device = None if device is None else torch.device(device)
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    @property
    def device(self) -> torch.device:
        """The device of constants."""
        return torch.device("cpu") if self._device is None else self._device

    def _constant(self, value: Any) -> Any:
        return torch.as_tensor(value, dtype=self.dtype, device=self.device)

    def _wrap(self, kernel: Kernel) -> Any:
        return ConvertedFunction(wrap(kernel), self._convert)

    def _convert(self, arguments: Sequence[Any]) -> list[Any]:
        """Convert arguments to tensors of the class's type, on its device or that of tensors."""
        device = self._device
        if device is None:
            device = next((x.device for x in arguments if isinstance(x, torch.Tensor)), None)
        return [self._tensor(x, device) for x in arguments]

    def _tensor(self, value: Any, device: torch.device | None) -> Any:
        if not isinstance(value, torch.Tensor):
            value = np.asarray(value)
        if value.dtype.kind in "cOUS" if isinstance(value, np.ndarray) else value.is_complex():
            return value  # the function raises
        return torch.as_tensor(value, dtype=self.dtype, device=device)

    def get_total_mass(self) -> Any:
        """Return the mass of the robot [kg]."""
        return self._constant(super().get_total_mass())


KinDynComputationsBatch = KinDynComputations


class KinDynComputationsParametric(parametric.KinDynComputationsParametric, KinDynComputations):
    """A robot with lengths and densities as inputs: the class of `adam.parametric.pytorch`.

    As in adam, the default type is torch.float64 here.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"dtype": torch.float64, **options})
