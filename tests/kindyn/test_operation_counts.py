"""How much work each robot takes: operations are counted, so nobody has to measure time.

Marks are the counts of a prototype in block form (+, -, *, /, negation); for which representation
is not known. Body reaches all of them. Mixed turns every column of the mass matrix into the axes of
the world, and reaches all but that of ur5's mass matrix (452 instead of 408). What stands here now
may grow by one per cent at most; whoever saves work lowers the number.
"""

from __future__ import annotations

import pytest
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

import linkwork as lw

UR5 = "ur_description/ur5_robot"
ANYMAL = "anymal_b_simple_description/anymal"
TALOS = "talos_data/talos_reduced"

MARKS = [
    ("inverse_dynamics", "mixed", UR5, 795),
    ("inverse_dynamics", "mixed", ANYMAL, 2455),
    ("inverse_dynamics", "mixed", TALOS, 6075),
    ("forward_dynamics", "mixed", UR5, 2028),
    ("forward_dynamics", "mixed", ANYMAL, 4827),
    ("forward_dynamics", "mixed", TALOS, 12433),
    ("mass_matrix", "mixed", ANYMAL, 1085),
    ("mass_matrix", "mixed", TALOS, 3943),
    ("mass_matrix", "body", UR5, 408),
    ("mass_matrix", "body", ANYMAL, 1085),
    ("mass_matrix", "body", TALOS, 3943),
]
PRESENT = {  # in the default, mixed representation: ur5, anymal, talos
    "inverse_dynamics": (519, 1495, 3767),
    "forward_dynamics": (1129, 3184, 8969),
    "mass_matrix": (452, 1019, 3864),
    "inverse_mass_matrix": (1871, 3954, 17293),
    "bias_force": (463, 1379, 3646),
    "coriolis_force": (437, 1351, 3602),
    "gravity_force": (121, 306, 719),
    "inverse_dynamics_derivatives": (3064, 7055, 24850),
    "gravity_force_derivative": (181, 460, 1862),
    "com": (67, 138, 302),
    "com_velocity": (126, 282, 652),
    "com_jacobian": (160, 402, 1085),
    "momentum": (310, 892, 2225),
    "centroidal_momentum": (345, 1000, 2497),
    "centroidal_momentum_matrix": (510, 1163, 3132),
    "kinetic_energy": (250, 754, 1875),
    "potential_energy": (46, 117, 281),
    "integrate_derivatives": (135, 135, 135),
    "difference_derivatives": (196, 196, 196),
    "com_velocity_derivatives": (413, 1102, 2903),
    "centroidal_momentum_rate": (556, 1605, 4041),
    "centroidal_momentum_derivatives": (1143, 2953, 7905),
    "centroidal_momentum_rate_derivatives": (2383, 6067, 15712),
}
PRESENT_IN_BODY = {
    "mass_matrix": (249, 603, 3134),
    "inverse_dynamics_derivatives": (2241, 5347, 22065),
}


def count(quantity, velocity, name):
    path = next(path for path in ROBOT_FILES if label(path) == name)
    kd = lw.KinDyn(load_quietly(path, mimic=False), representation=velocity)
    return kd.function(quantity).program.n_ops


@pytest.mark.peers
@pytest.mark.parametrize(("quantity", "velocity", "name", "mark"), MARKS)
def test_no_more_operations_than_the_prototype(quantity, velocity, name, mark):
    assert count(quantity, velocity, name) <= mark


@pytest.mark.peers
@pytest.mark.parametrize("quantity", PRESENT)
def test_operations_do_not_grow(quantity):
    found = [count(quantity, "mixed", name) for name in (UR5, ANYMAL, TALOS)]
    assert all(n <= 1.01 * m for n, m in zip(found, PRESENT[quantity], strict=True)), found


@pytest.mark.peers
@pytest.mark.parametrize("quantity", PRESENT_IN_BODY)
def test_operations_in_the_body_representation_do_not_grow(quantity):
    found = [count(quantity, "body", name) for name in (UR5, ANYMAL, TALOS)]
    assert all(n <= 1.01 * m for n, m in zip(found, PRESENT_IN_BODY[quantity], strict=True)), found


@pytest.mark.peers
def test_a_fused_function_does_common_work_once():
    """All three walk the same chain of poses."""
    path = next(path for path in ROBOT_FILES if label(path) == TALOS)
    kd = lw.KinDyn(load_quietly(path, mimic=False))
    parts = [(what, "left_sole_link") for what in ("transform", "jacobian", "velocity")]
    alone = sum(kd.function(part).program.n_ops for part in parts)

    assert kd.function(*parts).program.n_ops < 0.8 * alone
    whole = ("mass_matrix", "bias_force", "inverse_dynamics")
    alone = sum(kd.function(part).program.n_ops for part in whole)
    assert kd.function(*whole).program.n_ops < 0.95 * alone
