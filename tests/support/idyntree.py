"""Code as users of iDynTree write it, run unchanged with iDynTree and with linkwork's names for it.

`everything` is that code. Where iDynTree 15.1 contradicts itself, what follows from its own inverse
dynamics counts; `consistent` works that out:

    base is a frame          bias forces, external forces, momentum, average velocity, locked
                             inertia, regressor, bias accelerations and what is centroidal are those
                             of its link, or half of them are, unlike the mass matrix
    base was changed         the mass matrix keeps numbers of the last one: a new object each time
    base is not the default  getCoriolisAndMassMatrices ends the process: not asked
    base moves               C + C^T is not the derivative of M in the base columns: not compared
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from tests.support.kindyn import OnNumpy, shared
from tests.support.real_robots import ROBOT_FILES, label
from tests.support.spatial import idyn

import linkwork as lw
import linkwork.compat.idyntree as compat

MODULES = {"iDynTree": idyn, "linkwork": compat}
REPRESENTATIONS = (0, 1, 2)  # inertial, body, mixed


def without_compiling(*arguments, **options):
    """Create a KinDyn that NumPy computes, so that a test of many robots compiles nothing."""
    return shared(OnNumpy(*arguments, **options))


def path_of(name):
    return str(next(path for path in ROBOT_FILES if label(path) == name))


@cache
def loader_of(module, name):
    """The robot of a file, loaded by iDynTree or by linkwork under its names."""
    loader = MODULES[module].ModelLoader()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        assert loader.loadModelFromFile(path_of(name))
    return loader


def base_of(name, kind):
    """Name of a base: the default one, a link far from it, or an additional frame."""
    model = loader_of("iDynTree", name).model()
    links, frames = model.getNrOfLinks(), model.getNrOfFrames()
    default = model.getDefaultBaseLink()
    index = {"default": default, "link": links - 1 - links // 3, "frame": frames - 1}[kind]
    return model.getFrameName(index)


class State:
    """A random state of a robot: configuration, velocity, acceleration and wrenches."""

    def __init__(self, name, seed=0, base_velocity=5.0):
        model = loader_of("iDynTree", name).model()
        rng = np.random.default_rng(seed)
        n, links = model.getNrOfDOFs(), model.getNrOfLinks()
        Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
        Q *= np.sign(np.diag(R))
        Q[:, 0] *= np.sign(np.linalg.det(Q))
        self.H = np.eye(4)
        self.H[:3, :3], self.H[:3, 3] = Q, 3 * rng.normal(size=3)
        self.s, self.sd, self.sdd = rng.normal(size=(3, n)) * [[2.0], [8.0], [9.0]]
        self.v, self.a = rng.normal(size=(2, 6)) * [[base_velocity], [7.0]]
        self.g = 9 * rng.normal(size=3)
        self.wrenches = 5 * rng.normal(size=(links, 6))
        self.frames = sorted({0, links // 2, links - 1, model.getNrOfFrames() - 1})


def everything(iDynTree, model, state, base, representation, *, coriolis):
    """Every quantity of a robot in a state, by name, as arrays."""
    kd = iDynTree.KinDynComputations()
    assert kd.loadRobotModel(model)
    assert kd.setFloatingBase(base)
    assert kd.setFrameVelocityRepresentation(representation)
    assert kd.setRobotState(state.H, state.s, state.v, state.sd, state.g)
    n = kd.getNrOfDegreesOfFreedom()
    actual = {}
    for frame in state.frames:
        actual |= of_frame(iDynTree, kd, state, frame, n)
    for frames in zip(state.frames, state.frames[1:] + state.frames[:1], strict=True):
        actual |= of_frames(iDynTree, kd, frames, (state.frames[-1], state.frames[0]))
    for name in VECTORS:
        actual[name] = getattr(kd, f"get{name}")().toNumPy()
    for name in ("RobotLockedInertia", "CentroidalRobotLockedInertia"):
        actual[name] = getattr(kd, f"get{name}")().asMatrix().toNumPy()
    for name, rows in MATRICES.items():
        matrix = iDynTree.MatrixDynSize(rows or 6 + n, 6 + n)
        assert getattr(kd, f"get{name}")(matrix)
        actual[name] = matrix.toNumPy()
    actual |= of_forces(iDynTree, kd, state, model)
    if coriolis:
        C, M, Mdot = (iDynTree.MatrixDynSize(6 + n, 6 + n) for _ in range(3))
        assert kd.getCoriolisAndMassMatrices(C, M, Mdot)
        actual |= {"C": C.toNumPy(), "M": M.toNumPy(), "Mdot": Mdot.toNumPy()}
    return actual


VECTORS = (
    "CenterOfMassPosition",
    "CenterOfMassVelocity",
    "CenterOfMassBiasAcc",
    "AverageVelocity",
    "CentroidalAverageVelocity",
    "LinearAngularMomentum",
    "CentroidalTotalMomentum",
    "BaseTwist",
)
MATRICES = {
    "CenterOfMassJacobian": 3,
    "AverageVelocityJacobian": 6,
    "CentroidalAverageVelocityJacobian": 6,
    "LinearAngularMomentumJacobian": 6,
    "CentroidalTotalMomentumJacobian": 6,
    "FreeFloatingMassMatrix": None,
}


def of_frame(iDynTree, kd, state, frame, n):
    name = kd.getFrameName(frame)
    assert kd.getFrameIndex(name) == frame
    J = iDynTree.MatrixDynSize(6, 6 + n)
    assert kd.getFrameFreeFloatingJacobian(name, J)
    nothing = np.zeros(6), np.zeros(n)
    return {
        f"WorldTransform {frame}": kd.getWorldTransform(name).asHomogeneousTransform().toNumPy(),
        f"WorldTransforms {frame}": kd.getWorldTransformsAsHomogeneous([name])[0].toNumPy(),
        f"FrameVel {frame}": kd.getFrameVel(frame).toNumPy(),
        f"FrameAcc {frame}": kd.getFrameAcc(name, state.a, state.sdd).toNumPy(),
        f"FrameAcc at 0 {frame}": kd.getFrameAcc(frame, *nothing).toNumPy(),
        f"FrameBiasAcc {frame}": kd.getFrameBiasAcc(name).toNumPy(),
        f"FrameFreeFloatingJacobian {frame}": J.toNumPy(),
    }


def of_frames(iDynTree, kd, frames, others):
    reference, frame = frames
    n = kd.getNrOfDegreesOfFreedom()
    J, explicit = (iDynTree.MatrixDynSize(6, n) for _ in range(2))
    assert kd.getRelativeJacobian(reference, frame, J)
    assert kd.getRelativeJacobianExplicit(reference, frame, *others, explicit)
    H = kd.getRelativeTransform(reference, frame)
    mixed = kd.getRelativeTransformExplicit(reference, others[0], frame, others[1])
    both = f"{reference} {frame}"
    return {
        f"RelativeTransform {both}": H.asHomogeneousTransform().toNumPy(),
        f"RelativeTransform backwards {both}": H.inverse().asHomogeneousTransform().toNumPy(),
        f"RelativeTransformExplicit {both}": mixed.asHomogeneousTransform().toNumPy(),
        f"RelativeJacobian {both}": J.toNumPy(),
        f"RelativeJacobianExplicit {both}": explicit.toNumPy(),
    }


def of_forces(iDynTree, kd, state, model):
    n, links = kd.getNrOfDegreesOfFreedom(), kd.getNrOfLinks()
    tau = iDynTree.FreeFloatingGeneralizedTorques(model)
    wrenches = iDynTree.LinkWrenches(model)
    nothing = iDynTree.LinkWrenches(model)
    nothing.zero()
    for link in range(links):
        for index, number in enumerate(state.wrenches[link].tolist()):
            wrenches(link).setVal(index, number)

    def forces(ok):
        assert ok
        return np.concatenate([tau.baseWrench().toNumPy(), tau.jointTorques().toNumPy()])

    rest, motion = (np.zeros(6), np.zeros(n)), (state.a, state.sdd)
    Y, phi = iDynTree.MatrixDynSize(6 + n, 10 * links), iDynTree.VectorDynSize(10 * links)
    assert kd.inverseDynamicsInertialParametersRegressor(*motion, Y)
    assert kd.model().getInertialParameters(phi)
    return {
        "BiasForces": forces(kd.generalizedBiasForces(tau)),
        "GravityForces": forces(kd.generalizedGravityForces(tau)),
        "ExternalForces": forces(kd.generalizedExternalForces(wrenches, tau)),
        "InverseDynamics at 0": forces(kd.inverseDynamics(*rest, nothing, tau)),
        "InverseDynamics without wrenches": forces(kd.inverseDynamics(*motion, nothing, tau)),
        "InverseDynamics": forces(kd.inverseDynamics(*motion, wrenches, tau)),
        "Regressor": Y.toNumPy(),
        "InertialParameters": phi.toNumPy(),
    }


def consistent(actual, state, representation, mass):
    """The quantities where iDynTree is inconsistent, computed from its consistent ones."""
    nu = np.concatenate([state.v, state.sd])
    at_rest, momentum = actual["InverseDynamics at 0"], actual["LinearAngularMomentumJacobian"]
    R = state.H[:3, :3] if representation == idyn.BODY_FIXED_REPRESENTATION else np.eye(3)
    origin = 0 if representation == idyn.INERTIAL_FIXED_REPRESENTATION else state.H[:3, 3]
    to_com = R.T @ (actual["CenterOfMassPosition"] - origin)
    shift = np.eye(6)  # velocity of the base of one at the center of mass: v = v_com + to_com x w
    shift[:3, 3:] = np.cross(to_com, np.eye(3)).T
    about_com = shift.T @ momentum
    locked = actual["FreeFloatingMassMatrix"][:6, :6]
    locked_about_com = shift.T @ locked @ shift
    average = np.linalg.solve(locked_about_com, about_com)
    fixed = {
        "BiasForces": at_rest,
        "ExternalForces": actual["InverseDynamics"] - actual["InverseDynamics without wrenches"],
        "LinearAngularMomentum": momentum @ nu,
        "CentroidalTotalMomentum": about_com @ nu,
        "CentroidalTotalMomentumJacobian": about_com,
        "CentroidalAverageVelocity": average @ nu,
        "CentroidalAverageVelocityJacobian": average,
        "CentroidalRobotLockedInertia": locked_about_com,
        "AverageVelocity": actual["AverageVelocityJacobian"] @ nu,
        "RobotLockedInertia": locked,
        "CenterOfMassBiasAcc": R @ (at_rest - actual["GravityForces"])[:3] / mass,
        "Regressor": actual["InverseDynamics without wrenches"],
    }
    for name in actual:
        if name.startswith("FrameBiasAcc"):
            fixed[name] = actual[name.replace("BiasAcc", "Acc at 0")]
    return actual | fixed


def assert_same(actual, expected, rtol=1e-10):
    """Compare relative to the largest entry of a quantity, or to 1; report all differences."""
    assert actual.keys() == expected.keys()
    worst = {}
    for name, there in expected.items():
        assert actual[name].shape == there.shape, name
        scale = max(np.abs(there).max(initial=0.0), 1.0)
        worst[name] = np.abs(actual[name] - there).max(initial=0.0) / scale
    apart = {name: error for name, error in worst.items() if not error <= rtol}
    assert not apart, apart
