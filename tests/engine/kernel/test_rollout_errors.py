"""`linkwork.rollout`: errors contain names and values, and leave `out` unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.rollouts import pendulum, spring, spring_inputs

import linkwork as lw
from linkwork.engine.runtime.numpy_code import NumpyCode


@pytest.fixture(scope="module")
def swing():
    return pendulum()


@pytest.fixture(scope="module")
def sprung():
    return spring()


def assert_rejected(kind: type[Exception], facts: tuple[str, ...], *args, **named) -> None:
    """A rollout raises an error of this kind, whose message has these names and values."""
    with pytest.raises(kind) as caught:
        lw.rollout(*args, **named)
    assert type(caught.value) is kind
    for fact in facts:
        assert fact in str(caught.value)


def test_steps_that_are_not_kernels():
    assert_rejected(lw.ArgumentError, ("got 3", "@linkwork.compile"), 3, [0.0, 0.0])

    @lw.compile(x=2, u=1)
    def longer(x, u):
        return np.concatenate([x, u])

    facts = "output 0 of longer", "(3,)", "input 'x'", "(2,)"
    assert_rejected(lw.ShapeError, facts, longer, [0.0, 0.0], [[0.0]])

    @lw.compile(x=2)
    def twice(x):
        return x, x

    assert_rejected(lw.ArgumentError, ("twice has 2 outputs and 1 inputs",), twice, [0.0, 0.0])
    with pytest.raises(lw.ArgumentError, match=r"rollout: .*twice.*2"):
        lw.Rollout(twice)


def test_the_first_state(swing, sprung):
    controls = np.zeros((5, 1))
    assert_rejected(lw.ShapeError, ("x: ", "(..., 2)", "(3,)"), swing, np.zeros(3), controls)
    assert_rejected(lw.ArgumentError, ("x: ", "str"), swing, "here", controls)
    _, forces, params = spring_inputs((), 4)
    for x0, got in ((np.zeros(2), "ndarray"), ((np.zeros(2),), "got 1")):
        facts = "x0: ", "2 arrays (p, v)", got
        assert_rejected(lw.ArgumentError, facts, sprung, x0, forces, params=params)


def test_controls(swing, sprung):
    x0 = np.zeros(2)
    assert_rejected(lw.ArgumentError, ("controls", "pendulum takes u", "params="), swing, x0)
    for controls, got in ((np.zeros(1), "(1,)"), (np.zeros((5, 2)), "(5, 2)")):
        facts = "u: ", "(..., steps, 1)", got
        assert_rejected(lw.ShapeError, facts, swing, x0, controls)
    assert_rejected(lw.ArgumentError, ("u: ", "list"), swing, x0, [[0.0], [0.0, 1.0]])
    facts = "x (3,)", "u (4,)"
    assert_rejected(lw.ShapeError, facts, swing, np.zeros((3, 2)), np.zeros((4, 5, 1)))
    two, (force, wind), params = spring_inputs((), 4)
    facts = "wind: ", "(..., 4)", "(3,)"
    assert_rejected(lw.ShapeError, facts, sprung, two, (force, wind[:3]), params=params)
    for controls, got in ((force, "ndarray"), ((force,), "got 1")):
        facts = "controls: ", "2 arrays (force, wind)", got
        assert_rejected(lw.ArgumentError, facts, sprung, two, controls, params=params)
    every = {**params, "force": force[0], "wind": wind[0]}
    facts = "controls: ", "spring", "steps="
    assert_rejected(lw.ArgumentError, facts, sprung, two, (force,), params=every)


def test_params(swing):
    x0, controls = np.zeros(2), np.zeros((5, 1))
    for params, facts in (
        ({"x": x0}, ("'x' is a state of pendulum", "x0")),
        ({"mass": 1.0}, ("pendulum", "'mass'", "known: u")),
        (3, ("by name", "got 3")),
    ):
        assert_rejected(lw.ArgumentError, ("params: ", *facts), swing, x0, controls, params=params)
    facts = "u: ", "(..., 1)", "(2,)"
    assert_rejected(lw.ShapeError, facts, swing, x0, params={"u": [1.0, 2.0]}, steps=3)


def test_steps(swing):
    x0, controls = np.zeros(2), np.zeros((5, 1))
    facts = "steps: ", "got 4", "expected 5", "of u"
    assert_rejected(lw.ShapeError, facts, swing, x0, controls, steps=4)
    for wrong in (-1, 2.5, "many"):
        facts = "steps: ", f"got {wrong!r}"
        assert_rejected(lw.ArgumentError, facts, swing, x0, controls, steps=wrong)
    assert_rejected(lw.ArgumentError, ("steps: ", "pendulum"), swing, x0, params={"u": [0.0]})
    assert lw.rollout(swing, x0, controls, steps=5).shape == (6, 2)


def test_out_and_threads(swing):
    x0, controls = np.zeros((3, 2)), np.zeros((3, 5, 1))
    out = np.full((3, 6, 2), 7.0)
    for kind, bad, facts in (
        (lw.ShapeError, np.zeros((3, 5, 2)), ("(3, 6, 2) for x", "(3, 5, 2)")),
        (lw.ArgumentError, np.zeros((3, 6, 2), np.float32), ("float64 for x", "float32")),
        (lw.ArgumentError, (out, out), ("1 arrays", "got 2")),
        (lw.ArgumentError, [1, 2, 3], ("1 arrays", "got 3")),
    ):
        assert_rejected(kind, ("out: ", *facts), swing, x0, controls, out=bad)
    facts = "threads: ", "'all'"
    assert_rejected(lw.ArgumentError, facts, swing, x0, controls, threads="all", out=out)
    facts = "x (3,)", "u (2,)"
    assert_rejected(lw.ShapeError, facts, swing, x0, controls[:2], out=out)
    np.testing.assert_array_equal(out, 7.0)


def test_the_extension_rejects_unprepared_arrays(swing):
    swing.warmup()
    start, controls = np.zeros((3, 1, 2)), np.zeros((3, 5, 1))
    result = np.zeros((3, 6, 2))
    for arguments in (
        ((start,), (controls,), (result[:, :5],), 3, 5, None),
        ((start[:2],), (controls,), (result,), 3, 5, None),
        ((start,), (controls[..., 0],), (result,), 3, 5, None),
        ((start.astype(np.float32),), (controls,), (result,), 3, 5, None),
        ((start,), (), (result,), 3, 5, None),
        ((start,), (controls,), (np.broadcast_to(result[:1], (3, 6, 2)),), 3, 5, None),
        ((start,), (controls,), (result,), 3, -1, None),
        ((start,), (controls,), (result,), 3, 5, "two"),
    ):
        with pytest.raises(ValueError, match="rollout: "):
            swing._roll(*arguments)
    swing._roll((start,), (controls,), (result,), 3, 5, None)


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("path", ["compiled", "NumPy"])
def test_the_first_state_that_is_not_finite_is_named_on_request(final, path, monkeypatch):
    @lw.compile(x=(), v=2, gain=())
    def step(x, v, gain):
        return x + 1.0, v * gain

    if path == "NumPy":
        monkeypatch.setattr(step.code, "column_function", NumpyCode(step.program))
    x0 = np.zeros(3), np.ones((3, 2))
    gains = np.array([1.0, 1e100, 1e50])
    options = {"params": {"gain": gains}, "steps": 10, "final": final}
    lw.rollout(step, x0, **options)
    lw.rollout(step, x0, check=True, **options | {"steps": 3})
    with pytest.raises(lw.ValueRangeError, match=r"\bv\b.*finite.*step 4 of 10") as caught:
        lw.rollout(step, x0, check=True, **options)
    assert "row 1 of 3" in str(caught.value)
    assert caught.value.mask.tolist() == [False, True, True]
    x0[0][2] = np.nan
    gains[1] = 1.0
    with pytest.raises(lw.ValueRangeError, match=r"\bx\b.*finite.*start.*row 2 of 3"):
        lw.rollout(step, x0, check=True, **options)
    one = {"params": {"gain": 1e200}, "steps": 5, "final": final, "check": True}
    with pytest.raises(lw.ValueRangeError, match="step 2 of 5") as caught:
        lw.rollout(step, (0.0, np.ones(2)), **one)
    assert caught.value.mask is None
