"""The quantities of one tick of a whole-body controller, from one fused function, against pin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from peers import Pinocchio
from report import Section
from timing import Patience, Task, best_of_variants

import linkwork as lw
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from robots import Case, State, kindyn_of, random_states

ROWS = 4096
TARGETS = {"one": 3.0, "batch": 12.0}
ENOUGH = 1e-9
CASES = (
    (Case("iCub", "iCubGazeboV2_5/model.urdf", "l_sole"), ("l_sole", "r_sole")),
    (
        Case("talos_reduced", "talos_data/robots/talos_reduced.urdf", "left_sole_link"),
        ("left_sole_link", "right_sole_link"),
    ),
)


def tick(patience: Patience) -> Section:
    """Mass matrix, bias force, Jacobian and bias acceleration of two feet, CoM Jacobian, CMM."""
    section = Section("One tick of a whole-body controller, against pin")
    table = section.table(
        "Microseconds per tick, and how many times faster linkwork is",
        *("robot", "pin", "linkwork", "batch, per row", "faster", "batch is faster"),
        *("target", "one", "batch", "differs by"),
    )
    for case, feet in CASES:
        kd = kindyn_of(case)
        kernel = tick_kernel(kd, feet)
        pin, states = Pinocchio(kd, str(case.path), case.frame), random_states(kd, ROWS)
        row = states.row(0)
        out = kernel(states.q, states.nu, threads=1)
        measured: dict[str, Any] = best_of_variants(
            {
                "pin": [Task(way) for way in pin_ticks(pin, row, feet)],
                "one": [Task(kernel, (row.q, row.nu))],
                "batch": [Task(kernel, (states.q, states.nu), {"out": out, "threads": 1})],
            },
            patience,
        )
        measured["batch"] /= ROWS
        ratios = {way: measured["pin"] / measured[way] for way in TARGETS}
        verdicts = [
            section.check(f"{case.name} tick ({way})", ratios[way], target)
            for way, target in TARGETS.items()
        ]
        error = _difference(kernel, pin, row, feet)
        section.check(f"difference of {case.name} tick", error, ENOUGH, at_most=True)
        table.add(
            *(case.name, *(f"{measured[way] * 1e6:.2f}" for way in ("pin", "one", "batch"))),
            *(f"{ratio:.1f}" for ratio in ratios.values()),
            *(" / ".join(f"{target:g}" for target in TARGETS.values()), *verdicts, f"{error:.0e}"),
        )
        section.data.append({"robot": case.name} | measured)
    section.notes += [
        "mass_matrix, bias_force, jacobian and bias_acceleration of both feet, com_jacobian, CMM.",
        "linkwork: all in one call.",
        "pin: the faster of computeAllTerms and single functions; results stay in its memory.",
    ]
    return section


def tick_kernel(kd: lw.KinDyn, feet: tuple[str, str]) -> Kernel:
    """The fused function, ready to run fast."""
    of_feet = [(name, foot) for foot in feet for name in ("jacobian", "bias_acceleration")]
    kernel = kd.function(
        "mass_matrix", "bias_force", *of_feet, "com_jacobian", "centroidal_momentum_matrix"
    )
    kernel.warmup()
    return kernel


def pin_ticks(
    peer: Pinocchio, state: State, feet: tuple[str, str]
) -> list[Callable[[], list[Any]]]:
    """Two ways to get the same from pin."""
    pin, model, data = peer.pin, peer.model, peer.data
    own = peer.convention.state(state.without_acceleration())
    q, v, a = peer.convention.q(state.q, scalar_last=True), own.nu, own.nu_dot
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    frames = [model.getFrameId(foot, pin.FrameType.BODY) for foot in feet]

    def of_feet() -> list[Any]:
        measured: list[Any] = []
        for frame in frames:
            measured.append(pin.getFrameJacobian(model, data, frame, axes))
            measured.append(pin.getFrameClassicalAcceleration(model, data, frame, axes).vector)
        return measured

    def all_terms() -> list[Any]:
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, a)
        return [data.M, data.nle, *of_feet(), data.Jcom, data.Ag]

    def one_by_one() -> list[Any]:
        M = pin.crba(model, data, q, pin.Convention.WORLD)
        h = pin.nonLinearEffects(model, data, q, v)
        pin.computeJointJacobians(model, data, q)
        J = pin.jacobianCenterOfMass(model, data, q, False)
        A = pin.computeCentroidalMap(model, data, q)
        pin.forwardKinematics(model, data, q, v, a)
        return [M, h, *of_feet(), J, A]

    return [all_terms, one_by_one]


def _difference(kernel: Kernel, peer: Pinocchio, state: State, feet: tuple[str, str]) -> float:
    """Largest difference between the two, relative to the largest entry, conventions converted."""
    T = peer.convention.T(state.q)
    rates = peer.convention.T_dot_nu(state.q, state.nu)
    errors: list[float] = []
    for way in pin_ticks(peer, state, feet):
        theirs = [np.array(part, dtype=np.float64) for part in way()]
        M = np.triu(theirs[0]) + np.triu(theirs[0], 1).T
        h = T.T @ (theirs[1] + M @ rates)
        converted: list[Array] = [T.T @ M @ T, h]
        converted += [part @ T if part.ndim == 2 else part for part in theirs[2:]]
        for ours, other in zip(kernel(state.q, state.nu), converted, strict=True):
            errors.append(float(np.abs(ours - other).max() / np.abs(other).max()))
    return max(errors)
