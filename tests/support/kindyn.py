"""Robots in some state, and their quantities computed step by step without compiling.

`Interpreted` runs the programs of a `KinDyn` on NumPy numbers. It takes batches, and complex
numbers too: every formula is analytic in q, nu, ..., so the imaginary part of f(x + i h dx) / h is
the derivative along dx without a difference being taken.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.support.models import random_model, random_q

import linkwork as lw
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, Op
from linkwork.kindyn import programs
from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.model.joints.motion import position_jacobian

STEP = 1e-100
GRAVITY = np.array([0.0, 0.0, -9.80665])


def _copysign(a, b):
    """`np.copysign`, also of complex numbers with small imaginary parts."""
    return np.where(np.signbit(np.real(a)) == np.signbit(np.real(b)), a, -np.asarray(a))


WITH_COMPLEX_SIGNS = NUMPY_FUNCTIONS | {Op.COPYSIGN: _copysign}


def run_program(program, *arguments, functions=WITH_COMPLEX_SIGNS):
    """Outputs of a program at rows, or batches of rows, as a list of arrays."""
    sized = zip(arguments, program.inputs, strict=True)
    numbers = [np.asarray(a) if port.shape else np.asarray(a)[..., None] for a, port in sized]
    batch = np.broadcast_shapes(*(array.shape[:-1] for array in numbers))
    flat = program.run(*(np.moveaxis(array, -1, 0) for array in numbers), functions=functions)
    kind = np.result_type(*(np.asarray(value).dtype for value in flat), float) if flat else float
    actual, start = [], 0
    for port in program.outputs:
        full = np.empty((port.size, *batch), dtype=kind)
        for index in range(port.size):
            full[index] = flat[start + index]
        start += port.size
        actual.append(np.moveaxis(full, 0, -1).reshape((*batch, *port.shape)))
    return actual


_known = {}


def shared(kd):
    """Share equal `KinDyn`s, so that a program is traced once per process."""
    return _known.setdefault(kd, kd)


class Interpreted:
    """The methods of a `KinDyn`, computed without compiling."""

    def __init__(self, kd):
        self.kd = shared(kd)

    def __getattr__(self, name):
        if name not in lw.KinDyn.quantities:
            return getattr(self.kd, name)

        def quantity(*arguments, wrenches=None, gravity=None):
            count = len(lw.KinDyn.quantities[name].frames)
            frames, arguments = arguments[:count], list(arguments[count:])
            given = wrenches or {}
            kernel = self.kd.function(
                (name, *frames), wrenches=tuple(given), gravity=gravity is not None
            )
            more = () if gravity is None else (gravity,)
            if name.startswith("integrate") and len(arguments) == 2:
                arguments.append(1.0)
            actual = run_program(kernel.program, *arguments, *more, *given.values())
            result = lw.KinDyn.quantities[name].result
            return result(*actual) if result else actual[0]

        return quantity


class OnNumpy(lw.KinDyn):
    """A `KinDyn` computed by NumPy, as for robots too large to compile.

    For tests of many robots that do not concern programs: nothing is traced or compiled.
    """

    def _kernel(self, order):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(programs, "MOST_UNROLLED", -1)
            return super()._kernel(order)


def on_numpy(kd):
    """The same robot with the same options, computed by NumPy."""
    return shared(OnNumpy(kd.model, **kd.options))


class Case:
    """A robot with some base, in a random pose, moving fast and accelerating."""

    def __init__(self, model, rng, **options):
        self.model = model
        self.kd = Interpreted(lw.KinDyn(model, **options))
        layout = self.kd.layout
        self.q = random_q(layout, rng)
        self.nu, self.nu_dot = rng.normal(size=(2, layout.nv)) * [[3.0], [5.0]]
        names = model.frame_names
        chosen = {names[-1], names[0], str(rng.choice(names)), self.kd.base}
        self.frames = sorted(chosen)
        self.wrenches = {frame: 4 * rng.normal(size=6) for frame in self.frames}
        self.q_dot = rate_of_q(layout, self.q, self.nu, self.kd.representation)

    def derivative(self, function):
        """Derivative of function(q, nu) along the motion of the robot."""
        moved = function(self.q + 1j * STEP * self.q_dot, self.nu + 1j * STEP * self.nu_dot)
        return np.asarray(moved).imag / STEP


@cache
def random_case(seed, *, floating=True, velocity="mixed", base="by seed", n_links=10, **options):
    """A random robot of all kinds of joints; the base is the default, a link or a frame."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_links, **options)
    if base == "by seed":
        last_link = model.link_names[-1]
        base = [None, last_link, model.frames[0].name, model.frames[1].name][seed % 4]
    return Case(model, rng, floating=floating, representation=velocity, base=base)


STATES = [(floating, velocity) for floating in (True, False) for velocity in REPRESENTATIONS]
STATES_THAT_DIFFER = STATES[:4]
"""Of a fixed base, only frames and wrenches on them know representations."""


def on_robots_in(states, seeds):
    """Parameters seed, floating and velocity of tests: each state on two of three robots.

    Each robot is fixed in some and floating in two of the representations.
    """
    chosen = [
        (seed, *state)
        for i, seed in enumerate(seeds)
        for k, state in enumerate(states)
        if (i + k) % 3
    ]
    return pytest.mark.parametrize(("seed", "floating", "velocity"), chosen)


def wedge(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rotation_of(wxyz):
    """Rotation matrix as a polynomial in the quaternion."""
    w, v = wxyz[0], wedge(wxyz[1:])
    return np.eye(3) + 2 * w * v + 2 * v @ v


def wxyz_of(R):
    """A unit quaternion of a rotation, from the eigenvector of Bar-Itzhack's matrix."""
    xx, yy, zz = np.diag(R)
    K = np.array(
        [
            [xx + yy + zz, 0, 0, 0],
            [R[2, 1] - R[1, 2], xx - yy - zz, 0, 0],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], yy - xx - zz, 0],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], zz - xx - yy],
        ]
    )
    return np.linalg.eigh(K)[1][:, -1]


def base_X(q, velocity):
    """The matrix (6, 6) from the base velocity in nu to its velocity in the base frame."""
    R = rotation_of(q[3:7])
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = np.eye(3) if velocity == "body" else R.T
    if velocity == "inertial":
        X[:3, 3:] = -R.T @ wedge(q[:3])
    return X


def base_X_dot_nu(q, nu, velocity):
    """(6,) X_dot nu: acceleration of the base in its own axes at nu_dot = 0.

    It is 0 for body and inertial, and (-R^T (w x v); 0) for mixed.
    """
    actual = np.zeros(6)
    if velocity == "mixed":
        actual[:3] = -rotation_of(q[3:7]).T @ np.cross(nu[3:6], nu[:3])
    return actual


def rate_of_q(layout, q, nu, velocity):
    """q_dot: joints by their position Jacobians, the base by its velocity representation."""
    q_dot = np.zeros(layout.nq)
    for name in layout.joint_names:
        joint = layout.model.joint(name)
        rates = position_jacobian(joint, q[layout.q[name]])
        q_dot[layout.q[name]] = rates @ nu[layout.nu[name]]
    if layout.floating:
        twist = base_X(q, velocity) @ nu[:6]
        q_dot[:3] = rotation_of(q[3:7]) @ twist[:3]
        w, x, y, z = q[3:7] / 2
        q_dot[3:7] = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) @ twist[3:]
    return q_dot


def spatial_inertia(inertia):
    """(6, 6) of a link about its origin, from mass, CoM and the tensor about the CoM."""
    c = wedge(inertia.com)
    xx, xy, xz, yy, yz, zz = inertia.tensor
    about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    actual = np.zeros((6, 6))
    actual[:3, :3] = inertia.mass * np.eye(3)
    actual[3:, :3] = inertia.mass * c
    actual[:3, 3:] = -inertia.mass * c
    actual[3:, 3:] = about_com - inertia.mass * c @ c
    return actual
