"""What the parametric classes of all backends share: methods with lengths and densities.

    length_multiplier   (k,)  factor of the length of each listed link; 1 is the file
    densities           (k,)  [kg/m^3] of each of them

A listed link is a homogeneous solid, the box, cylinder or sphere that is its first visual. Its mass
and inertia are those of the solid, and the joints on it move with its far end.
"""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compat.adam.kindyn import KinDynComputations
from linkwork.compat.adam.model.model import unknown_name
from linkwork.errors import model_error
from linkwork.kernel.compile import compile_function
from linkwork.kernel.kernel import Kernel
from linkwork.kindyn import KinDyn
from linkwork.parameters import LinkDensity, LinkLength
from linkwork.parameters.shapes import original_density


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

    def _of_kernel(self, kernel: Kernel) -> Any:
        """A kernel as a function of the backend's arrays."""
        return kernel

    def mass_matrix(
        self, base_transform: Any, s: Any, length_multiplier: Any, densities: Any
    ) -> Any:
        """(..., 6 + n, 6 + n) mass matrix."""
        return self.robot_kernel("mass_matrix")(base_transform, s, length_multiplier, densities)

    def centroidal_momentum_matrix(
        self, base_transform: Any, s: Any, length_multiplier: Any, densities: Any
    ) -> Any:
        """(..., 6, 6 + n) centroidal momentum matrix."""
        kernel = self.robot_kernel("centroidal_momentum_matrix")
        return kernel(base_transform, s, length_multiplier, densities)

    def CoM_position(
        self, base_transform: Any, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> Any:
        """(..., 3) centre of mass in the world."""
        kernel = self.robot_kernel("com")
        return kernel(base_transform, joint_positions, length_multiplier, densities)

    def CoM_jacobian(
        self, base_transform: Any, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> Any:
        """(..., 3, 6 + n) Jacobian of the centre of mass; not in adam."""
        kernel = self.robot_kernel("com_jacobian")
        return kernel(base_transform, joint_positions, length_multiplier, densities)

    def forward_kinematics(
        self,
        frame: str,
        base_transform: Any,
        joint_positions: Any,
        length_multiplier: Any,
        densities: Any,
    ) -> Any:
        """(..., 4, 4) pose of a link or frame in the world."""
        kernel = self.frame_kernel("transform", frame)
        return kernel(base_transform, joint_positions, length_multiplier, densities)

    def jacobian(
        self,
        frame: str,
        base_transform: Any,
        joint_positions: Any,
        length_multiplier: Any,
        densities: Any,
    ) -> Any:
        """(..., 6, 6 + n) Jacobian of a link or frame."""
        kernel = self.frame_kernel("jacobian", frame)
        return kernel(base_transform, joint_positions, length_multiplier, densities)

    def relative_jacobian(
        self, frame: str, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> Any:
        """(..., 6, n) Jacobian of a link or frame relative to the root link."""
        kernel = self.frame_kernel("relative_jacobian", frame)
        return kernel(joint_positions, length_multiplier, densities)

    def jacobian_dot(  # noqa: PLR0917
        self,
        frame: str,
        base_transform: Any,
        joint_positions: Any,
        base_velocity: Any,
        joint_velocities: Any,
        length_multiplier: Any,
        densities: Any,
    ) -> Any:
        """(..., 6, 6 + n) time derivative of the Jacobian of a link or frame."""
        moving = base_transform, joint_positions, base_velocity, joint_velocities
        return self.frame_kernel("jacobian_dot", frame)(*moving, length_multiplier, densities)

    def bias_force(  # noqa: PLR0917
        self,
        base_transform: Any,
        joint_positions: Any,
        base_velocity: Any,
        joint_velocities: Any,
        length_multiplier: Any,
        densities: Any,
    ) -> Any:
        """(..., 6 + n) bias forces."""
        moving = base_transform, joint_positions, base_velocity, joint_velocities
        return self.robot_kernel("bias_force")(*moving, self._g, length_multiplier, densities)

    def coriolis_term(  # noqa: PLR0917
        self,
        base_transform: Any,
        joint_positions: Any,
        base_velocity: Any,
        joint_velocities: Any,
        length_multiplier: Any,
        densities: Any,
    ) -> Any:
        """(..., 6 + n) Coriolis forces."""
        moving = base_transform, joint_positions, base_velocity, joint_velocities
        return self.robot_kernel("coriolis_force")(*moving, length_multiplier, densities)

    def gravity_term(
        self, base_transform: Any, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> Any:
        """(..., 6 + n) forces that gravity asks for at rest."""
        kernel = self.robot_kernel("gravity_force")
        return kernel(base_transform, joint_positions, self._g, length_multiplier, densities)

    def aba(  # noqa: PLR0917
        self,
        base_transform: Any,
        joint_positions: Any,
        base_velocity: Any,
        joint_velocities: Any,
        joint_torques: Any,
        length_multiplier: Any,
        densities: Any,
    ) -> Any:
        """(..., 6 + n) accelerations; not in adam."""
        moving = base_transform, joint_positions, base_velocity, joint_velocities
        kernel = self.robot_kernel("forward_dynamics")
        return kernel(*moving, joint_torques, self._g, length_multiplier, densities)

    def link_poses(
        self, base_transform: Any, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> dict[str, Any]:
        """(..., 4, 4) poses of all links in the world, by name; not in adam."""
        given = base_transform, joint_positions, length_multiplier, densities
        names = self._model.tree.ordered_nodes_list
        return {name: self.forward_kinematics(name, *given) for name in names}
