"""A robot of a cell with everything that it carries: its compiled functions in a state.

The inertia of the load of some bodies, and the poses of locked frames, are parameters of the
compiled functions. So nothing is compiled when an object is gripped or released, and the rows of a
batch may have different loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, listed, name_not_found, shown, warn
from linkwork.parameters import JointPose, Parameter
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.dynamics.loads import Loads, Payloads, Robot
from linkwork.workcell.kinematics.attach import poses_to_xyz_wxyz
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import DeviceModel, locked_pose
from linkwork.workcell.state.state import State


class LoadedRobot(Generic[Robot]):
    """A robot with payloads on the bodies of its carriers, and the payloads in a state."""

    def __init__(
        self,
        cell: CellData,
        robot: DeviceModel,
        plain: Robot,
        carriers: Sequence[str],
        more: Sequence[Parameter] = (),
    ) -> None:
        """Create the robot with payloads.

        Args:
            cell: the workcell.
            robot: the model of the robot and its frames in the cell.
            plain: its functions without payloads.
            carriers: frames of the robot whose bodies may carry objects.
            more: additional parameters.

        Raises:
            NameNotFoundError: a carrier is not a frame of the robot.
        """
        self._cell, self.robot, self._plain = cell, robot, plain
        self._frames = robot.bodies(cell, plain)
        beyond = {cell.frame_index(name) for name in robot.beyond_locked()}
        # frames beyond locked ones are not rigidly fixed to their bodies
        fixed = {k: body_pose for k, body_pose in self._frames.items() if k not in beyond}
        self._loads = Loads(cell, fixed, beyond)
        parameters = [*(JointPose(name) for name in robot.locked), *more]
        self._payloads = Payloads(self._loads, plain, self._bodies_of(carriers), parameters)
        self.kd: Robot = self._payloads.kd

    def at(self, state: State, more: Mapping[str, Array]) -> tuple[Robot, Array]:
        """The robot for the loads of a state, and its parameters, (n,) or (..., n).

        Args:
            state: a state of the cell.
            more: (..., size) values of additional parameters by name.
        """
        kd, parameters = self._payloads.of(state.parents, state.values)
        values = dict(more)
        for name in self.robot.locked:
            values[f"joint_pose.{name}"] = self._locked_pose(name, state.values)
        if values:
            shapes = [array.shape[:-1] for array in (parameters, *values.values())]
            batch = np.broadcast_shapes(*shapes)
            parameters = np.broadcast_to(parameters, (*batch, parameters.shape[-1])).copy()
            for name, array in values.items():
                parameters[..., kd.parameters[name]] = array
        return kd, parameters

    def _locked_pose(self, name: str, values: Array) -> Array:
        """(..., 7) position and quaternion of a locked frame, for state values (..., n_values)."""
        index = self._cell.frame_index(name)
        if self._cell.frames[index].movable:
            return values[..., self._cell.layout.span(index)]
        return poses_to_xyz_wxyz(locked_pose(self._cell, name, values))

    def warn_of_missing_inertia(self, owner: str) -> None:
        """Warn about joints that move no inertia in the default state."""
        tree = self._plain.tree
        has_inertia = [bool(inertia.any()) for inertia in tree.inertias]
        for carried in self._loads.plan(self._cell.default_state.parents).carried:
            has_inertia[carried.body] = True
        for body, parent, _ in tree.inward():
            has_inertia[parent] |= has_inertia[body]
        massless = [tree.links[body][0] for body, _, _ in tree.outward() if not has_inertia[body]]
        if massless:
            frames = listed(
                [self.robot.names[link] for link in massless if link in self.robot.names]
            )
            message = f"{owner}: the frames that these joints move have no inertia, so their forces"
            message += f" and entries of the mass matrix are zero: {frames};"
            message += " set cell.with_changed(frame, inertia=...), or load a .dwc.xml file"
            warn(message)

    def warn_of_joints_outside(self, owner: str, device: DeviceJoints) -> None:
        """Warn about joints that depend on those of a device without being part of the model."""
        outside = self.robot.joints_outside(device)
        if outside:
            message = f"{owner}: these joints depend on its joints, but are not part of its robot,"
            hint = (
                "an lw.JointDevice moves joints that its base carries and that are not attachable"
            )
            warn(f"{message} so they are locked: {listed(outside)}; {hint}")

    def _bodies_of(self, carriers: Iterable[str]) -> dict[int, str]:
        """By body: the link of its payload."""
        links = self._plain.tree.links
        slots: dict[int, str] = {}
        for name in carriers:
            index = self._cell.frame_index(name)
            if index not in self._frames:
                names = [self._cell.frame_names[k] for k in self._frames]
                raise name_not_found(f"frame of device {self.robot.model.name!r}", name, names)
            body = self._frames[index][0]
            if body or self.robot.floating:
                slots[body] = links[body][0]
        last = len(links) - 1  # if the only end is the fixed base
        return slots or {last: links[last][0]}


def carrier_names(carriers: Any) -> tuple[str, ...]:
    """The option `carriers` as a tuple."""
    if not isinstance(carriers, (list, tuple)):
        raise ArgumentError(f"carriers: expected a list of frames, got {shown(carriers)}")
    return tuple(carriers)
