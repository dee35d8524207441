"""Derivatives of kernels by complex steps, since the interpreter supports complex numbers."""

from __future__ import annotations

import numpy as np
from tests.support.kindyn import STEP, WITH_COMPLEX_SIGNS, run_program

from linkwork.engine.symbolic.operations import Op

# Where a comparison decides, the real parts count: steps are too small to change it.
COMPLEX_FUNCTIONS = WITH_COMPLEX_SIGNS | {
    Op.LESS: lambda a, b: (np.real(a) < np.real(b)) * 1.0,
    Op.LESS_EQUAL: lambda a, b: (np.real(a) <= np.real(b)) * 1.0,
    Op.FLOOR: lambda a: np.floor(np.real(a)),
}


def _atan2(y, x):
    """The real function, and its derivative times the imaginary parts."""
    if not np.iscomplexobj(y) and not np.iscomplexobj(x):
        return np.arctan2(y, x)
    y, x = np.asarray(y, complex), np.asarray(x, complex)
    slope = (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
    return np.arctan2(y.real, x.real) + 1j * slope


COMPLEX_FUNCTIONS[Op.ATAN2] = _atan2


def normalized(kernel, arguments):
    """Normalize the parts of arguments that must have norm 1, complex or not."""
    results = [np.array(a) for a in arguments]
    for unit in kernel.signature.unit_norms:
        part = results[unit.input][..., unit.offset : unit.offset + unit.count]
        part /= np.sqrt((part * part).sum(axis=-1, keepdims=True))
    return results


def evaluated(kernel, arguments):
    """Compute the outputs of a kernel with its program, without compiling."""
    shaped = [
        np.reshape(a, (*np.shape(a)[: np.ndim(a) - len(port.shape)], port.size))
        if port.shape
        else np.asarray(a)
        for a, port in zip(normalized(kernel, arguments), kernel.signature.inputs, strict=True)
    ]
    return run_program(kernel.program, *shaped, functions=COMPLEX_FUNCTIONS)


def tangents_by_steps(kernel, arguments, tangents):
    """The tangent of each output: `tangents` has one array, or None, for each input."""
    moved = [
        np.asarray(a) + (0.0 if d is None else 1j * STEP * np.asarray(d))
        for a, d in zip(arguments, tangents, strict=True)
    ]
    return [np.imag(actual) / STEP for actual in evaluated(kernel, moved)]


def jacobian_by_steps(kernel, arguments, name):
    """For each output d output / d input, of shape (*output.shape, *input.shape)."""
    index = [port.name for port in kernel.signature.inputs].index(name)
    port = kernel.signature.inputs[index]
    directions = np.eye(port.size).reshape(port.size, *port.shape)
    moved = [np.broadcast_to(a, (port.size, *np.shape(a))) for a in arguments]
    tangents = [None] * len(moved)
    tangents[index] = directions
    columns = tangents_by_steps(kernel, moved, tangents)
    return [
        np.moveaxis(actual, 0, -1).reshape(*out.shape, *port.shape)
        for actual, out in zip(columns, kernel.signature.outputs, strict=True)
    ]


def drawn(ports, rng):
    """Draw random values for inputs."""
    return [rng.normal(size=port.shape) for port in ports]


def arguments_of(kernel, kd, rng):
    """Draw random arguments of a kernel of a robot: configurations, a time step, and others."""
    actual = []
    for number, port in enumerate(kernel.signature.inputs):
        if port.name in ("q", "q_start", "q_end"):
            actual.append(kd.random(1, seed=int(rng.integers(1 << 30)) + number)[0])
        elif port.name == "dt":
            actual.append(np.array(0.3))
        else:
            actual.append(rng.normal(size=port.shape))
    return actual


def as_list(results):
    """Return the results of a kernel as a list, also if there is only one."""
    return list(results) if isinstance(results, tuple) else [results]
