"""Solvers of inverse kinematics, each with one robot, called for one target at a time.

Each gets the same robot: that of the file, without the joints that do not move the frame. A solver
takes a target and a start, and gives the joints of the chain, or None where it says that it failed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from urdf_text import for_mujoco, lumped

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array

POSITION, ROTATION = 1e-4, 1e-3  # what counts as reached [m], [rad]
STEPS = 100  # the most from one start


@dataclass(frozen=True)
class Chain:
    """The robot, as linkwork has it and as a URDF text, and what is asked of it."""

    model: lw.Model
    frame: str
    urdf: str
    base: str  # the root link of the text
    lower: Array
    upper: Array


class Solver(ABC):
    """A library with one robot."""

    name: ClassVar[str]
    package: ClassVar[str]
    restarts_itself: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, chain: Chain) -> None:
        """Load the robot."""

    @abstractmethod
    def solve(self, target: Array, start: Array) -> Array | None:
        """(n,) joints for a pose (4, 4) of the frame in the root link; None if it failed."""


def _reached(error: Array) -> bool:
    """Whether a twist [linear; angular] to the target is small enough."""
    return bool(np.linalg.norm(error[:3]) < POSITION and np.linalg.norm(error[3:]) < ROTATION)


class DampedLeastSquares(Solver):
    """A page of Python with Pinocchio: damped least squares, positions clipped to their limits."""

    name, package = "pin, damped least squares in Python", "pin"

    def __init__(self, chain: Chain) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.buildModelFromXML(chain.urdf)
        self.data, self.frame = self.model.createData(), self.model.getFrameId(chain.frame)

    def solve(self, target: Array, start: Array) -> Array | None:
        pin, model, data, frame = self.pin, self.model, self.data, self.frame
        wanted, q = pin.SE3(target), start.copy()
        lower, upper = model.lowerPositionLimit, model.upperPositionLimit
        for _ in range(STEPS):
            pin.computeJointJacobians(model, data, q)
            at = pin.updateFramePlacement(model, data, frame)
            error = pin.log6(at.actInv(wanted)).vector
            if _reached(error):
                return q
            J = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL)
            damping = 1e-9 + 0.05 * error @ error
            step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error)
            q = np.clip(pin.integrate(model, q, step), lower, upper)
        return None


class Pink(Solver):
    """pink: a quadratic program for each step, with the limits of the joints."""

    name, package = "pink", "pin-pink"

    def __init__(self, chain: Chain) -> None:
        import pink
        import pinocchio as pin
        from pink.limits import ConfigurationLimit

        self.pin, self.pink, self.model = pin, pink, pin.buildModelFromXML(chain.urdf)
        self.data = self.model.createData()
        self.task = pink.FrameTask(chain.frame, 1.0, 1.0, lm_damping=0.1)
        self.limits = [ConfigurationLimit(self.model, config_limit_gain=1.0)]

    def solve(self, target: Array, start: Array) -> Array | None:
        configuration = self.pink.Configuration(self.model, self.data, start, copy_data=False)
        self.task.set_target(self.pin.SE3(target))
        for _ in range(STEPS):
            if _reached(self.task.compute_error(configuration)):
                return configuration.q
            velocity = self.pink.solve_ik(
                *(configuration, [self.task], 1.0, "daqp"), limits=self.limits, safety_break=False
            )
            configuration.integrate_inplace(velocity, 1.0)
        return None


class Mink(Solver):
    """mink: the same with MuJoCo."""

    name, package = "mink", "mink"

    def __init__(self, chain: Chain) -> None:
        import mink
        import mujoco

        spec = mujoco.MjSpec.from_string(for_mujoco(lumped(chain.model)))
        spec.body(chain.frame).add_site(name="site")
        self.mink = mink
        self.configuration = mink.Configuration(spec.compile())
        self.task = mink.FrameTask("site", "site", 1.0, 1.0, lm_damping=0.1)
        self.limits = [mink.ConfigurationLimit(self.configuration.model, gain=1.0)]

    def solve(self, target: Array, start: Array) -> Array | None:
        mink, configuration = self.mink, self.configuration
        configuration.update(start)
        self.task.set_target(mink.SE3.from_matrix(target))
        for _ in range(STEPS):
            if _reached(self.task.compute_error(configuration)):
                return configuration.q.copy()
            velocity = mink.solve_ik(configuration, [self.task], 1.0, "daqp", limits=self.limits)
            configuration.integrate_inplace(velocity, 1.0)
        return None


class TracIK(Solver):
    """TRAC-IK: Newton's method and sequential quadratic programs in two threads, in C++."""

    name, package, restarts_itself = "TRAC-IK (two threads)", "pytracik", True

    def __init__(self, chain: Chain) -> None:
        from trac_ik import TracIK as Bound

        with TemporaryDirectory() as folder:
            path = Path(folder) / "robot.urdf"
            path.write_text(chain.urdf, encoding="utf-8")
            # its tolerance is of each of six numbers; half of ours keeps it on the safe side
            self.solver = Bound(chain.base, chain.frame, str(path), 0.05, POSITION / 2)

    def solve(self, target: Array, start: Array) -> Array | None:
        return self.solver.ik(target[:3, 3], target[:3, :3], start)


class RoboticsToolbox(Solver):
    """The Levenberg-Marquardt method of the Robotics Toolbox in C++, with its own restarts."""

    name, package, restarts_itself = "Robotics Toolbox", "roboticstoolbox-python", True

    def __init__(self, chain: Chain) -> None:
        import pinocchio as pin
        from roboticstoolbox import ET

        model = pin.buildModelFromXML(chain.urdf)
        kinds = {"RX": ET.Rx, "RY": ET.Ry, "RZ": ET.Rz, "PX": ET.tx, "PY": ET.ty, "PZ": ET.tz}
        parts: list[Any] = []
        for k in range(1, model.njoints):
            kind = kinds[model.joints[k].shortname().removeprefix("JointModel")]
            limits = np.array([chain.lower[k - 1], chain.upper[k - 1]])
            parts += [ET.SE3(model.jointPlacements[k].homogeneous), kind(qlim=limits)]
        frame = model.frames[model.getFrameId(chain.frame)]
        self.ets: Any = parts[0]
        for part in [*parts[1:], ET.SE3(frame.placement.homogeneous)]:
            self.ets = self.ets * part

    def solve(self, target: Array, start: Array) -> Array | None:
        # half of the sum of squares has to be below the tolerance; 33 starts as the others
        solution = self.ets.ik_LM(
            target, start, ilimit=30, slimit=33, tol=POSITION**2 / 2, k=0.1, method="chan"
        )
        return solution.q if solution.success else None


class PyTorchKinematics(Solver):
    """pytorch-kinematics: batches of damped pseudoinverse steps, many starts for each target."""

    name, package, restarts_itself = "pytorch-kinematics, batch", "pytorch-kinematics", True

    def __init__(self, chain: Chain) -> None:
        import pytorch_kinematics as pk
        import torch

        torch.set_num_threads(1)
        self.torch, self.pk = torch, pk
        robot = pk.build_serial_chain_from_urdf(chain.urdf.encode(), chain.frame)
        self.robot = robot.to(dtype=torch.float64)
        self.limits = torch.tensor(np.stack([chain.lower, chain.upper], axis=-1))

    def solve_all(self, targets: Array, starts: Array) -> Sequence[Array | None]:
        """For all targets (m, 4, 4), from all starts (k, n) of each; the first good one counts."""
        torch, pk = self.torch, self.pk
        solver = pk.PseudoInverseIK(
            self.robot,
            pos_tolerance=POSITION,
            rot_tolerance=ROTATION,
            retry_configs=torch.tensor(starts),
            joint_limits=self.limits,
            max_iterations=STEPS,
            early_stopping_any_converged=True,
            lm_damping=1e-3,
        )
        solution = solver.solve(pk.Transform3d(matrix=torch.tensor(targets)))
        good, q = solution.converged.numpy(), solution.solutions.detach().numpy()
        return [
            rows[which.argmax()] if which.any() else None
            for rows, which in zip(q, good, strict=True)
        ]

    def solve(self, target: Array, start: Array) -> Array | None:
        return self.solve_all(target[None], start[None])[0]


SOLVERS: tuple[type[Solver], ...] = (
    *(DampedLeastSquares, Pink, Mink, TracIK, RoboticsToolbox, PyTorchKinematics),
)
