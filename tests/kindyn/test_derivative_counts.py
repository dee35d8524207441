"""How many operations derivatives take: marks for talos, floating, in mixed representation."""

from __future__ import annotations

import pytest
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

import linkwork as lw
from linkwork.engine.autodiff.diff import jvp, vjp
from linkwork.engine.kernel.derive import unit_indices

# function, first marks for a vjp by all inputs, what is reached now, and that of a jvp
MARKS = [
    ("inverse_dynamics", 9318, 8651, 8730),
    ("mass_matrix", 10679, 9730, 9081),
    ("forward_dynamics", 23024, 21731, 22446),
]


@pytest.fixture(scope="module")
def talos():
    path = next(path for path in ROBOT_FILES if label(path) == "talos_data/talos_reduced")
    return lw.KinDyn(load_quietly(path, mimic=False))


@pytest.mark.peers
@pytest.mark.parametrize(("quantity", "mark", "of_vjp", "of_jvp"), MARKS)
def test_no_more_operations_than_the_marks(talos, quantity, mark, of_vjp, of_jvp):
    kernel = talos.function(quantity)
    names = [port.name for port in kernel.signature.inputs]
    units = unit_indices(kernel.signature)
    backwards = vjp(kernel.program, names, units=units)
    by_q = vjp(kernel.program, "q", units=units)
    forwards = jvp(kernel.program, names, units=units)

    assert of_vjp <= mark
    assert backwards.n_ops <= 1.01 * of_vjp
    assert by_q.n_ops <= backwards.n_ops
    assert forwards.n_ops <= 1.01 * of_jvp


@pytest.mark.peers
def test_derivatives_of_forward_dynamics_take_no_more_operations_than_before(talos):
    assert talos.function("forward_dynamics_derivatives").program.n_ops <= 1.005 * 94785
