"""`linkwork.rollout`: what is refused, word for word; `out` stays untouched then."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.rollouts import pendulum, spring, spring_inputs

import linkwork as lw
from linkwork.engine.runtime.numpy_code import NumpyCode

RULE = "a step gives the next values of its first inputs, in their order"


@pytest.fixture(scope="module")
def swing():
    return pendulum()


@pytest.fixture(scope="module")
def sprung():
    return spring()


def refused(kind: type[Exception], *args, **named) -> str:
    with pytest.raises(kind) as caught:
        lw.rollout(*args, **named)
    assert type(caught.value) is kind
    return str(caught.value)


def test_steps_that_are_none():
    text = "rollout: expected a compiled function as the step, got 3; decorate it with"
    assert refused(lw.ArgumentError, 3, [0.0, 0.0]) == f"{text} @linkwork.compile"

    @lw.compile(x=2, u=1)
    def longer(x, u):
        return np.concatenate([x, u])

    assert refused(lw.ShapeError, longer, [0.0, 0.0], [[0.0]]) == (
        f"rollout: output 0 of longer has shape (3,), its input 'x' has (2,); {RULE}"
    )

    @lw.compile(x=2)
    def twice(x):
        return x, x

    text = f"rollout: twice has 2 outputs and 1 inputs; {RULE}"
    assert refused(lw.ArgumentError, twice, [0.0, 0.0]) == text
    with pytest.raises(lw.ArgumentError, match="rollout: twice has 2 outputs"):
        lw.Rollout(twice)


def test_the_first_state(swing, sprung):
    controls = np.zeros((5, 1))
    assert refused(lw.ShapeError, swing, np.zeros(3), controls) == "x: expected (..., 2), got (3,)"
    assert refused(lw.ArgumentError, swing, "here", controls) == "x: expected numbers, got str"
    _, forces, params = spring_inputs((), 4)
    text = refused(lw.ArgumentError, sprung, np.zeros(2), forces, params=params)
    assert text == "x0: expected a tuple of 2 arrays (p, v), got ndarray"
    text = refused(lw.ArgumentError, sprung, (np.zeros(2),), forces, params=params)
    assert text == "x0: expected 2 arrays (p, v), got 1"


def test_controls(swing, sprung):
    x0 = np.zeros(2)
    text = refused(lw.ArgumentError, swing, x0)
    assert text == (
        "controls: pendulum takes u besides its states; give a value for each step, or by params= "
        "what stays the same"
    )
    text = refused(lw.ShapeError, swing, x0, np.zeros(1))
    assert text == "u: expected (..., steps, 1), got (1,)"
    text = refused(lw.ShapeError, swing, x0, np.zeros((5, 2)))
    assert text == "u: expected (..., steps, 1), got (5, 2)"
    text = refused(lw.ArgumentError, swing, x0, [[0.0], [0.0, 1.0]])
    assert text == "u: expected numbers, got list"
    text = refused(lw.ShapeError, swing, np.zeros((3, 2)), np.zeros((4, 5, 1)))
    assert text == "batch axes do not fit each other: x (3,), u (4,)"
    two, (force, wind), params = spring_inputs((), 4)
    text = refused(lw.ShapeError, sprung, two, (force, wind[:3]), params=params)
    assert text == "wind: expected (..., 4), got (3,)"
    text = refused(lw.ArgumentError, sprung, two, force, params=params)
    assert text == "controls: expected a tuple of 2 arrays (force, wind), got ndarray"
    text = refused(lw.ArgumentError, sprung, two, (force,), params=params)
    assert text == "controls: expected 2 arrays (force, wind), got 1"
    every = {**params, "force": force[0], "wind": wind[0]}
    text = refused(lw.ArgumentError, sprung, two, (force,), params=every)
    assert text == (
        "controls: spring has no input left that takes a value for each step; give steps=, and "
        "leave out controls"
    )


def test_params(swing):
    x0, controls = np.zeros(2), np.zeros((5, 1))
    text = refused(lw.ArgumentError, swing, x0, controls, params={"x": x0})
    assert text == "params: 'x' is a state of pendulum; x0 gives its first value"
    text = refused(lw.ArgumentError, swing, x0, controls, params={"mass": 1.0})
    assert text == "params: no input of pendulum after its states named 'mass'; known: u"
    text = refused(lw.ArgumentError, swing, x0, controls, params=3)
    assert text == "params: expected values by name, got 3"
    text = refused(lw.ShapeError, swing, x0, params={"u": [1.0, 2.0]}, steps=3)
    assert text == "u: expected (..., 1), got (2,)"


def test_steps(swing):
    x0, controls = np.zeros(2), np.zeros((5, 1))
    text = refused(lw.ShapeError, swing, x0, controls, steps=4)
    assert text == "steps: 4 are asked for, but u has values for 5"
    for wrong in (-1, 2.5, "many"):
        text = refused(lw.ArgumentError, swing, x0, controls, steps=wrong)
        assert text == f"steps: expected a whole number from 0 on, got {wrong!r}"
    text = refused(lw.ArgumentError, swing, x0, params={"u": [0.0]})
    assert text == "steps: how many? pendulum takes no controls"
    assert lw.rollout(swing, x0, controls, steps=5).shape == (6, 2)


def test_out_and_threads(swing):
    x0, controls = np.zeros((3, 2)), np.zeros((3, 5, 1))
    out = np.full((3, 6, 2), 7.0)
    for bad, text in (
        (np.zeros((3, 5, 2)), "out: expected (3, 6, 2) for x, got (3, 5, 2)"),
        (np.zeros((3, 6, 2), np.float32), "out: expected float64 for x, got float32"),
        ((out, out), "out: expected 1 arrays, got 2"),
        ([1, 2, 3], "out: expected 1 arrays, got 3"),
    ):
        with pytest.raises(lw.LinkworkError) as caught:
            lw.rollout(swing, x0, controls, out=bad)
        assert str(caught.value) == text
    text = refused(lw.ArgumentError, swing, x0, controls, threads="all", out=out)
    assert text == "threads: expected a whole number, got 'all'"
    text = refused(lw.ShapeError, swing, x0, controls[:2], out=out)
    assert text == "batch axes do not fit each other: x (3,), u (2,)"
    np.testing.assert_array_equal(out, 7.0)


def test_the_extension_refuses_arrays_that_python_has_not_prepared(swing):
    swing.warmup()
    start, controls = np.zeros((3, 1, 2)), np.zeros((3, 5, 1))
    result = np.zeros((3, 6, 2))
    text = "rollout: arguments that do not fit the function"
    for given in (
        ((start,), (controls,), (result[:, :5],), 3, 5, None),
        ((start[:2],), (controls,), (result,), 3, 5, None),
        ((start,), (controls[..., 0],), (result,), 3, 5, None),
        ((start.astype(np.float32),), (controls,), (result,), 3, 5, None),
        ((start,), (), (result,), 3, 5, None),
        ((start,), (controls,), (np.broadcast_to(result[:1], (3, 6, 2)),), 3, 5, None),
        ((start,), (controls,), (result,), 3, -1, None),
        ((start,), (controls,), (result,), 3, 5, "two"),
    ):
        with pytest.raises(ValueError, match=text):
            swing._roll(*given)
    swing._roll((start,), (controls,), (result,), 3, 5, None)


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("path", ["compiled", "NumPy"])
def test_the_first_state_that_is_not_finite_is_named_on_request(final, path, monkeypatch):
    @lw.compile(x=(), v=2, gain=())
    def step(x, v, gain):
        return x + 1.0, v * gain

    if path == "NumPy":
        monkeypatch.setattr(step, "_numpy_path", NumpyCode(step.program))
    x0 = np.zeros(3), np.ones((3, 2))
    gains = np.array([1.0, 1e100, 1e50])
    options = {"params": {"gain": gains}, "steps": 10, "final": final}
    lw.rollout(step, x0, **options)
    lw.rollout(step, x0, check=True, **options | {"steps": 3})
    with pytest.raises(lw.ValueRangeError, match=r"v is not finite after step 4 of 10") as caught:
        lw.rollout(step, x0, check=True, **options)
    assert "row 1 of 3" in str(caught.value)
    assert caught.value.mask.tolist() == [False, True, True]
    x0[0][2] = np.nan
    gains[1] = 1.0
    with pytest.raises(lw.ValueRangeError, match=r"x is not finite at the start .*row 2 of 3"):
        lw.rollout(step, x0, check=True, **options)
    one = {"params": {"gain": 1e200}, "steps": 5, "final": final, "check": True}
    with pytest.raises(lw.ValueRangeError, match="after step 2 of 5") as caught:
        lw.rollout(step, (0.0, np.ones(2)), **one)
    assert caught.value.mask is None
