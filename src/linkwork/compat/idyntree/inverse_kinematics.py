"""Inverse kinematics with iDynTree's names, solved by `lw.ik`.

Targets       are reached as well as possible; `solve` may succeed without reaching them
Constraints   frame constraints, and targets that are treated as constraints, must be met. They have
              much larger weights than the targets, and are solved alone if the targets prevent them
Anchor        one frame whose pose is constrained completely is the base of the computation, so this
              constraint is met exactly; without one, the base floats
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import write, write_all
from linkwork.compat.idyntree.files import ModelLoader, createReducedModel
from linkwork.compat.idyntree.geometry import Transform
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.statuses import Partial, status, success
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, ShapeError, shown
from linkwork.inverse_kinematics.ik import IkResult, ik
from linkwork.kindyn import KinDyn
from linkwork.model.layout import BASE_NQ, Layout
from linkwork.model.numbers import argument
from linkwork.model.pose import as_floats
from linkwork.spatial import quat

InverseKinematicsRotationParametrizationQuaternion = 0
InverseKinematicsRotationParametrizationRollPitchYaw = 1
InverseKinematicsTreatTargetAsConstraintNone = 0
InverseKinematicsTreatTargetAsConstraintPositionOnly = 1
InverseKinematicsTreatTargetAsConstraintRotationOnly = 2
InverseKinematicsTreatTargetAsConstraintFull = 3

POSITION, ROTATION, FULL = 1, 2, 3  # parts of a pose, as bits
BITS = {POSITION: (POSITION,), ROTATION: (ROTATION,), FULL: (POSITION, ROTATION)}
COM = "com"  # name of the center of mass among the frames with targets
HARD = 1e6  # weight of a constraint; lw.ik scales residuals by its square root
UNLIMITED = 1e20  # a larger limit means no limit


@dataclass
class _Goal:
    """A target pose of a frame, and which parts of it are used."""

    parts: int = FULL  # bits of POSITION and ROTATION
    constrained: int = 0  # bits of the parts that are constraints
    active: bool = True
    tolerance: float = 0.0  # distance within which a constraint counts as met, if larger than usual
    pose: Array = field(default_factory=lambda: np.eye(4))
    weights: dict[int, float] = field(default_factory=lambda: {POSITION: 1.0, ROTATION: 1.0})

    def set(self, value: ArrayLike, parts: int, *weights: float) -> None:
        """Set parts of the pose, from a pose or from these parts, and weights that are not < 0."""
        if parts == FULL or np.shape(value) == (4, 4):
            pose = Transform(value)
        else:
            pose = Transform(*((value, np.zeros(3)) if parts == ROTATION else (np.eye(3), value)))
        if parts & POSITION:
            self.pose[:3, 3] = pose[:3, 3]
        if parts & ROTATION:
            self.pose[:3, :3] = pose[:3, :3]
        pairs = zip(BITS[parts], weights, strict=False)
        self.weights |= {part: float(weight) for part, weight in pairs if weight >= 0}

    def factors(self) -> list[float]:
        """Return the factors of both residuals for `lw.ik`; iDynTree weights their squares."""
        squares = [HARD if self.constrained & part else self.weights[part] for part in BITS[FULL]]
        used = [bool(self.parts & part) for part in BITS[FULL]]
        return (np.sqrt(squares) * used).tolist()


class InverseKinematics(Partial):
    """Computes joint positions and a pose of the base at which frames reach their targets."""

    def __init__(self) -> None:
        self._full, self._reduced = Model(), Model()
        self._considered: list[str] = []  # names of the moving joints
        self._moving_coordinates: list[int] = []  # their indices in the positions of all joints
        self._base = ""
        self._base_pose, self._positions = np.eye(4), np.zeros(0)  # current configuration
        self._kd: dict[str, KinDyn] = {}  # by base
        self.clearProblem()

    def loadModelFromFile(
        self,
        filename: str | PathLike[str],
        consideredJoints: Sequence[str] = (),
        filetype: str = "urdf",
    ) -> bool:
        """Load a robot; if joints are listed, the others do not move."""
        loader = ModelLoader()
        loaded = loader.loadModelFromFile(filename, filetype)
        return loaded and self.setModel(loader.model(), consideredJoints)

    @success
    def setModel(self, model: Model, consideredJoints: Sequence[str] = ()) -> None:
        """Set a robot; if joints are listed, the others do not move."""
        moving = [joint.name for joint in argument(model, Model, "model").robot.joints if joint.nq]
        considered = [model.robot.joint(name).name for name in consideredJoints]
        self._considered = [name for name in considered if name in moving] or moving
        self._full = model.copy()
        self._reduced.copy_from(self._full)
        if self._considered != moving:
            createReducedModel(self._full, self._considered, self._reduced)
        self._moving_coordinates = [k for name in self._considered for k in self._coordinates(name)]
        self._base, self._kd = model.link_name(model.getDefaultBaseLink()), {}
        self._base_pose = np.eye(4)
        self._positions = Layout(model.robot, floating=False).neutral()
        self.clearProblem()

    def fullModel(self) -> Model:
        """Return the robot with all its joints."""
        return self._full

    def reducedModel(self) -> Model:
        """Return the robot with only the considered joints."""
        return self._reduced

    def clearProblem(self) -> None:
        """Remove targets, constraints and parameters; the robot stays."""
        self._targets: dict[str, _Goal] = {}
        self._constraints: dict[str, _Goal] = {}
        self._com = _Goal(POSITION, active=False)
        self._posture: Array | None = None
        self._posture_weight = 1e-6
        self._start: tuple[Array | None, Array | None] = None, None  # of the base and the joints
        self._solution: tuple[KinDyn, Array] | None = None
        self._mode = InverseKinematicsTreatTargetAsConstraintNone
        self._iterations, self._constraint_tolerance = 3000, 1e-4

    # The robot.

    @success
    def setFloatingBaseOnFrameNamed(self, floatingBaseFrameName: str) -> None:
        """Choose the frame whose pose is the pose of the base."""
        self._base = self._frame(floatingBaseFrameName)

    @success
    def setCurrentRobotConfiguration(
        self, baseConfiguration: ArrayLike, jointConfiguration: ArrayLike
    ) -> None:
        """Set the current configuration: the start, and the positions of joints that are fixed."""
        positions = self._checked_positions(jointConfiguration, self._full, "jointConfiguration")
        self._base_pose, self._positions = Transform(baseConfiguration).toNumPy(), positions

    @success
    def setJointConfiguration(self, jointName: str, jointConfiguration: float) -> None:
        """Set the current position of one joint."""
        self._positions[self._coordinates(jointName)] = jointConfiguration

    @success
    def getJointLimits(self, jointLimitsMin: Any, jointLimitsMax: Any) -> None:
        """Write the limits of all degrees of freedom of the full model."""
        limits = [joint.getPosLimits(0) for joint in self._moving_joints()]
        write(np.array([lower for lower, _ in limits]), jointLimitsMin)
        write(np.array([upper for _, upper in limits]), jointLimitsMax)

    @success
    def setJointLimits(self, jointLimitsMin: ArrayLike, jointLimitsMax: ArrayLike) -> None:
        """Set the limits of all degrees of freedom of the full model."""
        joints = self._moving_joints()
        limits = [np.ravel(as_floats(x, "joint limits")) for x in (jointLimitsMin, jointLimitsMax)]
        if not len(limits[0]) == len(limits[1]) == len(joints):
            sizes = f"{len(limits[0])} and {len(limits[1])}"
            raise ShapeError(f"joint limits: expected {len(joints)} elements each, got {sizes}")
        unlimited = [np.where(abs(x) < UNLIMITED, x, np.copysign(np.inf, x)) for x in limits]
        for joint, lower, upper in zip(joints, *(x.tolist() for x in unlimited), strict=True):
            joint.setPosLimits(0, lower, upper)
            joint.enablePosLimits(True)
        self._kd = {}

    # Parameters.

    def setMaxIterations(self, max_iter: int) -> None:
        """Set the largest number of iterations from one start."""
        self._iterations = int(max_iter)

    def setConstraintsTolerance(self, constr_tol: float) -> None:
        """Set the distance [m] and angle [rad] within which a constraint counts as met."""
        self._constraint_tolerance = float(constr_tol)

    def setCostTolerance(self, tol: float) -> None:
        """Do nothing: a tolerance of IPOPT."""

    def setMaxCPUTime(self, max_cpu_time: float) -> None:
        """Do nothing: a time limit of IPOPT."""

    def setVerbosity(self, verbose: int) -> None:
        """Do nothing: solving prints nothing."""

    def setLinearSolverName(self, solverName: str) -> None:
        """Do nothing: a linear solver of IPOPT."""

    def setRotationParametrization(self, parametrization: int) -> None:
        """Do nothing: `lw.ik` needs no parametrization of rotations."""

    # Constraints.

    @status(False)
    def addFrameConstraint(self, frameName: str, constraintValue: ArrayLike | None = None) -> bool:
        """Keep a frame at a pose, by default at its current pose; False if it has a constraint."""
        if constraintValue is None:
            kd = self._computation(self._base)
            q = self._configuration(kd, self._base_pose)
            constraintValue = kd.transform(self._frame(frameName), q)
        return self._add(self._constraints, frameName, constraintValue, FULL, FULL)

    @status(False)
    def addFramePositionConstraint(self, frameName: str, constraintValue: ArrayLike) -> bool:
        """Keep the origin of a frame at a position."""
        return self._add(self._constraints, frameName, constraintValue, POSITION, POSITION)

    @status(False)
    def addFrameRotationConstraint(self, frameName: str, constraintValue: ArrayLike) -> bool:
        """Keep the orientation of a frame."""
        return self._add(self._constraints, frameName, constraintValue, ROTATION, ROTATION)

    def activateFrameConstraint(self, frameName: str, newConstraintValue: ArrayLike) -> bool:
        """Enable a constraint that was disabled, with another value; False if there is none."""
        goal = self._constraints.get(frameName, _Goal())
        goal.active, goal.pose = True, Transform(newConstraintValue).toNumPy()
        return frameName in self._constraints

    def deactivateFrameConstraint(self, frameName: str) -> bool:
        """Disable a constraint; False if there is none."""
        self._constraints.get(frameName, _Goal()).active = False
        return frameName in self._constraints

    def isFrameConstraintActive(self, frameName: str) -> bool:
        """Return whether a frame has an enabled constraint."""
        return self._constraints.get(frameName, _Goal(active=False)).active

    # Targets.

    @status(False)
    def addTarget(self, frameName: str, targetValue: ArrayLike, *weights: float) -> bool:
        """Add a target pose of a frame; False if the frame already has a target.

        Args:
            frameName: the frame.
            targetValue: the pose.
            weights: of the position and of the rotation; by default 1.
        """
        return self._add(self._targets, frameName, targetValue, FULL, self._mode, *weights)

    @status(False)
    def addPositionTarget(
        self, frameName: str, targetValue: ArrayLike, positionWeight: float = 1.0
    ) -> bool:
        """Add a target position of the origin of a frame."""
        goals, weight = self._targets, positionWeight
        return self._add(goals, frameName, targetValue, POSITION, self._mode, weight)

    @status(False)
    def addRotationTarget(
        self, frameName: str, targetValue: ArrayLike, rotationWeight: float = 1.0
    ) -> bool:
        """Add a target orientation of a frame."""
        goals, weight = self._targets, rotationWeight
        return self._add(goals, frameName, targetValue, ROTATION, self._mode, weight)

    def updateTarget(self, frameName: str, targetValue: ArrayLike, *weights: float) -> bool:
        """Change a target; negative weights keep the old ones; False if there is no target."""
        return self._update(frameName, targetValue, FULL, *weights)

    def updatePositionTarget(self, frameName: str, targetValue: ArrayLike, *weight: float) -> bool:
        """Change the position of a target; False if there is no target with a position."""
        return self._update(frameName, targetValue, POSITION, *weight)

    def updateRotationTarget(self, frameName: str, targetValue: ArrayLike, *weight: float) -> bool:
        """Change the orientation of a target; False if there is no target with one."""
        return self._update(frameName, targetValue, ROTATION, *weight)

    def setDefaultTargetResolutionMode(self, mode: int) -> None:
        """Set which parts of targets added from now on are constraints."""
        self._mode = int(mode)

    def setTargetResolutionMode(self, targetName: str, mode: int) -> bool:
        """Set which parts of a target are constraints; False if there is no target."""
        self._targets.get(targetName, _Goal()).constrained = int(mode)
        return targetName in self._targets

    def setCOMTarget(self, desiredPosition: ArrayLike, weight: float = 1.0) -> bool:
        """Set a target position of the center of mass."""
        self._com.set(desiredPosition, POSITION, weight)
        self._com.active = True
        return True

    def setCOMAsConstraint(self, asConstraint: bool = True) -> None:
        """Set whether the target of the center of mass is a constraint."""
        self._com.constrained = POSITION if asConstraint else 0

    def setCOMAsConstraintTolerance(self, tolerance: float = 1e-8) -> None:
        """Set the distance within which the constraint on the center of mass counts as met.

        A tolerance below `setConstraintsTolerance` has no effect.
        """
        self._com.tolerance = float(tolerance)

    def isCOMTargetActive(self) -> bool:
        """Return whether the center of mass has a target."""
        return self._com.active

    def deactivateCOMTarget(self) -> None:
        """Remove the target of the center of mass."""
        self._com.active = False

    @success
    def setDesiredFullJointsConfiguration(
        self, desiredJointConfiguration: ArrayLike, weight: ArrayLike = -1.0
    ) -> None:
        """Set positions of all joints to stay near; a negative weight keeps the old one."""
        name, weights = "desiredJointConfiguration", np.unique(as_floats(weight, "weight"))
        self._posture = self._checked_positions(desiredJointConfiguration, self._full, name)
        if len(weights) != 1:
            message = f"weight: expected the same for all joints, got {shown(weight)}"
            raise ArgumentError(f"{message}; lw.ik has one weight for all joints")
        if weights[0] >= 0:
            self._posture_weight = float(weights[0])

    # Solving.

    @success
    def setFullJointsInitialCondition(
        self, baseTransform: ArrayLike | None, initialCondition: ArrayLike | None
    ) -> None:
        """Set the start; parts that are None start at the current configuration."""
        self._check_model()
        base, joints = self._start
        if baseTransform is not None:
            base = Transform(baseTransform).toNumPy()
        if initialCondition is not None:
            joints = self._checked_positions(initialCondition, self._full, "initialCondition")
        self._start = base, joints

    @status(False)
    def solve(self) -> bool:
        """Solve from the start; if targets are not reached, also from other starts.

        Returns:
            Whether the constraints are met. Targets that are not constraints may be missed.
        """
        self._check_model()
        goals = {**self._targets, **self._constraints, COM: self._com}
        goals = {name: one for name, one in goals.items() if one.active and any(one.factors())}
        full = [name for name, goal in goals.items() if goal.constrained == goal.parts == FULL]
        anchor = (self._base if self._base in full else full[0]) if full else None
        kd = self._computation(anchor or self._base)
        moving = [joint.name for joint in self._full.robot.joints if joint.nq]
        hold = [name for name in moving if name not in self._considered]
        base, joints = self._start
        if anchor is not None:
            hold.append("base")
            base = goals.pop(anchor).pose
        q0 = self._configuration(kd, self._base_pose if base is None else base, joints)
        result = self._solve_from(kd, goals, q0, hold)
        if not self._constraints_met(result, goals):
            bits = {name: goal.parts & goal.constrained for name, goal in goals.items()}
            alone = {name: replace(goals[name], parts=some) for name, some in bits.items() if some}
            result = self._solve_from(kd, alone, result.q, hold)
        self._solution = kd, result.q
        return self._constraints_met(result, goals)

    def getFullJointsSolution(self, baseTransformSolution: Any, shapeSolution: Any) -> bool:
        """Write the pose of the base and the positions of all joints."""
        kd, q = self._solved_configuration()
        values = kd.transform(self._base, q), q[BASE_NQ:]
        return write_all(values, (baseTransformSolution, shapeSolution))

    def getReducedSolution(self, baseTransformSolution: Any, shapeSolution: Any) -> bool:
        """Write the pose of the base and the positions of the considered joints."""
        joints = np.zeros(len(self._positions))
        self.getFullJointsSolution(baseTransformSolution, joints)
        write(joints[self._moving_coordinates], shapeSolution)
        return True

    @success
    def getPoseForFrame(self, frameName: str, transform: Any) -> None:
        """Write the pose of a frame at the solution."""
        kd, q = self._solved_configuration()
        write(kd.transform(self._frame(frameName), q), transform)

    def _solve_from(
        self, kd: KinDyn, goals: dict[str, _Goal], q0: Array, hold: list[str]
    ) -> IkResult:
        poses = {
            name: goal.pose if goal.factors()[1] else goal.pose[:3, 3]
            for name, goal in goals.items()
        }
        weights = {name: goal.factors()[: poses[name].ndim] for name, goal in goals.items()}
        posture = None if self._posture is None else np.append(q0[:BASE_NQ], self._posture)
        return ik(
            kd,
            poses,
            q0,
            com=poses.pop(COM, None),
            hold=hold,
            posture=posture,
            posture_weight=float(np.sqrt(self._posture_weight)),
            weights={name: one if len(one) > 1 else one[0] for name, one in weights.items()},
            tolerance=min(1e-6, self._constraint_tolerance),
            max_iterations=max(self._iterations, 1),
        )

    def _constraints_met(self, result: IkResult, goals: dict[str, _Goal]) -> bool:
        """Return whether a result meets the constraints."""
        errors = {POSITION: result.position_errors, ROTATION: result.rotation_errors}
        return all(
            errors[part][name] <= max(self._constraint_tolerance, goal.tolerance)
            for name, goal in goals.items()
            for part in BITS[FULL]
            if part & goal.constrained & goal.parts
        )

    def _add(
        self,
        goals: dict[str, _Goal],
        name: str,
        value: ArrayLike,
        parts: int,
        constrained: int,
        *weights: float,
    ) -> bool:
        """Add a target or constraint of a frame; return False if it has one."""
        goal = _Goal(parts, constrained)
        goal.set(value, parts, *weights)
        return goals.setdefault(self._frame(name), goal) is goal

    def _update(self, name: str, value: ArrayLike, parts: int, *weights: float) -> bool:
        """Change parts of a target, and weights that are not negative."""
        goal = self._targets.get(name, _Goal(0))
        if goal.parts & parts:
            goal.set(value, parts, *weights)
        return bool(goal.parts & parts)

    def _computation(self, base: str) -> KinDyn:
        if base not in self._kd:
            self._kd[base] = KinDyn(self._full.robot, base, floating=True)
        return self._kd[base]

    def _configuration(self, kd: KinDyn, pose: Array, start: Array | None = None) -> Array:
        """(nq,) with a pose of the base of `kd`; fixed joints keep their positions."""
        joints, moving = self._positions.copy(), self._moving_coordinates
        if start is not None:
            joints[moving] = start[moving]
        q = np.concatenate([pose[:3, 3], quat.from_rotation(pose[:3, :3]), joints])
        return kd.normalize(q)

    def _coordinates(self, name: str) -> list[int]:
        """Return the indices of a joint's coordinates in the positions of all joints."""
        joint = self._full.getJoint(self._full.robot.joint_index(name))
        first = joint.getPosCoordsOffset()
        return [*range(first, first + joint.getNrOfPosCoords())]

    def _moving_joints(self) -> list[Any]:
        self._check_model()
        joints = map(self._full.getJoint, range(self._full.getNrOfJoints()))
        return [joint for joint in joints if joint.getNrOfDOFs()]

    def _checked_positions(self, positions: ArrayLike, model: Model, name: str) -> Array:
        self._check_model()
        values = np.ravel(as_floats(positions, name))
        if len(values) != model.getNrOfPosCoords():
            message = f"{name}: expected {model.getNrOfPosCoords()} elements, got {len(values)}"
            raise ShapeError(message)
        return np.array(values, subok=False)

    def _frame(self, name: str) -> str:
        self._check_model()
        robot = self._full.robot
        return robot.frame_names[robot.frame_index(name)]

    def _check_model(self) -> None:
        if not self._full.getNrOfLinks():
            raise LinkworkError("no robot yet; call setModel first")

    def _solved_configuration(self) -> tuple[KinDyn, Array]:
        if self._solution is None:
            raise LinkworkError("no solution yet; call solve() first")
        return self._solution
