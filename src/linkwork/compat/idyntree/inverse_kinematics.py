"""Inverse kinematics with iDynTree's names, solved by `lw.ik`.

Targets       are reached as well as possible; `solve` may succeed without reaching them
Constraints   frame constraints, and targets that are treated as constraints, must be met
Base          floats unless a frame is constrained
Anchor        one frame whose pose is constrained completely is the base of the computation, so this
              constraint is met exactly; the others have much larger weights than the targets, and
              are solved separately at the end if the targets prevent them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.absent import Partial
from linkwork.compat.idyntree.arrays import write
from linkwork.compat.idyntree.geometry import Transform
from linkwork.compat.idyntree.robot.loader import ModelLoader, createReducedModel
from linkwork.compat.idyntree.robot.model import Model
from linkwork.compat.idyntree.statuses import status, success
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, ShapeError, shown
from linkwork.inverse_kinematics.ik import IkResult, ik
from linkwork.kindyn import KinDyn
from linkwork.model.layout import BASE_NQ, Layout
from linkwork.model.pose import as_floats
from linkwork.spatial import quat

InverseKinematicsRotationParametrizationQuaternion = 0
InverseKinematicsRotationParametrizationRollPitchYaw = 1
InverseKinematicsTreatTargetAsConstraintNone = 0
InverseKinematicsTreatTargetAsConstraintPositionOnly = 1
InverseKinematicsTreatTargetAsConstraintRotationOnly = 2
InverseKinematicsTreatTargetAsConstraintFull = 3

POSITION, ROTATION, FULL = 1, 2, 3  # parts of a pose, as bits
COM = "com"  # name of the center of mass among the frames with targets
HARD = 1e6  # weight of a constraint; lw.ik scales residuals by its square root
UNLIMITED = 1e20  # a larger limit means no limit
TOLERANCE = 1e-6  # error below which a target counts as reached, so that no restart is needed
RESTARTS = 64
BETTER = 0.01  # another start is preferred to the initial condition if its cost is lower by 1 %


@dataclass
class _Goal:
    """A target pose of a frame, and which parts of it are used."""

    pose: Array  # (4, 4)
    parts: int = FULL  # bits of POSITION and ROTATION
    position_weight: float = 1.0
    rotation_weight: float = 1.0
    constrained: int = 0  # bits of the parts that are constraints
    active: bool = True
    tolerance: float = 0.0  # distance within which a constraint counts as met, if larger than usual

    def weights(self) -> tuple[float, float]:
        """Return the factors of both residuals for `lw.ik`; iDynTree weights their squares."""
        position = HARD if self.constrained & POSITION else self.position_weight
        rotation = HARD if self.constrained & ROTATION else self.rotation_weight
        return (
            float(np.sqrt(position)) if self.parts & POSITION else 0.0,
            float(np.sqrt(rotation)) if self.parts & ROTATION else 0.0,
        )

    def weighted_target(self) -> tuple[Array, Any]:
        """Return the target and its weights as `lw.ik` takes them: a position, or a pose."""
        position, rotation = self.weights()
        return (self.pose, (position, rotation)) if rotation else (self.pose[:3, 3], position)


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
        if not isinstance(model, Model):
            raise ArgumentError(f"model: expected a Model, got {shown(model)}")
        robot = model.robot
        moving = [joint.name for joint in robot.joints if joint.nq]
        considered = [robot.joint(name).name for name in consideredJoints]
        self._considered = [name for name in considered if name in moving] or moving
        self._full = model.copy()
        if self._considered == moving:
            self._reduced.copy_from(self._full)
        else:
            createReducedModel(self._full, self._considered, self._reduced)
        self._moving_coordinates = [k for name in self._considered for k in self._coordinates(name)]
        self._base = model.link_name(model.getDefaultBaseLink())
        self._kd = {}
        self._base_pose, self._positions = np.eye(4), Layout(robot, floating=False).neutral()
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
        self._com = _Goal(np.eye(4), POSITION, active=False)
        self._posture: Array | None = None
        self._posture_weight = 1e-6
        self._start_base: Array | None = None
        self._start_joints: Array | None = None
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
        joints = self._moving_joints()
        write(np.array([joint.getMinPosLimit() for joint in joints]), jointLimitsMin)
        write(np.array([joint.getMaxPosLimit() for joint in joints]), jointLimitsMax)

    @success
    def setJointLimits(self, jointLimitsMin: ArrayLike, jointLimitsMax: ArrayLike) -> None:
        """Set the limits of all degrees of freedom of the full model."""
        joints = self._moving_joints()
        lower = np.ravel(as_floats(jointLimitsMin, "jointLimitsMin"))
        upper = np.ravel(as_floats(jointLimitsMax, "jointLimitsMax"))
        if not len(lower) == len(upper) == len(joints):
            sizes = f"{len(lower)} and {len(upper)}"
            raise ShapeError(f"joint limits: expected {len(joints)} elements each, got {sizes}")
        for joint, low, high in zip(joints, lower.tolist(), upper.tolist(), strict=True):
            joint.setPosLimits(
                0,
                low if abs(low) < UNLIMITED else -np.inf,
                high if abs(high) < UNLIMITED else np.inf,
            )
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
        """Keep a frame at a pose, by default at its current pose.

        Returns:
            False if the frame already has a constraint.
        """
        if constraintValue is None:
            kd = self._computation(self._base)
            q = self._configuration(kd, self._base_pose)
            constraintValue = kd.transform(self._frame(frameName), q)
        return self._add_constraint(frameName, constraintValue, FULL)

    @status(False)
    def addFramePositionConstraint(self, frameName: str, constraintValue: ArrayLike) -> bool:
        """Keep the origin of a frame at a position."""
        return self._add_constraint(frameName, constraintValue, POSITION)

    @status(False)
    def addFrameRotationConstraint(self, frameName: str, constraintValue: ArrayLike) -> bool:
        """Keep the orientation of a frame."""
        return self._add_constraint(frameName, constraintValue, ROTATION)

    def activateFrameConstraint(self, frameName: str, newConstraintValue: ArrayLike) -> bool:
        """Enable a constraint that was disabled, with another value; False if there is none."""
        goal = self._constraints.get(frameName)
        if goal is not None:
            goal.active, goal.pose = True, Transform(newConstraintValue).toNumPy()
        return goal is not None

    def deactivateFrameConstraint(self, frameName: str) -> bool:
        """Disable a constraint; False if there is none."""
        goal = self._constraints.get(frameName)
        if goal is not None:
            goal.active = False
        return goal is not None

    def isFrameConstraintActive(self, frameName: str) -> bool:
        """Return whether a frame has an enabled constraint."""
        return frameName in self._constraints and self._constraints[frameName].active

    # Targets.

    @status(False)
    def addTarget(
        self,
        frameName: str,
        targetValue: ArrayLike,
        positionWeight: float = 1.0,
        rotationWeight: float = 1.0,
    ) -> bool:
        """Add a target pose of a frame; False if the frame already has a target."""
        return self._add_target(frameName, targetValue, FULL, positionWeight, rotationWeight)

    @status(False)
    def addPositionTarget(
        self, frameName: str, targetValue: ArrayLike, positionWeight: float = 1.0
    ) -> bool:
        """Add a target position of the origin of a frame."""
        return self._add_target(frameName, targetValue, POSITION, positionWeight, 0.0)

    @status(False)
    def addRotationTarget(
        self, frameName: str, targetValue: ArrayLike, rotationWeight: float = 1.0
    ) -> bool:
        """Add a target orientation of a frame."""
        return self._add_target(frameName, targetValue, ROTATION, 0.0, rotationWeight)

    def updateTarget(
        self,
        frameName: str,
        targetValue: ArrayLike,
        positionWeight: float = -1.0,
        rotationWeight: float = -1.0,
    ) -> bool:
        """Change a target; negative weights keep the old ones; False if there is no target."""
        return self._update(frameName, targetValue, FULL, positionWeight, rotationWeight)

    def updatePositionTarget(
        self, frameName: str, targetValue: ArrayLike, positionWeight: float = -1.0
    ) -> bool:
        """Change the position of a target; False if there is no target with a position."""
        return self._update(frameName, targetValue, POSITION, positionWeight, -1.0)

    def updateRotationTarget(
        self, frameName: str, targetValue: ArrayLike, rotationWeight: float = -1.0
    ) -> bool:
        """Change the orientation of a target; False if there is no target with one."""
        return self._update(frameName, targetValue, ROTATION, -1.0, rotationWeight)

    def setDefaultTargetResolutionMode(self, mode: int) -> None:
        """Set which parts of targets added from now on are constraints."""
        self._mode = int(mode)

    def setTargetResolutionMode(self, targetName: str, mode: int) -> bool:
        """Set which parts of a target are constraints; False if there is no target."""
        goal = self._targets.get(targetName)
        if goal is not None:
            goal.constrained = int(mode)
        return goal is not None

    def setCOMTarget(self, desiredPosition: ArrayLike, weight: float = 1.0) -> bool:
        """Set a target position of the center of mass."""
        self._com.pose = _pose_with(np.eye(4), desiredPosition, POSITION)
        self._com.position_weight, self._com.active = float(weight), True
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
        name = "desiredJointConfiguration"
        self._posture = self._checked_positions(desiredJointConfiguration, self._full, name)
        weights = np.unique(as_floats(weight, "weight"))
        if len(weights) != 1:
            message = f"weight: expected the same for all joints, got {shown(weight)}"
            raise ArgumentError(f"{message}; lw.ik has one weight for all joints")
        if weights[0] >= 0:
            self._posture_weight = float(weights[0])

    @status(False)
    def setDesiredReducedJointConfiguration(
        self, desiredJointConfiguration: ArrayLike, weight: ArrayLike = -1.0
    ) -> bool:
        """Set positions of the considered joints to stay near."""
        joints = self._expanded(desiredJointConfiguration, "desiredJointConfiguration")
        return self.setDesiredFullJointsConfiguration(joints, weight)

    # Solving.

    @success
    def setFullJointsInitialCondition(
        self, baseTransform: ArrayLike | None, initialCondition: ArrayLike | None
    ) -> None:
        """Set the start; parts that are None start at the current configuration."""
        self._check_model()
        if baseTransform is not None:
            self._start_base = Transform(baseTransform).toNumPy()
        if initialCondition is not None:
            self._start_joints = self._checked_positions(
                initialCondition, self._full, "initialCondition"
            )

    @status(False)
    def setReducedInitialCondition(
        self, baseTransform: ArrayLike | None, initialCondition: ArrayLike | None
    ) -> bool:
        """Set the start of the base and of only the considered joints."""
        if initialCondition is not None:
            initialCondition = self._expanded(initialCondition, "initialCondition")
        return self.setFullJointsInitialCondition(baseTransform, initialCondition)

    @status(False)
    def solve(self) -> bool:
        """Solve from the start; if targets are not reached, also from other starts.

        Returns:
            Whether the constraints are met. Targets that are not constraints may be missed.
        """
        self._check_model()
        all_goals = {**self._targets, **self._constraints, COM: self._com}
        goals = {name: one for name, one in all_goals.items() if one.active and any(one.weights())}
        full = [name for name, goal in goals.items() if goal.constrained == goal.parts == FULL]
        anchor = (self._base if self._base in full else full[0]) if full else None
        kd = self._computation(anchor or self._base)
        moving = [joint.name for joint in self._full.robot.joints if joint.nq]
        fixed = [name for name in moving if name not in self._considered]
        pose = self._base_pose if self._start_base is None else self._start_base
        if anchor is not None:
            fixed.append("base")
            pose = goals.pop(anchor).pose
        q0 = self._configuration(kd, pose, self._start_joints)
        best = self._solve_from(kd, goals, q0, fixed)
        if not best.converged:
            other = self._solve_from(kd, goals, q0, fixed, restarts=RESTARTS)
            first, second = (
                (not self._constraints_met(result, goals), factor * _cost(result, goals))
                for result, factor in ((best, 1 - BETTER), (other, 1.0))
            )
            best = other if second < first else best
        if not self._constraints_met(best, goals):  # targets prevent it: solve constraints alone
            constraints = {
                name: replace(goal, parts=goal.parts & goal.constrained)
                for name, goal in goals.items()
                if goal.parts & goal.constrained
            }
            best = self._solve_from(kd, constraints, best.q, fixed)
        self._solution = kd, best.q
        return self._constraints_met(best, goals)

    def getFullJointsSolution(self, baseTransformSolution: Any, shapeSolution: Any) -> bool:
        """Write the pose of the base and the positions of all joints."""
        kd, q = self._solved_configuration()
        write(kd.transform(self._base, q), baseTransformSolution)
        write(q[BASE_NQ:], shapeSolution)
        return True

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
        self, kd: KinDyn, goals: dict[str, _Goal], q0: Array, fixed: list[str], restarts: int = 0
    ) -> IkResult:
        both = {name: goal.weighted_target() for name, goal in goals.items()}
        targets = {name: target for name, (target, _) in both.items()}
        com = targets.pop(COM, None)
        posture = None
        if self._posture is not None:
            posture = q0.copy()
            posture[BASE_NQ:] = self._posture
        return ik(
            kd,
            targets,
            q0,
            com=com,
            hold=fixed,
            posture=posture,
            posture_weight=float(np.sqrt(self._posture_weight)),
            weights={name: weight for name, (_, weight) in both.items()},
            tolerance=min(TOLERANCE, self._constraint_tolerance),
            max_iterations=max(self._iterations, 1),
            restarts=restarts,
        )

    def _constraints_met(self, result: IkResult, goals: dict[str, _Goal]) -> bool:
        """Return whether a result meets the constraints."""
        for name, goal in goals.items():
            parts = goal.constrained & goal.parts
            tolerance = max(self._constraint_tolerance, goal.tolerance)
            if parts & POSITION and result.position_errors[name] > tolerance:
                return False
            if parts & ROTATION and result.rotation_errors[name] > tolerance:
                return False
        return True

    def _add_constraint(self, name: str, value: ArrayLike, parts: int) -> bool:
        goal = _Goal(_pose_with(np.eye(4), value, parts), parts, constrained=parts)
        return self._constraints.setdefault(self._frame(name), goal) is goal

    def _add_target(self, name: str, value: ArrayLike, parts: int, *weights: float) -> bool:
        goal = _Goal(_pose_with(np.eye(4), value, parts), parts, *weights, constrained=self._mode)
        return self._targets.setdefault(self._frame(name), goal) is goal

    def _update(
        self, name: str, value: ArrayLike, parts: int, position: float, rotation: float
    ) -> bool:
        """Change parts of a target, and weights that are not negative."""
        goal = self._targets.get(name)
        if goal is None or not goal.parts & parts:
            return False
        goal.pose = _pose_with(goal.pose, value, parts)
        goal.position_weight = position if position >= 0 else goal.position_weight
        goal.rotation_weight = rotation if rotation >= 0 else goal.rotation_weight
        return True

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

    def _expanded(self, reduced: ArrayLike, name: str) -> Array:
        """Return the positions of all joints from the positions of the considered joints."""
        full = self._positions.copy()
        full[self._moving_coordinates] = self._checked_positions(reduced, self._reduced, name)
        return full

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


def _cost(result: IkResult, goals: dict[str, _Goal]) -> float:
    """Return the weighted sum of the squared errors of a result."""
    cost = 0.0
    for name, goal in goals.items():
        position, rotation = goal.weights()
        cost += float(position * result.position_errors[name]) ** 2
        if rotation:
            cost += float(rotation * result.rotation_errors[name]) ** 2
    return cost


def _pose_with(pose: Array, value: ArrayLike, parts: int) -> Array:
    """Return a pose with another position or orientation or both, which may be parts of a pose."""
    if parts == FULL or np.shape(value) == (4, 4):
        other = Transform(value).toNumPy()
    else:
        other = Transform(value, np.zeros(3)) if parts == ROTATION else Transform(np.eye(3), value)
    new = pose.copy()
    if parts & POSITION:
        new[:3, 3] = other[:3, 3]
    if parts & ROTATION:
        new[:3, :3] = other[:3, :3]
    return new
