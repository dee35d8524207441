"""Reads the scene of a simulation from MJCF, through MuJoCo's compiled model.

MuJoCo resolves defaults, angles, masses from geoms, keyframes and inverse weights. Joints that
depend on others and equalities become soft equations, as in MuJoCo.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from os import PathLike
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ParseError
from linkwork.io.mjcf.elements import active_equalities, equality_kind, gravity_of, is_ineffective
from linkwork.io.mjcf.model import NO_REFERENCES, floating_body, read_mjmodel
from linkwork.io.mjcf.package import (
    MjModel,
    Names,
    import_mujoco,
    is_disabled,
    kind_of,
    name_in_enum,
    name_in_file,
    names_of,
    need_mjmodel,
    pose_of,
)
from linkwork.io.mjcf.reader import compile_mjcf
from linkwork.io.xml.documents import read_source
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.pose import Pose, as_pose
from linkwork.simulation.mjcf.contacts import ContactReader, softness
from linkwork.simulation.mjcf.sensors import SensorReader
from linkwork.simulation.mjcf.unsupported import INTEGRATORS, Locations, Refusals
from linkwork.simulation.scene import (
    ANY,
    INITIAL,
    ActuatorModel,
    DryFriction,
    Equality,
    JointForces,
    JointLimit,
    Keyframe,
    Options,
    Range,
    Scene,
)
from linkwork.spatial.source import quat, se3

BASE = ""  # replaces the name of a joint for the free joint of the floating base


def read_simulation(
    source: str | bytes | PathLike[str] | MjModel, *, strict: bool = False
) -> tuple[Model, Scene]:
    """Read a robot and the scene of its simulation.

    Args:
        source: path of an MJCF file, or its content; or a compiled `mujoco.MjModel`.
        strict: whether contacts and sensors that simulations do not have are errors; if not, they
            are listed in the scene.

    Raises:
        ParseError: the model has physics that simulations do not support; the message lists all
            such elements, each with its line.
        MissingPackageError: MuJoCo is not installed.
    """
    mujoco = import_mujoco()
    if isinstance(source, mujoco.MjModel):
        need_mjmodel(source)
        mj, references, locations = source, dict(NO_REFERENCES), Locations(None)
    else:
        document = read_source(source)
        mj, references, _ = compile_mjcf(document)
        locations = Locations(document)
    problems = Refusals(mj, locations).findings()
    if problems:
        raise ParseError(problems)
    model, _ = read_mjmodel(mj, mimic=False, constraints=False, references=references)
    scene = _SceneReader(mj, model, names_of(mj), locations).read()
    if strict and scene.ignored:
        texts = scene.ignored
        raise ParseError([Finding("error", "", f"simulations leave out {text}") for text in texts])
    return model, scene


@dataclass(slots=True)
class _SceneReader:
    mj: MjModel
    model: Model
    names: Names
    locations: Locations

    def read(self) -> Scene:
        mujoco = import_mujoco()
        data = mujoco.MjData(self.mj)
        mujoco.mj_kinematics(self.mj, data)
        mujoco.mj_comPos(self.mj, data)
        base = floating_body(self.mj)
        contacts = ContactReader(self.mj, self.names, data, self.locations)
        sensors = SensorReader(self.mj, self.names, data)
        return Scene(
            base=None if base is None else self.names.bodies[base],
            floating=base is not None,
            options=self._options(),
            contacts=tuple(contacts.read()),
            limits=tuple(self._limits()),
            frictions=tuple(self._frictions()),
            equalities=tuple(self._equalities(data)),
            joints=tuple(self._joints()),
            gravity_compensation=self._gravity_compensation(),
            actuators=tuple(self._actuators()),
            sensors=tuple(sensors.read()),
            keyframes=tuple(self._keyframes()),
            references=tuple(self._references()),
            ignored=(*contacts.ignored, *sensors.ignored, *self._ignored()),
            link_weights=self._link_weights(),
            joint_weights=self._joint_weights(),
        )

    def _options(self) -> Options:
        mj = self.mj
        integrator = name_in_enum("mjtIntegrator", mj.opt.integrator).removeprefix("mjINT_")
        cone = name_in_enum("mjtCone", mj.opt.cone).removeprefix("mjCONE_").lower()
        return Options(
            timestep=float(mj.opt.timestep),
            gravity=gravity_of(mj),  # pyright: ignore[reportArgumentType] - three numbers
            integrator=INTEGRATORS[integrator],  # pyright: ignore[reportArgumentType]
            cone=cone,  # pyright: ignore[reportArgumentType]
            impratio=float(mj.opt.impratio),
            eulerdamp=not is_disabled(mj, "eulerdamp"),
            refsafe=not is_disabled(mj, "refsafe"),
        )

    def _neutral(self, joint: int) -> float:
        """Return qpos0 of a joint with one coordinate, 0 of others."""
        has_one = kind_of(self.mj, joint) in ("revolute", "prismatic")
        return float(self.mj.qpos0[self.mj.jnt_qposadr[joint]]) if has_one else 0.0

    def _name(self, joint: int) -> str:
        """Return the name of a joint; empty for the free joint of the floating base."""
        base = floating_body(self.mj)
        is_base = base is not None and joint == self.mj.body_jntadr[base]
        return BASE if is_base else self.names.joints[joint]

    def _limits(self) -> Iterator[JointLimit]:
        mj = self.mj
        if is_disabled(mj, "limit"):
            return
        for joint in np.flatnonzero(mj.jnt_limited).tolist():
            lower, upper = (mj.jnt_range[joint] - self._neutral(joint)).tolist()
            if kind_of(mj, joint) == "spherical":
                lower, upper = -inf, max(lower, upper)
            yield JointLimit(
                joint=self.names.joints[joint],
                lower=lower,
                upper=upper,
                margin=float(mj.jnt_margin[joint]),
                softness=softness(mj.jnt_solref[joint], mj.jnt_solimp[joint]),
            )

    def _frictions(self) -> Iterator[DryFriction]:
        mj = self.mj
        if is_disabled(mj, "frictionloss"):
            return
        for joint, dof in enumerate(mj.jnt_dofadr.tolist()):
            if mj.dof_frictionloss[dof]:
                yield DryFriction(
                    joint=self.names.joints[joint],
                    loss=float(mj.dof_frictionloss[dof]),
                    softness=softness(mj.dof_solref[dof], mj.dof_solimp[dof]),
                )

    def _joints(self) -> Iterator[JointForces]:
        mj = self.mj
        for joint, (start, dof) in enumerate(zip(mj.jnt_qposadr, mj.jnt_dofadr, strict=True)):
            is_ball = kind_of(mj, joint) == "spherical"
            spring = mj.qpos_spring[start : start + (4 if is_ball else 1)]
            limited = mj.jnt_actfrclimited[joint] and not is_disabled(mj, "actuation")
            forces = JointForces(
                joint=self._name(joint),
                stiffness=0.0 if is_disabled(mj, "spring") else float(mj.jnt_stiffness[joint]),
                spring_reference=tuple((spring - self._neutral(joint)).tolist()),
                damping=0.0 if is_disabled(mj, "damper") else float(mj.dof_damping[dof]),
                armature=float(mj.dof_armature[dof]),
                force_range=_range(mj.jnt_actfrcrange[joint], limited),
                gravity_by_actuators=bool(mj.jnt_actgravcomp[joint]),
            )
            default = JointForces(joint=forces.joint, spring_reference=forces.spring_reference)
            if forces != default:
                yield forces

    def _gravity_compensation(self) -> tuple[tuple[str, float], ...]:
        if is_disabled(self.mj, "gravity"):
            return ()
        bodies = np.flatnonzero(self.mj.body_gravcomp).tolist()
        return tuple((self.names.bodies[k], float(self.mj.body_gravcomp[k])) for k in bodies)

    def _equalities(self, data: Any) -> Iterator[Equality]:
        mj = self.mj
        if is_disabled(mj, "equality"):
            return
        for index in active_equalities(mj):
            kind = equality_kind(mj, index)
            if is_ineffective(mj, index):
                continue
            name = name_in_file(mj, "equality", index) or f"equality{index}"
            soft = softness(mj.eq_solref[index], mj.eq_solimp[index])
            if kind == "joint":
                first, second = int(mj.eq_obj1id[index]), int(mj.eq_obj2id[index])
                coefficients = mj.eq_data[index][: 5 if second >= 0 else 1].tolist()
                yield Equality(
                    name=name,
                    kind="joint",
                    first=self.names.joints[first],
                    second=self.names.joints[second] if second >= 0 else None,
                    coefficients=tuple(coefficients),
                    softness=soft,
                )
                continue
            sides = [self._side(data, index, side) for side in (0, 1)]
            (first_link, first_pose), (second_link, second_pose) = sorted(
                sides, key=lambda side: side[0] is None
            )
            assert first_link is not None
            yield Equality(
                name=name,
                kind=kind,  # pyright: ignore[reportArgumentType] - connect or weld
                first=first_link,
                second=second_link,
                first_H_anchor=first_pose,
                second_H_anchor=second_pose,
                torque_scale=float(mj.eq_data[index][10]),
                softness=soft,
            )

    def _side(self, data: Any, equality: int, side: int) -> tuple[str | None, Pose]:
        """Return the link of one side of a connect or weld, None if it is fixed; and the anchor."""
        mj = self.mj
        part = int((mj.eq_obj1id, mj.eq_obj2id)[side][equality])
        numbers = mj.eq_data[equality]
        of_sites = name_in_enum("mjtObj", mj.eq_objtype[equality]) == "mjOBJ_SITE"
        if of_sites:
            body, anchor = int(mj.site_bodyid[part]), pose_of(mj.site_pos[part], mj.site_quat[part])
        elif equality_kind(mj, equality) == "connect":
            body, anchor = part, Pose(tuple(numbers[3 * side : 3 * side + 3].tolist()))
        elif side == 0:  # of a weld: the anchor in body 2, in body 1, and the rotation
            body, anchor = part, pose_of(numbers[3:6], numbers[6:10])
        else:
            body, anchor = part, Pose(tuple(numbers[:3].tolist()))
        if mj.body_dofnum[mj.body_weldid[body]]:
            return self.names.bodies[body], anchor
        world_H_body = se3.pose(data.xmat[body].reshape(3, 3), data.xpos[body])
        return None, as_pose(world_H_body @ anchor.matrix())

    def _actuators(self) -> Iterator[ActuatorModel]:
        mj = self.mj
        used = {name_in_file(mj, "actuator", k) for k in range(len(mj.actuator_trntype))}
        limited = mj.actuator_ctrllimited & (not is_disabled(mj, "clampctrl"))
        for k in range(len(mj.actuator_trntype)):
            name = name_in_file(mj, "actuator", k) or f"actuator_{k}"
            while not name_in_file(mj, "actuator", k) and name in used:
                name += "_"
            joint = int(mj.actuator_trnid[k, 0])
            gear = float(mj.actuator_gear[k, 0])
            # lengths in MuJoCo contain qpos0: gain and bias at theta = 0
            length = gear * self._neutral(joint)
            is_on = not is_disabled(mj, "actuation") and not self._is_in_disabled_group(k)
            gain = mj.actuator_gainprm[k, :3] * (1.0, *(2 * (_is_affine(mj, "gain", k),)))
            bias = mj.actuator_biasprm[k, :3] * _is_affine(mj, "bias", k)
            dynamics = name_in_enum("mjtDyn", mj.actuator_dyntype[k]).removeprefix("mjDYN_").lower()
            yield ActuatorModel(
                name=name,
                joint=self.names.joints[joint],
                gear=gear,
                gain=_shifted(gain * is_on, length),
                bias=_shifted(bias * is_on, length),
                dynamics=dynamics,  # pyright: ignore[reportArgumentType]
                time_constant=float(mj.actuator_dynprm[k, 0]),
                control_range=_range(mj.actuator_ctrlrange[k], limited[k]),
                force_range=_range(mj.actuator_forcerange[k], mj.actuator_forcelimited[k]),
                activation_range=_range(mj.actuator_actrange[k], mj.actuator_actlimited[k]),
                early=bool(mj.actuator_actearly[k]),
            )

    def _is_in_disabled_group(self, actuator: int) -> bool:
        group = int(self.mj.actuator_group[actuator])
        return 0 <= group < 31 and bool(self.mj.opt.disableactuator & (1 << group))

    def _keyframes(self) -> Iterator[Keyframe]:
        mj = self.mj
        names = [name_in_file(mj, "key", key) or f"key_{key}" for key in range(mj.nkey)]
        for key, name in enumerate(names):
            yield Keyframe(
                name=name,
                q=tuple(self._q(mj.key_qpos[key])),
                nu=tuple(self._nu(mj.key_qpos[key], mj.key_qvel[key])),
                activation=tuple(mj.key_act[key].tolist()),
                control=tuple(mj.key_ctrl[key].tolist()),
            )
        if INITIAL not in names:
            yield Keyframe(name=INITIAL, q=tuple(self._q(mj.qpos0)))

    def _layout(self) -> Layout:
        return Layout(self.model, floating_body(self.mj) is not None)

    def _q(self, qpos: Array) -> list[float]:
        layout, mj = self._layout(), self.mj
        q = layout.zero()
        for joint, start in enumerate(mj.jnt_qposadr.tolist()):
            name = self._name(joint)
            to = slice(0, 7) if name == BASE else layout.q[name]
            q[to] = qpos[start : start + to.stop - to.start] - self._neutral(joint)
        return q.tolist()

    def _nu(self, qpos: Array, qvel: Array) -> list[float]:
        """Return velocities; the angular velocity of the base is in world axes."""
        layout, mj = self._layout(), self.mj
        nu = np.zeros(layout.nv)
        for joint, start in enumerate(mj.jnt_dofadr.tolist()):
            name = self._name(joint)
            to = slice(0, 6) if name == BASE else layout.nu[name]
            nu[to] = qvel[start : start + to.stop - to.start]
            if name == BASE:
                at = mj.jnt_qposadr[joint] + 3
                nu[3:6] = quat.to_rotation(quat.normalize(qpos[at : at + 4])) @ nu[3:6]
        return nu.tolist()

    def _references(self) -> Iterator[tuple[str, float]]:
        for joint, name in enumerate(self.names.joints):
            if self._neutral(joint):
                yield name, self._neutral(joint)

    def _ignored(self) -> Iterator[str]:
        mj = self.mj
        mocap = [self.names.bodies[body] for body in np.flatnonzero(mj.body_mocapid >= 0)]
        if mocap:
            yield f"motion of mocap bodies {mocap}, which stay where they are in the file"

    def _link_weights(self) -> tuple[tuple[str, tuple[float, float]], ...]:
        weights = self.mj.body_invweight0.tolist()
        first = floating_body(self.mj) or 0
        bodies = range(first, self.mj.nbody)
        return tuple((self.names.bodies[k], (weights[k][0], weights[k][1])) for k in bodies)

    def _joint_weights(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        mj = self.mj
        ends = [*mj.jnt_dofadr.tolist()[1:], mj.nv]
        return tuple(
            (self._name(joint), tuple(mj.dof_invweight0[start:end].tolist()))
            for joint, (start, end) in enumerate(zip(mj.jnt_dofadr.tolist(), ends, strict=True))
        )


def _is_affine(mj: MjModel, what: str, actuator: int) -> bool:
    kind = getattr(mj, f"actuator_{what}type")[actuator]
    return name_in_enum(f"mjt{what.capitalize()}", kind).endswith("AFFINE")


def _shifted(numbers: Array, length: float) -> tuple[float, float, float]:
    """Return an affine function of length and velocity for lengths that start at `length`."""
    constant, slope, rate = numbers.tolist()
    return constant + slope * length, slope, rate


def _range(numbers: Array, is_limited: bool) -> Range:
    lower, upper = numbers.tolist()
    return (lower, upper) if is_limited else ANY
