"""Results with parameter values equal those of a model that was edited to have these values."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import Interpreted, run_program
from tests.support.models import assert_close
from tests.support.parameters import edited, varied

import linkwork as lw
from linkwork import parameters as lp
from linkwork.mechanics.base import REPRESENTATIONS

STATES = [(floating, velocity) for floating in (True, False) for velocity in REPRESENTATIONS]
ON_ROBOTS = pytest.mark.parametrize(
    ("seed", "floating", "velocity"), [(k % 3, *state) for k, state in enumerate(STATES)]
)
OF_ROBOT = [
    name for name, one in lw.KinDyn.quantities.items() if not one.of_coordinates and not one.frames
]
OF_FRAME = [name for name, one in lw.KinDyn.quantities.items() if one.frames == ("frame",)]


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def agree(result, expected, rtol=1e-10):
    for one, other in zip(parts(result), parts(expected), strict=True):
        assert_close(one, other, rtol, scale=max(np.abs(other).max(initial=0.0), 1e-3))


@ON_ROBOTS
def test_each_row_equals_the_model_with_its_values(seed, floating, velocity):
    case = varied(seed, floating=floating, representation=velocity)
    others = [edited(case.kd, p) for p in case.p]
    start = STATES.index((floating, velocity)) % 2  # every second one, each in three states
    for name in OF_ROBOT[start::2]:
        inputs = lw.KinDyn.quantities[name].inputs
        arguments = case.arguments(inputs)
        options = {"wrenches": {case.frames[0]: case.q[:, :6]}} if name == "external_force" else {}
        result = parts(getattr(case.kd, name)(*arguments, parameters=case.p, **options))
        for row, other in enumerate(others):
            row_arguments = [argument[row] for argument in arguments]
            forces = {k: {f: w[row] for f, w in v.items()} for k, v in options.items()}
            agree(
                tuple(part[row] for part in result), getattr(other, name)(*row_arguments, **forces)
            )


@ON_ROBOTS
def test_frames_move_with_the_parameters(seed, floating, velocity):
    case = varied(seed, floating=floating, representation=velocity)
    other = edited(case.kd, case.p[1])
    for name in OF_FRAME:
        arguments = [argument[1] for argument in case.arguments(lw.KinDyn.quantities[name].inputs)]
        for frame in case.frames:
            method = getattr(case.kd, name)
            agree(
                method(frame, *arguments, parameters=case.p[1]),
                getattr(other, name)(frame, *arguments),
            )
    first, second, _ = case.frames
    for name in ("relative_transform", "relative_jacobian"):
        result = getattr(case.kd, name)(first, second, case.q[1], parameters=case.p[1])
        agree(result, getattr(other, name)(first, second, case.q[1]))
    result = case.kd.relative_jacobian(
        first, second, case.q[1], origin=first, axes=second, parameters=case.p[1]
    )
    agree(result, other.relative_jacobian(first, second, case.q[1], origin=first, axes=second))
    agree(case.kd.transforms(case.q[1], parameters=case.p[1]), other.transforms(case.q[1]))


@pytest.mark.parametrize("seed", range(3))
def test_defaults_are_the_values_of_the_model(seed):
    case = varied(seed)
    for name in ("mass_matrix", "inverse_dynamics", "com", "joint_wrenches"):
        arguments = case.arguments(lw.KinDyn.quantities[name].inputs)
        agree(getattr(case.kd, name)(*arguments), getattr(case.plain, name)(*arguments))


@pytest.mark.parametrize("seed", range(2))
def test_programs_agree_with_numpy(seed):
    case = varied(seed)
    traced = Interpreted(lw.KinDyn(case.kd.model, **case.kd.options))
    for name in ("mass_matrix", "inverse_dynamics", "forward_dynamics", "centroidal_momentum"):
        arguments = case.arguments(lw.KinDyn.quantities[name].inputs)
        kernel = traced.kd.function(name)
        (result,) = run_program(kernel.program, *arguments, case.p)
        agree(result, getattr(case.kd, name)(*arguments, parameters=case.p))


def test_other_properties_stay_constants():
    """Properties that are not parameters add no operations to the compiled program."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    loaded = kd.replace(parameters=[lp.Payload("tool")])
    for name, most in (
        ("mass_matrix", 1.14),
        ("inverse_dynamics", 1.1),
        ("forward_dynamics", 1.07),
    ):
        counts = [one.function(name).program.n_ops for one in (kd, loaded)]
        assert counts[1] <= most * counts[0]
    heavy = kd.replace(parameters=[lp.Gravity()])
    assert heavy.function("mass_matrix").program.n_ops == kd.function("mass_matrix").program.n_ops
