"""Steps for rollouts, and rollouts by a loop in Python."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
from tests.support.kernels import finish, start_python

import linkwork as lw
from linkwork.engine.kernel.arguments import Signature, UnitNorm
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import ObjectArray
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace

DT = 0.01


def pendulum(dtype: Any = np.float64) -> Any:
    """One state of two elements, one control."""

    @lw.compile(x=2, u=1, dtype=dtype)
    def pendulum(x, u):
        angle, rate = x
        rate = rate + DT * (u[0] - 9.81 * np.sin(angle) - 0.1 * rate)
        return np.stack([angle + DT * rate, rate])

    return pendulum


def spring(dtype: Any = np.float64) -> Any:
    """Two states, two controls, two parameters, of several shapes."""

    @lw.compile(p=(2,), v=(2,), force=(2,), wind=(), mass=(), stiffness=(2, 2), dtype=dtype)
    def spring(p, v, force, wind, mass, stiffness):  # noqa: PLR0917 - six kinds of inputs
        v = v + DT * (force + wind - stiffness @ np.tanh(p)) / mass
        return p + DT * v, v

    return spring


def spring_inputs(batch: tuple[int, ...], steps: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """x0, controls and params of `spring`."""
    rng = np.random.default_rng(seed)
    x0 = rng.normal(size=(*batch, 2)), rng.normal(size=(*batch, 2))
    controls = rng.normal(size=(*batch, steps, 2)), rng.normal(size=(*batch, steps))
    stiffness = 20 * np.eye(2) + rng.normal(size=(*batch, 2, 2))
    return x0, controls, {"mass": rng.uniform(1, 2, size=batch), "stiffness": stiffness}


def stretching() -> Kernel:
    """Rotates a (cos, sin) pair, which must have norm 1, and scales its norm to 1.5."""
    inputs = Port("x", (2,)), Port("rate", ())

    def turn(x: Any, rate: Any) -> Any:
        c, s = np.cos(rate), np.sin(rate)
        return 1.5 * np.stack([x[0] * c - x[1] * s, x[1] * c + x[0] * s])

    program = trace(lambda *a: turn(*(b.view(ObjectArray) for b in a)), inputs, "next_x")
    units = (UnitNorm(0, 0, 2, "the pair"),)
    signature = Signature("stretching", inputs, program.outputs, units)
    return Kernel(signature, lambda: program)


def loop(step: Any, x0: Any, controls: Any, params: Any = None, steps: int | None = None) -> Any:
    """The same as `rollout`, step by step; a tuple of trajectories."""
    states = list(x0) if isinstance(x0, tuple) else [x0]
    inputs = step.signature.inputs
    names = [port.name for port in inputs[len(states) :] if port.name not in (params or {})]
    values = controls if isinstance(controls, tuple) else (controls,)
    arguments = dict(zip(names, values, strict=False)) if names else {}
    axes = {port.name: len(port.shape) + 1 for port in inputs}
    if arguments:
        steps = arguments[names[0]].shape[-axes[names[0]]]
    batches = [
        np.shape(a)[: np.ndim(a) - len(port.shape)] for port, a in zip(inputs, states, strict=False)
    ]
    batches += [a.shape[: a.ndim - axes[name]] for name, a in arguments.items()]
    batches += [np.shape(a)[: np.ndim(a) - axes[name] + 1] for name, a in (params or {}).items()]
    batch = np.broadcast_shapes(*batches)
    states = [
        np.array(np.broadcast_to(a, (*batch, *port.shape)))
        for port, a in zip(inputs, states, strict=False)
    ]
    actual = [[state] for state in states]
    for time in range(steps or 0):
        now = {
            name: a[(..., time, *[slice(None)] * (axes[name] - 1))] for name, a in arguments.items()
        }
        result = step(*states, **now, **(params or {}))
        states = list(result) if isinstance(result, tuple) else [result]
        for stored, state in zip(actual, states, strict=True):
            stored.append(state)
    return tuple(np.stack(stored, axis=len(batch)) for stored in actual)


def numbers(*shape: int, seed: int = 0) -> Any:
    """Random values."""
    return np.random.default_rng(seed).normal(size=shape)


def said_when_interrupted(code: str) -> tuple[str, int, str]:
    """Output, exit code and errors of a program that gets Ctrl-C after it has printed "ready"."""
    process = start_python(code)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    threading.Event().wait(0.3)
    process.send_signal(signal.SIGINT)
    returncode, message, errors = finish(process)
    return message, returncode, errors
