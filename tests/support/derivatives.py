"""Derivatives of algorithms by complex steps, along tangents of the configuration.

`Traced` runs an algorithm as a program on numbers, complex ones too: it is analytic in all its
inputs, so the imaginary part of f(x + i h dx) / h is the derivative along dx without a difference
being taken.
"""

from __future__ import annotations

import numpy as np
from tests.support.complex_steps import COMPLEX_FUNCTIONS
from tests.support.kindyn import STEP, rate_of_q, run_program

from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace


def velocity_kinematics_of(layout, q, velocity):
    """The matrix E (nq, nv) with q_dot = E nu."""
    columns = [rate_of_q(layout, q, e, velocity) for e in np.eye(layout.nv)]
    return np.array(columns).reshape(layout.nv, layout.nq).T


class Traced:
    """An algorithm as a function of arrays, without compiling."""

    def __init__(self, function, skeleton, *sizes, **options):
        ports = [Port(f"x{k}", (size,)) for k, size in enumerate(sizes)]

        def of_numbers(*arrays):
            actual = function(skeleton, *(list(array) for array in arrays), **options)
            parts = actual if isinstance(actual, tuple) else (actual,)
            return tuple(np.array(part, dtype=object) for part in parts)

        self.program = trace(of_numbers, ports, "y")

    def __call__(self, *arguments):
        """Return the outputs; a single output is not wrapped in a list."""
        actual = run_program(self.program, *arguments, functions=COMPLEX_FUNCTIONS)
        return actual[0] if len(actual) == 1 else actual

    def along(self, arguments, which, columns):
        """Derivatives (*output, n) in one argument along each column of a matrix (size, n)."""
        moved = [np.asarray(argument, complex) for argument in arguments]
        moved[which] = moved[which] + 1j * STEP * np.asarray(columns).T
        return np.moveaxis(np.imag(self(*moved)) / STEP, 0, -1)
