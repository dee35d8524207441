"""Contacts and closed loops: constrained forward dynamics and its derivatives against pin."""

from __future__ import annotations

from typing import Any

import numpy as np
from against_pin import ROWS
from peers import Pinocchio
from report import Section
from timing import Patience, Task, best_of_variants

import linkwork as lw
from linkwork.compat.pinocchio import Conventions
from linkwork.engine.symbolic.arrays import Array
from robots import CASES, Case, kindyn_of

STANCES = {  # contacts and kind
    "talos_reduced": (("left_sole_link", "right_sole_link"), "pose"),
    "anymal": (("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"), "point"),
}
TARGETS = {"forward dynamics": (3.0, 12.0), "derivatives": (3.0, 10.0)}  # one call, batch
AGREES = 1e-9  # of the largest entry
DERIVATIVE_ROWS = 1024  # results of more rows do not fit into memory caches


def constrained(patience: Patience) -> Section:
    """Forward dynamics with contacts, and its derivatives: one call, and batches."""
    section = Section("Contacts, against pin")
    table = section.table(
        "Microseconds per row on one thread, and how many times faster linkwork is",
        *("robot", "function", "operations", "pin", "one call", "batch"),
        *("call is faster", "batch is faster", "target", "call", "batch"),
    )
    for case in CASES:
        if case.name not in STANCES:
            continue
        frames, kind = STANCES[case.name]
        kd = kindyn_of(case)
        stance = kd.constrained(dict.fromkeys(frames, kind))
        state = _state(kd, stance)
        peer = _Peer(case, kd, frames, kind, state)
        for name, tasks in peer.tasks().items():
            kernel: Any = stance.function(
                "forward_dynamics" if name == "forward dynamics" else "forward_dynamics_derivatives"
            )
            kernel.warmup()
            times = _times(kernel, tasks, state, patience)
            one, batch = times["pin"] / times["one"], times["pin"] / times["batch"]
            targets = TARGETS[name]
            table.add(
                *(case.name, name, f"{kernel.program.n_ops:,}"),
                *(f"{times[way] * 1e6:.2f}" for way in ("pin", "one", "batch")),
                *(f"{one:.1f}", f"{batch:.1f}", f"{targets[0]:g} / {targets[1]:g}"),
                section.check(f"{case.name} {name}, one call", one, targets[0]),
                section.check(f"{case.name} {name}, batch", batch, targets[1]),
            )
            section.data.append({"robot": case.name, "function": name} | times)
    section.notes += [
        "pin: the faster of constraintDynamics and lcaba; derivatives with constraintDynamics.",
        f"batches: {ROWS:,} rows, {DERIVATIVE_ROWS:,} of derivatives.",
    ]
    return section


def _state(kd: lw.KinDyn, stance: lw.ConstrainedKinDyn) -> tuple[Array, Array, Array]:
    """States that the contacts allow."""
    rng = np.random.default_rng(0)
    q = kd.random(ROWS, seed=0)
    nu = stance.project_velocity(q, rng.normal(size=(ROWS, kd.nv)))
    return q, nu, 10.0 * rng.normal(size=(ROWS, kd.nv))


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
    """The same contacts in Pinocchio."""

    def __init__(
        self,
        case: Case,
        kd: lw.KinDyn,
        frames: tuple[str, ...],
        kind: str,
        state: tuple[Array, Array, Array],
    ) -> None:
        peer = Pinocchio(kd, str(case.path), case.frame)
        self.pin, self.model = peer.pin, peer.model
        pin = self.pin
        q, nu, tau = (array[0] for array in state)
        maps = Conventions(kd)
        self.state = (
            maps.q_to_pinocchio(q),
            maps.v_to_pinocchio(q, nu),
            maps.tau_to_pinocchio(q, tau),
        )
        self.contacts = pin.StdVec_RigidConstraintModel()
        self.contact_data = pin.StdVec_RigidConstraintData()
        contact = pin.ContactType.CONTACT_6D if kind == "pose" else pin.ContactType.CONTACT_3D
        for name in frames:
            frame = self.model.frames[self.model.getFrameId(name)]
            one = pin.RigidConstraintModel(
                contact, self.model, frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL
            )
            self.contacts.append(one)
            self.contact_data.append(one.createData())
        expected = maps.a_from_pinocchio(
            self.state[0], self.state[1], self.tasks()["forward dynamics"][0].run()
        )
        found = kd.constrained(dict.fromkeys(frames, kind)).forward_dynamics(q, nu, tau).nu_dot
        assert np.abs(found - expected).max() < AGREES * np.abs(expected).max(), case.name

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
