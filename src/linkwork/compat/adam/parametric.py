"""Robots whose link lengths and densities are inputs: `adam.parametric.numpy` and `.model`.

The classes for other frameworks are in their modules, such as `linkwork.compat.adam.jax`.

    length_multiplier   (k,)  factor of the length of each listed link; 1 is the file
    densities           (k,)  density of each listed link [kg/m^3]

A listed link is a homogeneous solid: the box, cylinder or sphere of its first visual. Its mass and
inertia are those of the solid, and the joints on it move with its far end, as described in
`linkwork.parameters.variation`. adam differs from this in two cases, see `AdamSolid`.
"""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam.kernels import WITH_GRAVITY
from linkwork.compat.adam.model import AdamModel, URDFModelFactory, unknown_name
from linkwork.compat.adam.numpy import QUANTITIES, KinDynComputations
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ShapeError, model_error
from linkwork.kindyn import KinDyn
from linkwork.model.geometry import Cylinder
from linkwork.model.inertia import from_parameters
from linkwork.model.model import Model
from linkwork.parameters import LinkDensity, LinkLength
from linkwork.parameters.variation import Solid, Variation, original_density, vary
from linkwork.spatial.blocks import Scalar, Sym

Method: TypeAlias = Callable[..., Any]
SHAPE = ("length_multiplier", "densities")


class AdamSolid(Solid):
    """The solid of a link as adam computes it.

    adam rotates the inertia of a cylinder with roll or pitch twice, and places joints at z >= 0 on
    a solid at z < 0 one length too low.
    """

    __slots__ = ()

    def moments(self, multiplier: Scalar, mass: Scalar) -> Sym:
        """Return the inertia tensor about the solid's center, in the axes of the solid."""
        xx, _, _, yy, _, zz = super().moments(multiplier, mass)
        roll, pitch, yaw = self.rpy
        if isinstance(self.geometry, Cylinder):
            if roll > 0.0 and pitch == 0.0 and yaw == 0.0:
                yy, zz = zz, xx
            elif pitch > 0.0:
                xx, zz = zz, yy
        return Sym(xx, 0.0, 0.0, yy, 0.0, zz)

    def joint_height(self, z: float, multiplier: Scalar) -> Scalar:
        """Return the position along z of a joint whose position on the link is z in the model."""
        if z >= 0.0 and self.xyz[2] < 0.0:
            z -= self.principal_length
            return z + super().joint_height(0.0, multiplier)
        return super().joint_height(z, multiplier)


@dataclass(frozen=True)
class AdamLinkLength(LinkLength):
    """The length of a link as adam computes it."""

    solid: ClassVar[type[Solid]] = AdamSolid


@dataclass(frozen=True)
class AdamLinkDensity(LinkDensity):
    """The density of a link as adam computes it."""

    solid: ClassVar[type[Solid]] = AdamSolid


def _checked_links(model: AdamModel, links_name_list: Sequence[str]) -> list[str]:
    """Return the names of the links whose lengths and densities are inputs."""
    if isinstance(links_name_list, str):
        message = f"expected a list of names, got the string {links_name_list!r}"
        raise model_error(f"links_name_list: {message}")
    for name in links_name_list:
        if name not in model.links:
            raise unknown_name("link", name, model.links)
    return list(links_name_list)


def _with_shape(name: str) -> Method:
    """Add lengths and densities as further arguments to a method of `KinDynComputations`."""
    method = getattr(KinDynComputations, name)
    parameters = inspect.signature(method).parameters.values()
    names = [*(p.name for p in parameters if p.default is p.empty), *SHAPE]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(key, kind) for key in names])

    def call(self: KinDynComputationsParametric, *args: Any, **named: Any) -> Any:
        values = list(args)
        if named or len(args) != len(names) - 1:
            _, *values = signature.bind(self, *args, **named).args
        frame = [values.pop(0)] if "frame" in names else []
        kernel = self.frame_kernel(name, *frame) if frame else self.robot_kernel(name)
        if QUANTITIES[name] in WITH_GRAVITY:
            values.insert(-len(SHAPE), self.g)
        return kernel(*values)

    call.__name__, call.__qualname__ = name, f"KinDynComputationsParametric.{name}"
    call.__doc__, call.__signature__ = method.__doc__, signature  # pyright: ignore[reportFunctionMemberAccess]
    return call


class KinDynComputationsParametric(KinDynComputations):
    """Kinematics and dynamics of a robot whose links have lengths and densities as inputs.

    Each method is that of `KinDynComputations` with `length_multiplier` and `densities` as last
    arguments. The classes for other frameworks derive from this one.

    Args:
        urdfstring: path or contents of a URDF.
        joints_name_list: the moving joints, in this order.
        links_name_list: the links whose lengths and densities are inputs.
        options: of the class without parameters, by keyword, such as `root_link`.
    """

    links_name_list: Sequence[str]

    def __init__(
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str],
        links_name_list: Sequence[str],
        **options: Any,
    ) -> None:
        self.links_name_list = links_name_list
        super().__init__(urdfstring, joints_name_list, **options)

    def _robot(self, dtype: Any) -> KinDyn:
        links = self.links_name_list = _checked_links(self._model, self.links_name_list)
        parameters = [*map(AdamLinkLength, links), *map(AdamLinkDensity, links)]
        return KinDyn(
            self._model.moving, self._model.root, floating=True, dtype=dtype, parameters=parameters
        )

    def get_original_densities(self) -> list[float]:
        """Return densities of the listed links in the file [kg/m^3]."""
        model = self._kd.model
        return [original_density(model.link(name)) for name in self.links_name_list]

    def get_total_mass(self, length_multiplier: Any, densities: Any) -> Any:
        """Return the mass of the robot [kg]."""
        kernel = self._kernels.get("mass")
        if kernel is None:
            kernel = self._kernels.setdefault("mass", self._wrap(self._mass_kernel()))
        return kernel(length_multiplier, densities)

    def _mass_kernel(self) -> Kernel:
        """Return the mass as a function of lengths and densities: an entry of the mass matrix."""
        kd, k = self._kd.replace(representation="body"), len(self.links_name_list)

        def mass(length_multiplier: Any, densities: Any) -> Any:
            parameters = np.concatenate([length_multiplier, densities])
            return kd.mass_matrix(kd.neutral(), parameters=parameters)[0, 0]

        return compile_function(dtype=kd.dtype, length_multiplier=k, densities=k)(mass)

    def link_poses(
        self, base_transform: Any, joint_positions: Any, length_multiplier: Any, densities: Any
    ) -> dict[str, Any]:
        """(..., 4, 4) poses of all links in the world, by name. Not in adam."""
        arguments: Any = base_transform, joint_positions, length_multiplier, densities
        names = self._model.tree.ordered_nodes_list
        return {name: self.forward_kinematics(name, *arguments) for name in names}


for _name in QUANTITIES:  # adam has no `CoM_jacobian` and `aba` of these classes
    setattr(KinDynComputationsParametric, _name, _with_shape(_name))


class URDFParametricModelFactory(URDFModelFactory):
    """A robot from a URDF with other lengths and densities of some links.

    Args:
        path: path or contents of a URDF.
        math: stored and not used: a model has plain floats.
        links_name_list: (k,) the links. Each becomes the homogeneous solid of its first visual.
        length_multiplier: (k,) factor of the length of each link; 1 is the file.
        densities: (k,) density of each link [kg/m^3].
    """

    def __init__(
        self,
        path: Any,
        math: Any,
        links_name_list: Sequence[str],
        length_multiplier: ArrayLike,
        densities: ArrayLike,
    ) -> None:
        super().__init__(path, math)
        self.links_name_list = _checked_links(self.robot, links_name_list)
        self.length_multiplier, self.densities = length_multiplier, densities
        variation = Variation(
            lengths=self._by_link("length_multiplier", length_multiplier),
            densities=self._by_link("densities", densities),
        )
        self.robot = replace(self.robot, source=_resized(self.robot.source, variation))

    def _by_link(self, name: str, values: ArrayLike) -> dict[str, Scalar]:
        array, count = np.asarray(values, dtype=float), len(self.links_name_list)
        if array.shape != (count,):
            message = f"{name}: expected ({count},), one element for each link"
            raise ShapeError(f"{message}, got {array.shape}")
        return dict(zip(self.links_name_list, array.tolist(), strict=True))


def _resized(model: Model, variation: Variation) -> Model:
    """Return a model with other lengths and densities: inertias and joints."""
    for name in variation.lengths:
        vary(model, name, variation, AdamSolid)
    inertias = {
        name: from_parameters(np.array([body.mass, *body.first_moment, *body.tensor]))
        for name, body in variation.inertias.items()
    }
    joints = [
        replace(joint, first_H_joint=replace(joint.first_H_joint, xyz=pose[1]))
        if (pose := variation.joint_poses.get(joint.name))
        else joint
        for joint in model.joints
    ]
    links = [replace(link, inertia=inertias.get(link.name, link.inertia)) for link in model.links]
    return replace(model, links=tuple(links), joints=tuple(joints))
