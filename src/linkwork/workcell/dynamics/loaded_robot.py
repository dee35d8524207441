"""A robot of a cell with everything that it carries, as inputs of its compiled functions.

The inertia of the load of some bodies, and the poses of locked frames, are parameters of the
compiled functions. So nothing is compiled when an object is gripped or released, and the rows of a
batch may have different loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, listed, name_not_found, nearest, shown, warn
from linkwork.kindyn import KinDyn
from linkwork.parameters import JointPose, Parameter, Payload
from linkwork.workcell.cell.cache import Results
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.structure import local_pose
from linkwork.workcell.dynamics.loads import Loads, Plan, prepare_transforms
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.kinematics.device_model import DeviceModel
from linkwork.workcell.kinematics.state_changes import poses_to_xyz_wxyz
from linkwork.workcell.state.state import State, flat_rows


class LoadedRobot:
    """A robot with payloads on the bodies of its carriers, and its parameters in a state.

    If other bodies carry objects in a state, a robot with payloads on all bodies is used.
    """

    def __init__(
        self,
        cell: CellData,
        robot: DeviceModel,
        plain: KinDyn,
        carriers: Sequence[str],
        more: Sequence[Parameter] = (),
    ) -> None:
        """Create the robot with payloads.

        Args:
            cell: the workcell.
            robot: the model of the robot and its frames in the cell.
            plain: its functions without payloads.
            carriers: frames of the robot whose bodies may carry objects.
            more: additional parameters after the payloads; their default is zero.

        Raises:
            NameNotFoundError: a carrier is not a frame of the robot.
        """
        self._cell, self.robot, self._plain = cell, robot, plain
        self._payloads = Results(self._compute_payloads)  # by plan and the bytes of its values
        self._frames = robot.bodies(cell, plain)
        beyond = {cell.frame_index(name) for name in robot.beyond_locked()}
        # frames beyond locked ones are not rigidly fixed to their bodies
        fixed = {k: body_pose for k, body_pose in self._frames.items() if k not in beyond}
        self._loads = Loads(cell, fixed, beyond)
        self._more = [*(JointPose(name) for name in robot.locked), *more]
        self._slots = self._slots_of(carriers)
        self.kd = self._with_payloads(self._slots)
        prepare_transforms()

    def at(self, state: State, more: Mapping[str, Array]) -> tuple[KinDyn, Array]:
        """Return the robot for the loads of a state, and its parameters, (n,) or (..., n).

        Args:
            state: a state of the cell.
            more: (..., size) values of additional parameters by name.
        """
        if state.values.ndim == 1:
            plan = self._loads.plan(state.parents)
            kd, parameters = self._payloads[plan, state.values[plan.columns].tobytes()]
        else:
            kd, parameters = self._of_batch(state)
        if not more and not self.robot.locked:
            return kd, parameters
        values = dict(more)
        for name in self.robot.locked:
            values[f"joint_pose.{name}"] = self._locked_pose(name, state.values)
        batch = np.broadcast_shapes(*(one.shape[:-1] for one in (parameters, *values.values())))
        parameters = np.broadcast_to(parameters, (*batch, parameters.shape[-1])).copy()
        for name, array in values.items():
            parameters[..., kd.parameters[name]] = array
        return kd, parameters

    def _of_batch(self, state: State) -> tuple[KinDyn, Array]:
        """Return the robot and the parameters of its payloads; (n,) if all rows have the same."""
        values = flat_rows(state.values)
        if not len(values):
            return self.kd, self.kd.parameter_values()
        groups = self._loads.groups(flat_rows(state.parents))
        if len(groups) == 1:
            plan = groups[0][0]
            of_loads = values[:, plan.columns]
            if (of_loads == of_loads[0]).all():
                return self._payloads[plan, of_loads[0].tobytes()]
        kd, parameters = self._of_rows(groups, values)
        return kd, parameters.reshape(*state.batch_shape, -1)

    def _compute_payloads(self, key: tuple[Plan, bytes]) -> tuple[KinDyn, Array]:
        """Return the robot and its parameters (n,) for a plan and the values that it depends on."""
        plan, of_loads = key
        values = np.zeros((1, self._cell.layout.n_values))
        values[0, plan.columns] = np.frombuffer(of_loads)
        kd, (parameters,) = self._of_rows([(plan, slice(None))], values)
        parameters.flags.writeable = False
        return kd, parameters

    def _of_rows(self, groups: Sequence[tuple[Plan, Any]], values: Array) -> tuple[KinDyn, Array]:
        """Return the robot and its parameters (rows, n) for groups of rows with equal plans."""
        parts = [(self._loads.totals(plan, values[rows]), rows) for plan, rows in groups]
        if not self._plain.floating:
            for totals, _ in parts:
                totals.pop(0, None)  # loads of a fixed base do not move
        bodies = {body for totals, _ in parts for body in totals}
        kd, slots = (self.kd, self._slots) if bodies <= self._slots.keys() else self._general
        parameters = np.zeros((len(values), kd.parameters.size))
        for totals, rows in parts:
            for body, total in totals.items():
                parameters[rows, kd.parameters[f"payload.{slots[body]}"]] = total
        return kd, parameters

    @cached_property
    def _general(self) -> tuple[KinDyn, dict[int, str]]:
        """The robot with a payload on every body, and the links of its payloads."""
        bodies = range(0 if self._plain.floating else 1, len(self._plain.tree.links))
        slots = {body: self._plain.tree.links[body][0] for body in bodies}
        return self._with_payloads(slots), slots

    def _with_payloads(self, slots: Mapping[int, str]) -> KinDyn:
        payloads = [Payload(link) for link in slots.values()]
        return _shared(self._plain.replace(parameters=[*payloads, *self._more]))

    def _slots_of(self, carriers: Iterable[str]) -> dict[int, str]:
        """Return the link of the payload by body."""
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

    def _locked_pose(self, name: str, values: Array) -> Array:
        """Compute position and quaternion (..., 7) of a locked frame from state values."""
        index = self._cell.frame_index(name)
        if self._cell.frames[index].movable:
            return values[..., self._cell.layout.span(index)]
        return poses_to_xyz_wxyz(local_pose(self._cell, index, values))

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
            names = self.robot.names
            frames = listed([names[link] for link in massless if link in names])
            message = f"{owner}: the frames that these joints move have no inertia, so their forces"
            message += f" and entries of the mass matrix are zero: {frames};"
            message += " set cell.with_changed(frame, inertia=...), or load a .dwc.xml file"
            warn(message)

    def warn_of_joints_outside(self, owner: str, device: DeviceJoints) -> None:
        """Warn about joints that depend on joints of a device, but are not part of the model."""
        outside = self.robot.joints_outside(device)
        if outside:
            message = f"{owner}: these joints depend on its joints, but are not part of its robot,"
            hint = (
                "an lw.JointDevice moves joints that its base carries and that are not attachable"
            )
            warn(f"{message} so they are locked: {listed(outside)}; {hint}")


def carrier_names(carriers: Any) -> tuple[str, ...]:
    """Convert the option `carriers` to a tuple."""
    if not isinstance(carriers, (list, tuple)):
        raise ArgumentError(f"carriers: expected a list of frames, got {shown(carriers)}")
    return tuple(carriers)


def check_state_options(options: Iterable[str]) -> None:
    """Reject options of `KinDyn` that a function of a state does not have."""
    for name in options:
        if name in ("parameters", "gravity"):
            raise ArgumentError(
                f"argument {name!r} is unknown; {nearest(name, ['out', 'threads'])}"
            )


@lru_cache(maxsize=32)
def _shared(kd: KinDyn) -> KinDyn:
    """Return one object for equal robots, so that other cells with the same arm compile nothing."""
    return kd
