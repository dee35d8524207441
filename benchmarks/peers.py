"""Other libraries: the same functions of the same robot, each in its fastest way.

Each takes a state in its own conventions (converting it is not timed) and leaves its result in a
NumPy array (which is timed). A library that is not installed, or that does not take a robot, is
left out with a note.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np
from conventions import Convention
from timing import Task

import linkwork as lw
from robots import GRAVITY, Case, State


class Peer(ABC):
    """Another library, with one robot loaded."""

    name: ClassVar[str]
    package: ClassVar[str]
    has_acceleration: ClassVar[bool] = True  # whether its inverse dynamics takes accelerations
    convention: Convention

    @abstractmethod
    def __init__(self, kd: lw.KinDyn, source: str, frame: str) -> None:
        """Load a robot: `source` is a file, or a URDF text."""

    @abstractmethod
    def tasks(self, function: str, state: State) -> list[Task]:
        """Ways to compute something of a state (in our conventions); none if it cannot."""


class Pinocchio(Peer):
    """Pinocchio's Python functions. Its results are views of its `Data`."""

    name, package = "pin", "pin"

    def __init__(self, kd: lw.KinDyn, source: str, frame: str) -> None:
        import pinocchio as pin

        load = pin.buildModelFromXML if source.lstrip().startswith("<") else pin.buildModelFromUrdf
        self.pin, self.model = pin, load(source, pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array(GRAVITY)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(frame, pin.FrameType.BODY)
        self.convention = Convention(kd, "body", list(self.model.names)[2:])

    def tasks(self, function: str, state: State) -> list[Task]:
        """In both of its conventions where it has two: which is faster depends on the robot."""
        pin, own = self.pin, self.convention.state(state)
        q = self.convention.q(state.q, scalar_last=True)
        both = (pin.Convention.LOCAL, pin.Convention.WORLD)
        start = (self.model, self.data, q)
        inputs = (*start, own.nu, own.tau)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return {
            "rnea": [Task(pin.rnea, (*start, own.nu, own.nu_dot))],
            "crba": [Task(pin.crba, start), *(Task(pin.crba, (*start, way)) for way in both)],
            "aba": [Task(pin.aba, inputs), *(Task(pin.aba, (*inputs, way)) for way in both)],
            "pose": [Task(_pin_pose(pin, self.model, self.data, self.frame), (q,))],
            # Left in its Data: taking each out as an array would cost it several times more.
            "poses": [Task(pin.framesForwardKinematics, start)],
            "jacobian": [Task(pin.computeFrameJacobian, (*start, self.frame, axes))],
            "cmm": [Task(pin.computeCentroidalMap, start)],
        }[function]

    def batch_tasks(self, function: str, states: State) -> list[Task]:
        """Its functions for batches, on one thread, with a reused output: rows are columns."""
        if function not in ("rnea", "aba"):
            return []
        pin, n = self.pin, len(states.q)
        own = [self.convention.state(states.row(k)) for k in range(n)]
        q = np.asfortranarray(self.convention.q(states.q, scalar_last=True).T)
        nu = np.asfortranarray(np.array([state.nu for state in own]).T)
        last = "nu_dot" if function == "rnea" else "tau"
        third = np.asfortranarray(np.array([getattr(state, last) for state in own]).T)
        call = pin.rneaInParallel if function == "rnea" else pin.abaInParallel
        return [Task(call, (1, pin.ModelPool(self.model, 1), q, nu, third, np.zeros_like(nu)))]


def _pin_pose(pin: Any, model: Any, data: Any, frame: int) -> Callable[..., Any]:
    place, update = pin.forwardKinematics, pin.updateFramePlacement

    def pose(q: Any) -> Any:
        place(model, data, q)
        return update(model, data, frame).homogeneous

    return pose


class IDynTree(Peer):
    """iDynTree's KinDynComputations: set the state, call. It has no forward dynamics."""

    name, package = "idyntree", "idyntree"

    def __init__(self, kd: lw.KinDyn, source: str, frame: str) -> None:
        import idyntree.bindings as idyn

        loader = idyn.ModelLoader()
        assert loader.loadReducedModelFromFile(source, list(kd.joint_names)), "not loaded"
        self.kindyn = idyn.KinDynComputations()
        assert self.kindyn.loadRobotModel(loader.model()), "the model is rejected"
        assert self.kindyn.setFloatingBase(kd.base), "no such base"
        self.frame = self.kindyn.getFrameIndex(frame)
        self.matrix, self.jacobian = idyn.MatrixDynSize(kd.nv, kd.nv), idyn.MatrixDynSize(6, kd.nv)
        self.wrenches = idyn.LinkWrenches(loader.model())
        self.wrenches.zero()
        self.torques = idyn.FreeFloatingGeneralizedTorques(loader.model())
        self.convention = Convention(kd, "mixed", kd.joint_names)

    def tasks(self, function: str, state: State) -> list[Task]:
        kindyn, frame, torques = self.kindyn, self.frame, self.torques
        H, s = self.convention.pose(state.q), state.q[7:].copy()
        v, sd = state.nu[:6].copy(), state.nu[6:].copy()
        a, sdd = state.nu_dot[:6].copy(), state.nu_dot[6:].copy()
        gravity = np.array(GRAVITY)

        def rnea() -> Any:
            kindyn.setRobotState(H, s, v, sd, gravity)
            kindyn.inverseDynamics(a, sdd, self.wrenches, torques)
            base, joints = torques.baseWrench().toNumPy(), torques.jointTorques().toNumPy()
            return np.concatenate((base, joints))

        def crba() -> Any:
            kindyn.setRobotState(H, s, v, sd, gravity)
            kindyn.getFreeFloatingMassMatrix(self.matrix)
            return self.matrix.toNumPy()

        def pose() -> Any:
            kindyn.setRobotState(H, s, v, sd, gravity)
            return kindyn.getWorldTransform(frame).asHomogeneousTransform().toNumPy()

        def jacobian() -> Any:
            kindyn.setRobotState(H, s, v, sd, gravity)
            kindyn.getFrameFreeFloatingJacobian(frame, self.jacobian)
            return self.jacobian.toNumPy()

        def cmm() -> Any:
            kindyn.setRobotState(H, s, v, sd, gravity)
            kindyn.getCentroidalTotalMomentumJacobian(self.jacobian)
            return self.jacobian.toNumPy()

        ways = {"rnea": rnea, "crba": crba, "pose": pose, "jacobian": jacobian, "cmm": cmm}
        return [Task(ways[function])] if function in ways else []


def all_peers() -> list[type[Peer]]:
    """Every peer there is an adapter for, installed or not."""
    from peers_adam import AdamCasadi, AdamJax, AdamNumpy, AdamTorch
    from peers_mujoco import MuJoCo

    return [Pinocchio, IDynTree, MuJoCo, AdamNumpy, AdamCasadi, AdamJax, AdamTorch]


def loaded(kind: type[Peer], kd: lw.KinDyn, case: Case) -> Peer | str:
    """A library with the robot of a case in it, or why there is none."""
    try:
        return kind(kd, str(case.path), case.frame)
    except ImportError as error:
        return f"left out: {error}"
    except Exception as error:  # noqa: BLE001 - whatever another library raises, the others go on
        return f"does not take it: {str(error).splitlines()[0] if str(error) else error!r}"


def version_of(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
