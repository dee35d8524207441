"""`Model`: a robot whose state is x = [q; v]: its sizes, names, orders and compiled functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from inspect import isfunction, signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.compat.pinnzoo.orders import (
    ConversionIndices,
    StateOrder,
    generate_conversions,
    standard_orders,
)
from linkwork.compat.pinnzoo.zoo import ZOO, find_robot
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError
from linkwork.export.pinnzoo.state_space import (
    Orientation,
    StateSpace,
    actuated_names,
    check_joints,
    in_state_order,
)
from linkwork.kindyn import KinDyn
from linkwork.model.model import Model as RobotModel

if TYPE_CHECKING:
    from linkwork.export.check import Report

GRAVITY = (0.0, 0.0, -9.81)  # acceleration of free fall in Pinocchio and PinnZoo [m/s^2]


class Model:
    """A robot whose state is x = [q; v], with PinnZoo's functions as methods.

    Args:
        urdf_or_name: a name of the zoo such as "go1", path or contents of a URDF or MJCF file, or a
            `linkwork.Model`. Joints that mimic others are free, as in PinnZoo; in a
            `linkwork.Model` they are unchanged.
        kinematics_bodies: links and frames whose kinematics are computed. If not given: those of
            PinnZoo for a robot of the zoo, else none.
        orientation: "none", "quaternion" or "axis_angle": whether an orientation follows each
            position in `kinematics`, and its representation.
        floating: whether the base moves freely; if not given, as in the zoo, and False for others.
        actuated: names of the actuated velocities; if not given, all joints.
        gravity: (3,) acceleration of free fall in the world [m/s^2].

    Raises:
        ModelError: a joint has several coordinates.
        NameNotFoundError: there is no such robot, body or velocity.
        MissingPackageError: the robot is in a package that is not installed.
    """

    def __init__(
        self,
        urdf_or_name: str | PathLike[str] | RobotModel,
        kinematics_bodies: Sequence[str] | None = None,
        orientation: Orientation | None = None,
        *,
        floating: bool | None = None,
        actuated: Sequence[str] | None = None,
        gravity: Any = GRAVITY,
    ) -> None:
        self._source = find_robot(urdf_or_name)
        entry = self._source.entry
        if kinematics_bodies is None:
            kinematics_bodies = entry.bodies
        if orientation is None:
            orientation = entry.orientation
        floats = entry.floating if floating is None else bool(floating)
        check_joints(self._source.model)
        kd = KinDyn(
            in_state_order(self._source.model),
            floating=floats,
            representation="body",
            gravity=gravity,
        )
        if kd.nv == 0:
            hint = "; use floating=True for a floating base" if not floats else ""
            raise ArgumentError(f"{kd.model.name}: the robot has no degrees of freedom{hint}")
        self._options = {
            "kinematics_bodies": kinematics_bodies,
            "orientation": orientation,
            "floating": floating,
            "actuated": actuated,
            "gravity": gravity,
        }
        self.space = StateSpace(kd, kinematics_bodies, orientation)  # pyright: ignore[reportArgumentType]
        self._torques = actuated_names(kd, actuated)
        self.orders: dict[str, StateOrder] = standard_orders(self._source.model, kd, self._torques)
        """Orders of vectors by name: nominal, pinocchio, mujoco, rigidBodyDynamics. Others may be
        added; `generate_conversions(model.orders, model.conversions)` creates their conversions."""
        self.conversions: dict[tuple[str, str], ConversionIndices]
        self.conversions = generate_conversions(self.orders)

    def __reduce__(self) -> Any:
        return partial(type(self), **self._options), (self._source.argument,)

    def __repr__(self) -> str:
        bodies = ", ".join(self.kinematics_bodies) or "none"
        sizes = f"nq {self.nq}, nv {self.nv}, nu {self.nu}"
        return f"<pinnzoo.Model {self.name!r}: {sizes}, kinematics of {bodies}>"

    @property
    def name(self) -> str:
        """Name in the zoo, else the name in the file."""
        return self._source.name

    @property
    def urdf_path(self) -> str | None:
        """The file of the robot, if there is one."""
        return self._source.path

    @property
    def kd(self) -> KinDyn:
        """The same robot as a `KinDyn`, with q and nu of x = [q; nu]."""
        return self.space.kd

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The moving joints in the order of x."""
        return self.kd.joint_names

    @property
    def kinematics_bodies(self) -> tuple[str, ...]:
        """The bodies whose kinematics are computed."""
        return self.space.bodies

    @property
    def orientation(self) -> Orientation:
        """Representation of the orientation of bodies."""
        return self.space.orientation

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.space.nq

    @property
    def nv(self) -> int:
        """Length of v."""
        return self.space.nv

    @property
    def nx(self) -> int:
        """Length of x = [q; v]."""
        return self.nq + self.nv

    @property
    def nx_dot(self) -> int:
        """Length of the result of `dynamics`, [v; v_dot], and of an error state: 2 nv."""
        return 2 * self.nv

    @property
    def nu(self) -> int:
        """Number of actuated velocities."""
        return len(self._torques)

    @property
    def nc(self) -> int:
        """Number of bodies with kinematics."""
        return len(self.kinematics_bodies)

    @property
    def starting_pose(self) -> tuple[float, ...] | None:
        """(nq,) initial configuration of a robot of the zoo in PinnZoo, if it has one."""
        return self._source.entry.start or None

    @property
    def is_quadrotor(self) -> bool:
        """Whether it is the quadrotor of the zoo, which is actuated by rotors."""
        return self._source.entry is ZOO["quadrotor"]

    def kernel(self, name: str) -> Kernel:
        """Return a compiled function by name, with `warmup`, `jacobian`, `vjp` and others."""
        return self.space.kernel(name)

    def export(self, folder: str | Path, **options: Any) -> Report:
        """Write the functions as the C library that PinnZoo would have for this robot.

        Args:
            folder: destination; created if it does not exist.
            options: further options of `linkwork.export`, such as `prefix` for another name.
        """
        from linkwork.export.code import default_prefix
        from linkwork.export.write import export

        prefix = options.pop("prefix", None)
        return export(
            self.kd,
            folder,
            pinnzoo=True,
            bodies=self.kinematics_bodies,
            orientation=self.orientation,
            actuated=self.orders["nominal"].torque_names,
            prefix=default_prefix(self.name) if prefix is None else prefix,
            **options,
        )

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # functions, see `add_methods`


def add_methods(functions: Iterable[object]) -> None:
    """Add functions of a model, such as `M_func(model, x)`, as methods: `model.M_func(x)`."""
    for function in functions:
        if isfunction(function) and [*signature(function).parameters][:1] == ["model"]:
            setattr(Model, function.__name__, function)
