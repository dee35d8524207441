"""Contacts and closed loops: constrained forward dynamics and its derivatives against pin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from against_pin import ROWS
from closing import add_closing
from report import Section
from timing import Patience, Task, best_of_variants

import linkwork as lw
from linkwork.compat.pinocchio import Conventions
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.graph import opened
from robots import CASES, GRAVITY, kindyn_of, load_quietly

STANCES = {  # contacts and kind
    "talos_reduced": (("left_sole_link", "right_sole_link"), "pose"),
    "anymal": (("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"), "point"),
}
TARGETS = {"forward dynamics": (3.0, 12.0), "derivatives": (3.0, 10.0)}  # one call, batch
AGREES = 1e-8  # of the largest entry; two of the equations of Cassie are redundant
DERIVATIVE_ROWS = 1024  # results of more rows do not fit into memory caches


def constrained(patience: Patience) -> Section:
    """Forward dynamics with contacts and loops, and its derivatives: one call, and batches."""
    section = Section("Contacts and closed loops, against pin")
    table = section.table(
        "Microseconds per row on one thread, and how many times faster linkwork is",
        *("robot", "function", "operations", "pin", "one call", "batch"),
        *("call is faster", "batch is faster", "target", "call", "batch"),
    )
    for robot, peer in _robots():
        stance, state = peer.stance, peer.rows
        for name, tasks in peer.tasks().items():
            kernel: Any = stance.function(
                "forward_dynamics" if name == "forward dynamics" else "forward_dynamics_derivatives"
            )
            kernel.warmup()
            times = _times(kernel, tasks, state, patience)
            one, batch = times["pin"] / times["one"], times["pin"] / times["batch"]
            targets = TARGETS[name]
            table.add(
                *(robot, name, f"{kernel.program.n_ops:,}"),
                *(f"{times[way] * 1e6:.2f}" for way in ("pin", "one", "batch")),
                *(f"{one:.1f}", f"{batch:.1f}", f"{targets[0]:g} / {targets[1]:g}"),
                section.check(f"{robot} {name}, one call", one, targets[0]),
                section.check(f"{robot} {name}, batch", batch, targets[1]),
            )
            section.data.append({"robot": robot, "function": name} | times)
    add_closing(section, patience)
    section.notes += [
        "pin: the faster of constraintDynamics and lcaba; derivatives with constraintDynamics.",
        f"batches: {ROWS:,} rows, {DERIVATIVE_ROWS:,} of derivatives.",
    ]
    return section


def _robots() -> Iterator[tuple[str, _Peer]]:
    """Robots with contacts, and Cassie with its closed loops, each with its peer."""
    for case in CASES:
        if case.name in STANCES:
            frames, kind = STANCES[case.name]
            kd = kindyn_of(case)
            q = kd.random(ROWS, seed=0)
            yield case.name, _Peer(kd, case.path.read_text(), dict.fromkeys(frames, kind), q)
    kd = lw.KinDyn(load_quietly("cassie_v2"), floating=True, gravity=GRAVITY)
    moved = np.zeros((ROWS, kd.nv))
    moved[:, :6] = np.random.default_rng(0).normal(size=(ROWS, 6))
    q = kd.integrate(kd.layout.zero(), moved)  # at zero, the loops of the file are closed
    tree = opened(kd.model, kd.closing_joints).rerooted()
    yield "cassie, 4 loops", _Peer(kd, lw.dump_urdf(tree), {}, q)


def _times(
    kernel: Any, pin: list[Task], state: tuple[Array, Array, Array], patience: Patience
) -> dict[str, Any]:
    """Seconds per row."""
    n = ROWS if len(kernel.signature.outputs) == 3 else DERIVATIVE_ROWS
    rows = tuple(array[:n] for array in state)
    out = kernel(*rows, threads=1)
    measured: dict[str, Any] = best_of_variants(
        {
            "pin": pin,
            "one": [Task(kernel, tuple(array[0] for array in rows))],
            "batch": [Task(kernel, rows, {"out": out, "threads": 1})],
        },
        patience,
    )
    measured["batch"] /= n
    return measured


class _Peer:
    """The same contacts and loops in Pinocchio, at states that they allow."""

    def __init__(self, kd: lw.KinDyn, urdf: str, contacts: dict[str, Any], q: Array) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array(GRAVITY)
        self.stance = kd.constrained(contacts)
        rng = np.random.default_rng(0)
        nu = self.stance.project_velocity(q, rng.normal(size=(ROWS, kd.nv)))
        self.rows = q, nu, 10.0 * rng.normal(size=(ROWS, kd.nv))
        q, nu, tau = (array[0] for array in self.rows)
        maps = Conventions(kd, self.model)
        self.state = (
            maps.q_to_pinocchio(q),
            maps.v_to_pinocchio(q, nu),
            maps.tau_to_pinocchio(q, tau),
        )
        self.contacts = pin.StdVec_RigidConstraintModel()
        self.contact_data = pin.StdVec_RigidConstraintData()
        local = pin.ReferenceFrame.LOCAL
        for name, kind in contacts.items():
            frame = self.model.frames[self.model.getFrameId(name)]
            size = pin.ContactType.CONTACT_6D if kind == "pose" else pin.ContactType.CONTACT_3D
            self._add(
                pin.RigidConstraintModel(
                    size, self.model, frame.parentJoint, frame.placement, local
                )
            )
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, self.state[0])
        for joint in kd.closing_joints:  # spherical: three equations
            anchors = [
                self._anchor(data, link, kd.transform(link, q) @ link_H_joint)
                for link, link_H_joint in (
                    (joint.first, joint.first_H_joint.matrix()),
                    (joint.second, np.linalg.inv(joint.joint_H_second.matrix())),
                )
            ]
            size = pin.ContactType.CONTACT_3D
            self._add(pin.RigidConstraintModel(size, self.model, *anchors[0], *anchors[1], local))
        expected = maps.a_from_pinocchio(
            self.state[0], self.state[1], self.tasks()["forward dynamics"][0].run()
        )
        found = self.stance.forward_dynamics(q, nu, tau).nu_dot
        assert np.abs(found - expected).max() < AGREES * np.abs(expected).max(), kd.model.name

    def _add(self, constraint: Any) -> None:
        self.contacts.append(constraint)
        self.contact_data.append(constraint.createData())

    def _anchor(self, data: Any, link: str, world_H_anchor: Array) -> tuple[int, Any]:
        """The joint that carries a link, and the pose of an anchor in it."""
        frame = self.model.getFrameId(link, self.pin.FrameType.BODY)
        joint = self.model.frames[frame].parentJoint
        return joint, data.oMi[joint].inverse() * self.pin.SE3(world_H_anchor)

    def tasks(self) -> dict[str, list[Task]]:
        """Ways to compute forward dynamics, and its derivatives."""
        pin, contacts = self.pin, (self.contacts, self.contact_data)
        data, other = self.model.createData(), self.model.createData()
        for one in (data, other):
            pin.initConstraintDynamics(self.model, one, *contacts)
        pin.computeJointMinimalOrdering(self.model, other, self.contacts)
        settings = pin.ProximalSettings(1e-10, 1e-10, 1e-8, 10)
        arguments = self.model, data, *self.state, *contacts, settings

        def derivatives() -> None:
            pin.constraintDynamics(*arguments)
            pin.computeConstraintDynamicsDerivatives(self.model, data, *contacts, settings)

        lcaba = pin.ProximalSettings(1e-10, 1e-10, 1e-6, 10)
        return {
            "forward dynamics": [
                Task(pin.constraintDynamics, arguments),
                Task(pin.lcaba, (self.model, other, *self.state, *contacts, lcaba)),
            ],
            "derivatives": [Task(derivatives)],
        }
