"""Sensors of a MuJoCo model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.io.mjcf.elements import active_equalities, equality_kind
from linkwork.io.mjcf.package import (
    MjModel,
    Names,
    is_disabled,
    name_in_enum,
    name_in_file,
    pose_of,
)
from linkwork.model.geometry import Box, Capsule, Cylinder, Sphere
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.simulation.scene import Ellipsoid, MovingShape, Sensor
from linkwork.simulation.sensors import TABLE
from linkwork.spatial.source import se3


@dataclass(slots=True)
class SensorReader:
    """Reads the sensors of a compiled model.

    Args:
        mj: the model.
        names: names of its parts in linkwork.
        data: its `MjData` at qpos0, for the poses of what does not move.
    """

    mj: MjModel
    names: Names
    data: Any
    ignored: list[str] = field(default_factory=list)  # texts about what is left out

    def read(self) -> Iterator[Sensor]:
        """Yield the sensors; those that simulations do not have become texts."""
        for index in range(self.mj.nsensor):
            kind = name_in_enum("mjtSensor", self.mj.sensor_type[index])
            kind = kind.removeprefix("mjSENS_").lower()
            name = name_in_file(self.mj, "sensor", index) or f"sensor_{index}"
            problem = self._problem(index, kind)
            if problem:
                self.ignored.append(f"sensor {name!r} ({problem})")
            else:
                yield self._sensor(index, name, kind)

    def _problem(self, index: int, kind: str) -> str:
        if kind not in TABLE:
            return kind
        if is_disabled(self.mj, "sensor"):
            return "disabled"
        if kind in ("force", "torque"):
            link, _ = self._place("site", int(self.mj.sensor_objid[index]))
            kinds = {equality_kind(self.mj, one) for one in active_equalities(self.mj)}
            if not link or kinds & {"connect", "weld"}:
                return f"{kind}, of a fixed link or beside equalities of links"
        for what in ("delay", "interval", "history"):
            if np.any(np.asarray(getattr(self.mj, f"sensor_{what}", np.zeros(index + 1)))[index]):
                return f"{kind} with {what}"
        objects = (self.mj.sensor_objtype[index], self.mj.sensor_reftype[index])
        if any(_object_kind(one) == "camera" for one in objects):
            return f"{kind} of a camera"
        return ""

    def _sensor(self, index: int, name: str, kind: str) -> Sensor:
        mj = self.mj
        part, reference = int(mj.sensor_objid[index]), int(mj.sensor_refid[index])
        object_kind = _object_kind(mj.sensor_objtype[index])
        link, pose = self._place(object_kind, part)
        reference_kind = _object_kind(mj.sensor_reftype[index]) if reference >= 0 else ""
        reference_link, reference_pose = self._place(reference_kind, reference)
        return Sensor(
            name=name,
            kind=kind,
            object=self._name(object_kind, part),
            object_kind=object_kind,
            link=link,
            link_H_object=pose,
            reference=self._name(reference_kind, reference),
            reference_link=reference_link,
            link_H_reference=reference_pose,
            shape=site_shape(mj, part) if kind == "touch" else None,
            size=int(mj.sensor_dim[index]),
            cutoff=float(mj.sensor_cutoff[index]),
        )

    def _name(self, kind: str, part: int) -> str:
        match kind:
            case "site":
                return self.names.sites[part]
            case "body" | "xbody":
                return self.names.bodies[part]
            case "joint":
                return self.names.joints[part]
            case "geom" | "actuator":
                return name_in_file(self.mj, kind, part) or f"{kind}_{part}"
            case _:
                return ""

    def _place(self, kind: str, part: int) -> tuple[str, Pose]:
        """Return the link of an object, empty if it does not move, and its pose there."""
        mj = self.mj
        match kind:
            case "site":
                body, pose = int(mj.site_bodyid[part]), _pose(mj.site_pos, mj.site_quat, part)
            case "geom":
                body, pose = int(mj.geom_bodyid[part]), _pose(mj.geom_pos, mj.geom_quat, part)
            case "body":  # the frame of its inertia
                body, pose = part, _pose(mj.body_ipos, mj.body_iquat, part)
            case "xbody":
                body, pose = part, IDENTITY
            case _:
                return "", IDENTITY
        if mj.body_dofnum[mj.body_weldid[body]]:
            return self.names.bodies[body], pose
        rotation, position = self.data.xmat[body].reshape(3, 3), self.data.xpos[body]
        return "", as_pose(se3.pose(rotation, position) @ pose.matrix())


def site_shape(mj: MjModel, site: int) -> MovingShape:
    """Return the shape of a site."""
    x, y, z = mj.site_size[site].tolist()
    match name_in_enum("mjtGeom", mj.site_type[site]):
        case "mjGEOM_CAPSULE":
            return Capsule(x, 2 * y)
        case "mjGEOM_CYLINDER":
            return Cylinder(x, 2 * y)
        case "mjGEOM_BOX":
            return Box((2 * x, 2 * y, 2 * z))
        case "mjGEOM_ELLIPSOID":
            return Ellipsoid((x, y, z))
        case _:
            return Sphere(x)


def _object_kind(value: int) -> str:
    return name_in_enum("mjtObj", value).removeprefix("mjOBJ_").lower()


def _pose(positions: Array, quaternions: Array, index: int) -> Pose:
    return pose_of(positions[index], quaternions[index])
