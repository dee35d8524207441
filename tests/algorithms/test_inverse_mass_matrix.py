"""The inverse of the mass matrix: it inverts, it agrees with Pinocchio, and it costs little."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import (
    SEVERAL_VELOCITIES,
    assert_close,
    random_inertia,
    random_model,
)
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.skeletons import (
    REAL,
    SEEDS,
    Case,
    every_representation,
    floating_or_not,
    random_case,
    real_case,
)
from tests.support.spatial import pin

import linkwork as lw
from linkwork.algorithms.dynamics.aba import forward_dynamics
from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.inverse_mass_matrix import inverse_mass_matrix, mass_factor
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace
from linkwork.mechanics.joint_dynamics import JointDynamics
from linkwork.mechanics.skeleton import skeleton_of
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from
from linkwork.spatial.blocks import ZERO

ROUNDING = 1e-14  # times the condition number


def assert_inverse(inverse, M):
    """M^-1 M = 1, as far as the condition of M allows; and symmetric to the last bit."""
    assert np.array_equal(inverse, inverse.T)
    scale = np.linalg.cond(M)
    assert scale < 1e9
    assert_close(inverse @ M, np.eye(len(M)), min(1e-10, ROUNDING * scale), scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_random_robots_with_every_kind_of_joint(seed, floating, velocity):
    case = random_case(seed, floating=floating, mimic=False)
    M = case.at(mass_matrix, velocity=velocity)
    assert_inverse(case.at(inverse_mass_matrix, velocity=velocity), M)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
def test_dependent_joints(seed, floating):
    case = random_case(seed, floating=floating)
    M = case.at(mass_matrix, velocity="mixed")
    assert_inverse(case.at(inverse_mass_matrix, velocity="mixed"), M)


@pytest.mark.parametrize("kind", SEVERAL_VELOCITIES)
def test_joints_with_several_velocities(kind):
    rng = np.random.default_rng(0)
    case = Case(random_model(rng, 6, [kind], mimic=False), rng, floating=True)
    M = case.at(mass_matrix, velocity="body")
    assert_inverse(case.at(inverse_mass_matrix, velocity="body"), M)


@pytest.mark.peers
@pytest.mark.parametrize(("name", "floating"), REAL)
def test_real_robots(name, floating):
    case = real_case(name, np.random.default_rng(1), floating=floating)
    M = case.at(mass_matrix, velocity="mixed")
    assert_inverse(case.at(inverse_mass_matrix, velocity="mixed"), M)


@floating_or_not
@pytest.mark.parametrize("mimic", [True, False], ids=["dependent joints", "free joints"])
def test_armatures_count(floating, mimic):
    case = random_case(3, floating=floating, mimic=mimic)
    first = 6 if floating else 0
    added = {k: JointDynamics(armature=0.1 + k) for k in range(first, case.layout.nv, 2)}
    options = {"velocity": "mixed", "joint_dynamics": added}
    assert_inverse(case.at(inverse_mass_matrix, **options), case.at(mass_matrix, **options))


def test_a_column_is_the_acceleration_per_unit_of_force():
    case = random_case(5, floating=True)
    rest, forces = [0.0] * case.layout.nv, np.eye(case.layout.nv)
    columns = [
        forward_dynamics(
            case.skeleton, list(case.q), rest, list(tau), gravity=ZERO, velocity="mixed"
        )
        for tau in forces
    ]
    found = case.at(inverse_mass_matrix, velocity="mixed")
    assert_close(found, np.transpose(columns), 1e-10)


@pytest.mark.peers
@pytest.mark.parametrize("name", ["talos_data/talos_reduced", "panda_description/panda"])
def test_pinocchio_gives_the_same(name):
    path = next(path for path in ROBOT_FILES if label(path) == name)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(2)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    upper = np.triu(pin.computeMinverse(model, model.createData(), q))
    there = upper + np.triu(upper, 1).T
    order = [*range(6), *(6 + k for k in _order(path, model))]
    layout = Layout(load_quietly(path, mimic=False), floating=True)
    skeleton = skeleton_of(tree_from(layout.model, None), layout)
    here = [*q[:3], q[6], *q[3:6], *(q[k + 1] for k in order[6:])]
    found = inverse_mass_matrix(skeleton, here, velocity="body")
    assert_close(found, there[np.ix_(order, order)], 1e-10)


def _order(path, model):
    """Where Pinocchio has the velocity of each joint, after the base's."""
    names = Layout(load_quietly(path, mimic=False), floating=True).joint_names
    return [model.joints[model.getJointId(name)].idx_v - 6 for name in names]


@pytest.mark.peers
@every_representation
def test_limbs_of_different_branches_share_six_products(velocity):
    """Entries between limbs take eleven operations: what counts is the branching of the tree."""
    case = real_case("anymal_b_simple_description/anymal", np.random.default_rng(0), floating=True)

    def inverse(q):
        return np.array(inverse_mass_matrix(case.skeleton, list(q), velocity=velocity))

    program = trace(inverse, [Port("q", (case.layout.nq,))], "inverse")
    most = {"mixed": 3_954, "body": 3_457, "inertial": 4_179}
    assert program.n_ops <= 1.01 * most[velocity]


@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_no_fill_in_from_whatever_base(seed):
    """The order of elimination follows the tree, not the order of the joints in nu."""
    case = random_case(seed, floating=True, mimic=False)
    bodies = case.skeleton.bodies
    factor = mass_factor(case.skeleton, list(case.q), velocity="mixed")
    carriers = {k: set() for k in range(6)}
    for body in bodies[1:]:
        before, above = set(range(6)), body.parent
        while above:
            before |= set(bodies[above].nu_indices)
            above = bodies[above].parent
        carriers |= dict.fromkeys(body.nu_indices, before | set(body.nu_indices))
    for i, row in zip(factor.order, factor.W, strict=True):
        assert {factor.order[c] for c in row} <= carriers[i] | set(range(6))


def test_a_robot_without_resistance_is_refused_as_forward_dynamics_does():
    builder = lw.ModelBuilder("two")
    builder.add_link("body", inertia=random_inertia(np.random.default_rng(0)))
    builder.add_link("nothing", inertia=lw.Inertia())
    builder.add_joint("wrist", "revolute", "body", "nothing", axis=(0, 0, 1))
    case = Case(builder.build(), np.random.default_rng(0), floating=True)
    with pytest.raises(lw.SingularJointError, match="joint 'wrist'"):
        case.at(inverse_mass_matrix, velocity="mixed")


@every_representation
def test_a_thin_rod_that_floats_is_refused_in_every_representation(velocity):
    """It resists no turning about itself; in the axes of the world, that is not seen."""
    axis = np.array([1.0, 2.0, -2.0]) / 3
    tensor = 0.1 * (np.eye(3) - np.outer(axis, axis))
    rod = lw.Inertia(1.0, (0.0, 0.0, 0.0), tuple(tensor[np.triu_indices(3)].tolist()))
    model = lw.Model(name="rod", links=(lw.Link(name="rod", inertia=rod),))
    case = Case(model, np.random.default_rng(0), floating=True)
    with pytest.raises(lw.SingularJointError, match="the base"):
        case.at(inverse_mass_matrix, velocity=velocity)
