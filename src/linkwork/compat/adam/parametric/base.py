"""What the parametric classes of all backends share: methods with lengths and densities.

    length_multiplier   (k,)  factor of the length of each listed link; 1 is the file
    densities           (k,)  [kg/m^3] of each of them

A listed link is a homogeneous solid, the box, cylinder or sphere that is its first visual. Its mass
and inertia are those of the solid, and the joints on it move with its far end.

Each method is the one of `KinDynComputations` with these two arguments at the end.
"""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from linkwork.compat.adam.kernels import WITH_GRAVITY
from linkwork.compat.adam.kindyn import REQUESTS, KinDynComputations
from linkwork.compat.adam.model.model import unknown_name
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import model_error
from linkwork.kindyn import KinDyn
from linkwork.parameters import LinkDensity, LinkLength
from linkwork.parameters.shapes import original_density

Method: TypeAlias = Callable[..., Any]
SHAPE = ("length_multiplier", "densities")


def with_shape(name: str, **renamed: str) -> Method:
    """A method of `KinDynComputations` with lengths and densities as further arguments.

    Args:
        name: the method.
        renamed: arguments that adam calls otherwise in this class.
    """
    method = getattr(KinDynComputations, name)
    known = list(inspect.signature(method).parameters.values())
    kept = [p.replace(name=renamed.get(p.name, p.name)) for p in known if p.default is p.empty]
    shape = [inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD) for key in SHAPE]
    signature = inspect.Signature([p.replace(annotation=p.empty) for p in (*kept, *shape)])
    count = len(signature.parameters) - 1
    of_frame, with_gravity = "frame" in signature.parameters, REQUESTS[name] in WITH_GRAVITY

    def call(self: Parametric, *args: Any, **named: Any) -> Any:
        values = list(args)
        if named or len(args) != count:
            _, *values = signature.bind(self, *args, **named).args
        kernel = self.frame_kernel(name, values.pop(0)) if of_frame else self.robot_kernel(name)
        if with_gravity:
            values.insert(-len(SHAPE), self.g)
        return kernel(*values)

    call.__name__ = name
    call.__qualname__ = f"KinDynComputationsParametric.{name}"
    summary, _, result = (inspect.getdoc(method) or "").partition("Returns:\n")
    call.__doc__ = f"{summary.partition(chr(10))[0]}\n\nReturns:\n{result}"
    call.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return call


class Parametric(KinDynComputations):
    """Methods of adam's classes, each with two more arguments at the end."""

    links_name_list: list[str]

    def _list_links(self, links_name_list: Sequence[str]) -> None:
        if isinstance(links_name_list, str):
            text = f"expected names, got the text {links_name_list!r}"
            raise model_error(f"links_name_list: {text}")
        self.links_name_list = list(links_name_list)

    def _robot(self, dtype: Any) -> KinDyn:
        for name in self.links_name_list:
            if name not in self._model.links:
                raise unknown_name("link", name, self._model.links)
        lengths = [LinkLength(name, as_adam=True) for name in self.links_name_list]
        densities = [LinkDensity(name, as_adam=True) for name in self.links_name_list]
        model, root = self._model.moving, self._model.root
        return KinDyn(model, root, dtype=dtype, parameters=[*lengths, *densities])

    def get_original_densities(self) -> list[float]:
        """Densities of the listed links in the file [kg/m^3]."""
        model = self._kd.model
        return [original_density(model.link(name)) for name in self.links_name_list]

    def get_total_mass(self, length_multiplier: Any, densities: Any) -> Any:
        """Mass of the robot [kg]."""
        kernel = self._kernels.get("mass")
        if kernel is None:
            kernel = self._kernels.setdefault("mass", self._of_kernel(self._mass_kernel()))
        return kernel(length_multiplier, densities)

    def _mass_kernel(self) -> Kernel:
        """The mass as a function of lengths and densities: it resists pushes at the base."""
        kd, k = self._kd.replace(representation="body"), len(self.links_name_list)

        def mass(length_multiplier: Any, densities: Any) -> Any:
            numbers = np.concatenate([length_multiplier, densities])
            return kd.mass_matrix(kd.neutral(), parameters=numbers)[0, 0]

        return compile_function(dtype=kd.dtype, length_multiplier=k, densities=k)(mass)

    forward_kinematics: Method = with_shape("forward_kinematics")
    jacobian: Method = with_shape("jacobian")
    relative_jacobian: Method = with_shape("relative_jacobian")
    jacobian_dot: Method = with_shape("jacobian_dot")
    CoM_position: Method = with_shape("CoM_position")
    CoM_jacobian: Method = with_shape("CoM_jacobian")  # not in adam
    mass_matrix: Method = with_shape("mass_matrix")
    centroidal_momentum_matrix: Method = with_shape("centroidal_momentum_matrix")
    bias_force: Method = with_shape("bias_force")
    coriolis_term: Method = with_shape("coriolis_term")
    gravity_term: Method = with_shape("gravity_term")
    aba: Method = with_shape("aba")  # not in adam

    def link_poses(
        self, base_transform: Any, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> dict[str, Any]:
        """(..., 4, 4) poses of all links in the world, by name; not in adam."""
        arguments = base_transform, joint_positions, length_multiplier, densities
        names = self._model.tree.ordered_nodes_list
        return {name: self.forward_kinematics(name, *arguments) for name in names}
