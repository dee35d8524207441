"""The part of `Model` that every function uses: the robot, sizes, names and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from linkwork.compat.pinnzoo.orders import ConversionIndices, StateOrder, generate_conversions
from linkwork.compat.pinnzoo.simulators import known_orders
from linkwork.compat.pinnzoo.zoo import ZOO, Found, found_robot
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError, name_not_found, shown
from linkwork.export.pinnzoo.state_space import (
    Orientation,
    StateSpace,
    arranged,
    check_joints,
    joint_labels,
    velocity_names,
)
from linkwork.kindyn import KinDyn
from linkwork.model.model import Model as RobotModel

GRAVITY = (0.0, 0.0, -9.81)  # of Pinocchio and PinnZoo, acceleration of free fall [m/s^2]


class Robot:
    """A robot and the kernels of its functions. The arguments are those of `Model`."""

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
        self._found: Found = found_robot(urdf_or_name)
        entry = self._found.entry
        if kinematics_bodies is None:
            kinematics_bodies = entry.bodies
        if orientation is None:
            orientation = entry.orientation
        floats = entry.floating if floating is None else bool(floating)
        check_joints(self._found.model)
        kd = KinDyn(
            arranged(self._found.model), floating=floats, representation="body", gravity=gravity
        )
        if kd.nv == 0:
            hint = "; floating=True lets its base move" if not floats else ""
            raise ArgumentError(f"{kd.model.name}: nothing of it moves{hint}")
        self._options = (kinematics_bodies, orientation, floating, actuated, gravity)
        self.space = StateSpace(kd, kinematics_bodies, orientation)  # pyright: ignore[reportArgumentType]
        self._torques = _torque_names(kd, actuated)
        self.orders: dict[str, StateOrder] = known_orders(self._found.model, kd, self._torques)
        """Orders of vectors by name: nominal, pinocchio, mujoco, rigidBodyDynamics. Others may be
        added; `generate_conversions(model.orders, model.conversions)` makes theirs."""
        self.conversions: dict[tuple[str, str], ConversionIndices]
        self.conversions = generate_conversions(self.orders)

    def __reduce__(self) -> Any:
        bodies, orientation, floating, actuated, gravity = self._options
        named = {"floating": floating, "actuated": actuated, "gravity": gravity}
        return _made, (type(self), self._found.given, bodies, orientation, named)

    def __repr__(self) -> str:
        bodies = ", ".join(self.kinematics_bodies) or "none"
        sizes = f"nq {self.nq}, nv {self.nv}, nu {self.nu}"
        return f"<pinnzoo.Model {self.name!r}: {sizes}, kinematics of {bodies}>"

    @property
    def name(self) -> str:
        """Its name in the zoo, else that in the file."""
        return self._found.name

    @property
    def urdf_path(self) -> str | None:
        """The file that it was read from, if it was one."""
        return self._found.path

    @property
    def kd(self) -> KinDyn:
        """The same robot as linkwork sees it, with q and nu of x = [q; nu]."""
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
        """How their orientation is written."""
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
        """Length of what `dynamics` gives, [v; v_dot], and of an error state: 2 nv."""
        return 2 * self.nv

    @property
    def nu(self) -> int:
        """How many velocities are driven."""
        return len(self._torques)

    @property
    def nc(self) -> int:
        """How many bodies have kinematics."""
        return len(self.kinematics_bodies)

    @property
    def starting_pose(self) -> tuple[float, ...] | None:
        """(nq,) configuration that PinnZoo starts a robot of the zoo in, if it has one."""
        return self._found.entry.start or None

    @property
    def is_quadrotor(self) -> bool:
        """Whether it is the quadrotor of the zoo, which rotors drive."""
        return self._found.entry is ZOO["quadrotor"]

    def kernel(self, name: str) -> Kernel:
        """The compiled function behind a name, with `warmup`, `jacobian`, `vjp` and the rest."""
        return self.space.kernel(name)


def _torque_names(kd: KinDyn, actuated: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the velocities that are driven: all joints, or also the base if there are none."""
    names = velocity_names(kd)
    if actuated is None:
        return joint_labels(kd) or names
    if isinstance(actuated, str):
        raise ArgumentError(f"actuated: expected a list of names, got {shown(actuated)}")
    for name in actuated:
        if name not in names:
            raise name_not_found("velocity", name, names)
    return tuple(actuated)


def _made(
    kind: type[Robot], given: Any, bodies: Any, orientation: Any, named: dict[str, Any]
) -> Robot:
    return kind(given, bodies, orientation, **named)
