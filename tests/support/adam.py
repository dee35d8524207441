"""One robot in one state for adam, for linkwork's adam interface, and for iDynTree.

Texts are cleaned so that adam 0.5 can read them: no shapes, every `<origin>` written out, axes of
unit length to all digits. A massless root on one fixed joint is left out, as iDynTree does.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache

import numpy as np
import pytest
from lxml import etree
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.spatial import idyn

import linkwork as lw
import linkwork.compat.adam.kernels
import linkwork.kindyn.programs
from linkwork.compat import adam as ours
from linkwork.compat.adam.kernels import PoseFunction
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS

GRAVITY = np.array([0.0, 0.0, -9.80665, 0.0, 0.0, 0.0])
REPRESENTATIONS = tuple(ours.Representations)
CHAIN = """<robot name="chain">
  <link name="base"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="slider"><inertial><origin xyz="0.1 0 0" rpy="0.3 0 0"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.1 0 0.2" rpy="0 0.5 0"/><mass value="1.5"/>
    <inertia ixx="0.2" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>
  <link name="tip"/>
  <link name="weightless"><inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="0"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><origin xyz="0.2 0 0.3" rpy="0.4 0.5 0.6"/>
    <parent link="base"/><child link="slider"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="turn" type="continuous"><origin xyz="0 0.1 0.3" rpy="0.1 0 0.6"/>
    <parent link="slider"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="tip_joint" type="fixed"><origin xyz="0 0 0.3" rpy="0 0 0"/>
    <parent link="arm"/><child link="tip"/></joint>
  <joint name="weightless_joint" type="fixed"><origin xyz="0 0 0.1" rpy="0 0 0"/>
    <parent link="arm"/><child link="weightless"/></joint>
</robot>"""
SHAPES = ("visual", "collision", "material", "transmission", "gazebo")


@cache
def text_of(name: str, joints: tuple[str, ...] | None = None) -> str:
    """A real robot as a URDF string that all libraries read in the same way."""
    (path,) = (path for path in ROBOT_FILES if label(path) == name)
    model = load_quietly(path, mimic=False)
    return clean(lw.dump_urdf(model.reduced(joints) if joints else model))


def readable(text: bytes) -> str:
    """A file without elements that adam 0.5 cannot read."""
    robot = etree.fromstring(text)
    for element in [e for e in robot.iter() if e.tag in SHAPES]:
        element.getparent().remove(element)
    for element in [*robot.iter("inertial"), *robot.iter("joint")]:
        if element.find("origin") is None:
            element.insert(0, etree.Element("origin", xyz="0 0 0", rpy="0 0 0"))
    return etree.tostring(robot).decode()


def clean(text: str) -> str:
    robot = etree.fromstring(readable(text.encode()))
    children = {joint.find("child").get("link") for joint in robot.iter("joint")}
    (root,) = (link for link in robot.iter("link") if link.get("name") not in children)
    held = [j for j in robot.iter("joint") if j.find("parent").get("link") == root.get("name")]
    if root.find("inertial") is None and len(held) == 1 and held[0].get("type") == "fixed":
        robot.remove(root)
        robot.remove(held[0])
    return etree.tostring(robot).decode()


class Interpreted(ours.KinDynComputations):
    """The class under test, its functions run step by step: real robots take long to compile."""

    def _add_kernel(self, key, request, wrenches=()):
        function = PoseFunction(self._kd, request, wrenches)
        return self._kernels.setdefault(key, interpreted(function))


class OnNumpy(ours.KinDynComputations):
    """The class under test, computed by NumPy as for robots too large to compile."""

    def _add_kernel(self, key, request, wrenches=()):
        with pytest.MonkeyPatch.context() as patch:
            for module in (linkwork.kindyn.programs, linkwork.compat.adam.kernels):
                patch.setattr(module, "MOST_UNROLLED", -1)
            return super()._add_kernel(key, request, wrenches)


def quietly(make, *arguments, **options):
    """Create an object from a file, ignoring its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        return make(*arguments, **options)


def interpreted(function):
    program = function.kernel.program
    ports = program.inputs

    def call(*arguments):
        arrays = [np.asarray(argument, dtype=float) for argument in arguments]
        batches = [a.shape[: a.ndim - len(p.shape)] for a, p in zip(arrays, ports, strict=True)]
        columns = [
            np.moveaxis(a.reshape((*b, p.size)), -1, 0)
            for a, b, p in zip(arrays, batches, ports, strict=True)
        ]
        with np.errstate(all="ignore"):
            numbers = program.run(*columns, functions=NUMPY_FUNCTIONS)
        batch = np.broadcast_shapes(*batches)
        rows = [np.broadcast_to(number, batch) for number in numbers]
        (port,) = program.outputs
        return np.stack(rows, axis=-1).reshape((*batch, *port.shape)) if rows else np.zeros(0)

    return call


def adam_kindyn(text, joints=None, **options):
    """Create adam's KinDynComputations of a robot, without its output."""
    import adam.numpy

    with contextlib.redirect_stdout(io.StringIO()):
        return adam.numpy.KinDynComputations(text, joints, gravity=GRAVITY, **options)


def adam_model(description, joints=None):
    """Create adam's model of a robot."""
    from adam.core.array_api_math import spec_from_reference
    from adam.model import Model, build_model_factory
    from adam.numpy.numpy_like import SpatialMath

    math = SpatialMath(spec_from_reference(np.array(0.0)))
    silence = io.StringIO()
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        return Model.build(build_model_factory(description, math), joints)


class State:
    """A random state of a robot: far from the origin and fast."""

    def __init__(self, n: int, seed: int = 42, batch: tuple[int, ...] = ()):
        rng = np.random.default_rng(seed)
        R, _ = np.linalg.qr(rng.normal(size=(*batch, 3, 3)))
        R[..., :, 0] *= np.linalg.det(R)[..., None]
        self.H = np.zeros((*batch, 4, 4))
        self.H[..., :3, :3], self.H[..., 3, 3] = R, 1.0
        self.H[..., :3, 3] = rng.uniform(-2.5, 2.5, size=(*batch, 3))
        self.v = rng.uniform(-2.5, 2.5, size=(*batch, 6))
        self.s, self.sd, self.tau = rng.uniform(-2.5, 2.5, size=(3, *batch, n))
        self.rng = rng

    def row(self, *index: int) -> State:
        """One row of a batch."""
        actual = object.__new__(State)
        for name in ("H", "v", "s", "sd", "tau"):
            setattr(actual, name, getattr(self, name)[index].copy())
        return actual

    @property
    def nu(self):
        return np.concatenate([self.v, self.sd], axis=-1)

    def everything(self, kd, frame, wrenches=None):
        """Every quantity of adam's interface by its name."""
        point, moving = (self.H, self.s), (self.H, self.s, self.v, self.sd)
        return {
            "forward_kinematics": kd.forward_kinematics(frame, *point),
            "jacobian": kd.jacobian(frame, *point),
            "relative_jacobian": kd.relative_jacobian(frame, self.s),
            "jacobian_dot": kd.jacobian_dot(frame, *moving),
            "CoM_position": kd.CoM_position(*point),
            "CoM_jacobian": kd.CoM_jacobian(*point),
            "mass_matrix": kd.mass_matrix(*point),
            "centroidal_momentum_matrix": kd.centroidal_momentum_matrix(*point),
            "bias_force": kd.bias_force(*moving),
            "coriolis_term": kd.coriolis_term(*moving),
            "gravity_term": kd.gravity_term(*point),
            "aba": kd.aba(*moving, self.tau),
            "aba with wrenches": kd.aba(*moving, self.tau, external_wrenches=wrenches),
        }


class AtIDynTree:
    """The same robot in the same state in iDynTree."""

    def __init__(self, robot, joints, root, state, representation):
        if isinstance(robot, str):
            loader = idyn.ModelLoader()
            assert loader.loadReducedModelFromString(robot, joints)
            robot = loader.model()
        self.kd = idyn.KinDynComputations()
        assert self.kd.loadRobotModel(robot)
        assert self.kd.setFloatingBase(root)
        name = ours.Representations(representation).name
        assert self.kd.setFrameVelocityRepresentation(getattr(idyn, name))
        self.nv = 6 + len(joints)
        assert self.kd.setRobotState(state.H, state.s, state.v, state.sd, GRAVITY[:3].copy())

    def matrix(self, method, rows, *arguments):
        actual = idyn.MatrixDynSize(rows, self.nv)
        assert method(*arguments, actual)
        return actual.toNumPy().copy()

    def forces(self, method):
        actual = idyn.FreeFloatingGeneralizedTorques(self.kd.model())
        assert method(actual)
        parts = actual.baseWrench().toNumPy(), actual.jointTorques().toNumPy()
        return np.concatenate([np.ravel(part) for part in parts])

    def everything(self, frame):
        kd = self.kd
        bias, gravity = (
            self.forces(kd.generalizedBiasForces),
            self.forces(kd.generalizedGravityForces),
        )
        return {
            "forward_kinematics": kd.getWorldTransform(frame)
            .asHomogeneousTransform()
            .toNumPy()
            .copy(),
            "jacobian": self.jacobian(frame),
            "CoM_position": np.ravel(kd.getCenterOfMassPosition().toNumPy()).copy(),
            "CoM_jacobian": self.matrix(kd.getCenterOfMassJacobian, 3),
            "mass_matrix": self.matrix(kd.getFreeFloatingMassMatrix, self.nv),
            "centroidal_momentum_matrix": self.matrix(kd.getCentroidalTotalMomentumJacobian, 6),
            "bias_force": bias,
            "coriolis_term": bias - gravity,
            "gravity_term": gravity,
            "bias_acceleration": np.ravel(kd.getFrameBiasAcc(frame).toNumPy()).copy(),
        }

    def jacobian(self, frame):
        return self.matrix(self.kd.getFrameFreeFloatingJacobian, 6, frame)

    def relative_jacobian(self, root, frame):
        """(6, n) in iDynTree's own convention, which is adam's."""
        model = self.kd.model()
        actual = idyn.MatrixDynSize(6, self.nv - 6)
        indices = model.getFrameIndex(root), model.getFrameIndex(frame)
        assert self.kd.getRelativeJacobian(*indices, actual)
        return actual.toNumPy().copy()
