"""Keys of the cache: different functions never share code, equal ones always do."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.support.kernels import floater, output_of, with_frames
from tests.support.models import random_model

import linkwork as lw
from linkwork.engine.runtime import compiled_program


def keys_of(kd: lw.KinDyn, *requests: object) -> set[str]:
    actual = kd.function(*requests)
    return {actual.code.cache_key(1), actual.code.cache_key(actual.code.width)}


def test_different_functions_never_share_code():
    model = floater().model
    heavy = model.with_inertia("tip", lw.Inertia(1e-9, (0, 0, 0), (0,) * 6))
    framed = model.with_frame("tool", "tip", lw.Pose(xyz=(1e-12, 0.0, 0.0)))
    moved = model.with_frame("tool", "tip", lw.Pose(xyz=(1.0000000000000002e-12, 0.0, 0.0)))
    robots = [
        lw.KinDyn(model),
        lw.KinDyn(model, floating=False),
        lw.KinDyn(model, base="tip"),
        lw.KinDyn(model, representation="body"),
        lw.KinDyn(model, representation="inertial"),
        lw.KinDyn(model, gravity=(0, 0, -1.62)),
        lw.KinDyn(model, gravity=(0, 0, -1.6200000000000003)),
        lw.KinDyn(model, dtype=np.float32),
        lw.KinDyn(heavy),
        lw.KinDyn(framed),
        lw.KinDyn(moved),
        lw.KinDyn(with_frames(2)),
    ]
    requests = ["com", "com_jacobian", "bias_force", ("jacobian", "base"), ("jacobian", "tip")]
    seen: set[str] = set()
    for kd in robots:
        for request in requests:
            if request[-1] in ("base", "tip") and request[-1] not in kd.model.frame_names:
                continue
            new = keys_of(kd, request)
            assert len(new) == 2
            assert not new & seen
            seen |= new
    kd = robots[0]
    for request in (("com", "bias_force"), ("bias_force", "com"), ("com", "com")):
        new = keys_of(kd, *request)
        assert not new & seen
        seen |= new


# Keys hold every bit of every number.


def robot() -> lw.Model:
    """A robot with joints of all kinds, of which some mimic others."""
    model = random_model(np.random.default_rng(5), 10)
    limits = lw.Limits(lower=-1.0, upper=0.5, velocity=3.0, effort=20.0)
    joints = [
        replace(joint, limits=limits, damping=0.25, friction=0.125, armature=0.5)
        if joint.kind in ("revolute", "prismatic")
        else joint
        for joint in model.joints
    ]
    return replace(model, joints=tuple(joints))


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    """All numbers of a model, with the path to each: names of fields, and indices."""
    if is_dataclass(value):
        for field in fields(value):
            if field.name not in ("visuals", "collisions", "location"):
                yield from numbers_in(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from numbers_in(part, (*path, index))
    elif isinstance(value, float):
        yield path, value


def with_number(value: Any, path: tuple[Any, ...], number: Any) -> Any:
    """A model with one number replaced."""
    if not path:
        return number
    first, *rest = path
    if isinstance(first, int):
        parts = list(value)
        parts[first] = with_number(parts[first], tuple(rest), number)
        return tuple(parts)
    return replace(value, **{first: with_number(getattr(value, first), tuple(rest), number)})


def changed(model: lw.Model, path: tuple[Any, ...], number: Any) -> lw.Model | None:
    """The model with one number replaced; None if it is not valid."""
    try:
        other = with_number(model, path, number)
    except lw.ModelError:
        return None
    return None if other == model else other  # an axis may be normalized to the same


def test_keys_depend_on_the_last_bit_of_every_number():
    model = robot()
    seen = keys_of(lw.KinDyn(model), "forward_dynamics")
    fields_seen = set()
    for path, number in numbers_in(model):
        other = changed(model, path, math.nextafter(number, math.inf if number <= 0 else 0.0))
        if other is not None:
            keys = keys_of(lw.KinDyn(other), "forward_dynamics")
            assert not keys & seen, path
            seen |= keys
            fields_seen |= {part for part in path if isinstance(part, str)}
    assert fields_seen >= {
        *("mass", "com", "tensor", "xyz", "rpy", "axis", "pitch", "multiplier", "offset"),
        *("lower", "upper", "velocity", "effort", "damping", "friction", "armature"),
        *("first_H_joint", "joint_H_second", "link_H_frame"),
    }


@pytest.mark.parametrize("given", [np.float64, np.array], ids=["scalar", "0-d array"])
def test_numpy_numbers_have_the_keys_of_floats(given):
    """Arrays are printed with eight digits: two robots must not share code for that."""
    model = robot()
    for path, number in numbers_in(model):
        same = with_number(model, path, given(number))
        assert {type(value) for _, value in numbers_in(same)} == {float}, path
        assert same == model
        if path[-1] in ("multiplier", "offset", "mass", "pitch"):
            assert keys_of(lw.KinDyn(same), "com") == keys_of(lw.KinDyn(model), "com")
    assert sum(1 for _ in numbers_in(model)) > 200


def test_two_robots_that_differ_in_the_ninth_digit_of_an_array_do_not_share_code():
    model = robot()
    path = next(path for path, _ in numbers_in(model) if path[-1] == "multiplier")
    keys = [
        keys_of(lw.KinDyn(with_number(model, path, np.array(number))), "com")
        for number in (0.333333331, 0.333333332)
    ]
    assert not keys[0] & keys[1]


def test_programs_that_differ_in_the_last_bit_do_not_share_code():
    factors = (0.1, math.nextafter(0.1, 1.0), np.float32(0.1), -0.0, 0.5)
    functions = [lw.compile(x=2)(lambda x, k=k: k / (x + k)) for k in factors]
    keys = {function.code.cache_key(1) for function in functions}
    assert len(keys) == len(factors)


def test_the_name_of_the_robot_and_whether_it_checks_do_not_matter():
    model = floater().model
    assert keys_of(lw.KinDyn(model), "com") == keys_of(lw.KinDyn(model, check=True), "com")
    assert keys_of(lw.KinDyn(model), "com") == keys_of(lw.KinDyn(model, base="base"), "com")


@pytest.mark.parametrize("seeds", [("1", "2"), ("random", "random")])
def test_a_key_is_the_same_in_every_process(seeds):
    code = """
    kd = floater()
    print([kd.function(name).code.cache_key(4) for name in ("com", "forward_dynamics")])
    kernel = kd.function("com", ("jacobian", "tip"))
    print(kernel.code.cache_key(1), kernel.program.digest)
    """
    assert len({output_of(code, PYTHONHASHSEED=seed) for seed in seeds}) == 1


def test_print_options_do_not_change_a_key(monkeypatch):
    model = floater().model.with_frame("tool", "tip", lw.Pose(xyz=(0.1234567, 0.0, 0.0)))
    other = floater().model.with_frame("tool", "tip", lw.Pose(xyz=(0.1234568, 0.0, 0.0)))
    with np.printoptions(precision=2, threshold=1):
        keys = keys_of(lw.KinDyn(model), "com")
        assert keys != keys_of(lw.KinDyn(other), "com")
    assert keys == keys_of(lw.KinDyn(model), "com")


def test_a_changed_printer_finds_no_code_of_the_old_one(monkeypatch):
    """A program without a key is identified by its steps and by linkwork's sources."""
    function = lw.compile(x=3)(lambda x: 2 * x)
    before = {function.code.cache_key(1), function.code.cache_key(4)}
    monkeypatch.setattr(compiled_program, "source_digest", lambda: "another")
    assert not before & {function.code.cache_key(1), function.code.cache_key(4)}


# What users define decides programs too: each of these computes `2 * FACTOR`, or FACTOR times as
# much, and nothing but the value of FACTOR differs between two processes with one cache.

USERS = {
    "method of a parameter": """
        class Heavier(DensityMultiplier):
            def vary(self, model, numbers, into):
                super().vary(model, [[FACTOR * numbers[0][0]]], into)
        kernel = lw.KinDyn(rod, parameters=[Heavier("second")]).mass_matrix
    """,
    "replaced method of linkwork": """
        vary = DensityMultiplier.vary
        DensityMultiplier.vary = lambda self, model, numbers, into: vary(
            self, model, [[FACTOR * numbers[0][0]]], into)
        kernel = lw.KinDyn(rod, parameters=[DensityMultiplier("second")]).mass_matrix
    """,
    "default argument of a parameter": """
        class Heavier(DensityMultiplier):
            def vary(self, model, numbers, into, factor=FACTOR):
                super().vary(model, [[factor * numbers[0][0]]], into)
        kernel = lw.KinDyn(rod, parameters=[Heavier("second")]).mass_matrix
    """,
    "derivative of a parameter": """
        class Heavier(DensityMultiplier):
            def vary(self, model, numbers, into):
                super().vary(model, [[FACTOR * numbers[0][0]]], into)
        kernel = lw.KinDyn(rod, parameters=[Heavier("second")]).inverse_dynamics.jacobian("nu_dot")
    """,
    "joint kind": """
        class Geared(type(kinds._ALL["prismatic"]).__mro__[1]):
            name, nq, nv, neutral, reach = "geared", 1, 1, (0.0,), (1.0,)
            rotation, translates = "none", True
            def pose(self, axis, theta):
                return IDENTITY, FACTOR * theta[0] * axis.direction
            def subspace(self, axis, theta):
                return ((FACTOR * axis.direction, ZERO),)
        kinds._ALL["geared"] = Geared()
        joints = tuple(replace(joint, kind="geared") for joint in rod.joints)
        kernel = lw.KinDyn(replace(rod, joints=joints), floating=False).com
    """,
    "quantity": """
        com = lw.KinDyn.quantities["com"]
        def computed(*args):
            return [FACTOR * number for number in com.compute(*args)]
        lw.KinDyn.quantities["com"] = replace(com, compute=computed)
        kernel = lw.KinDyn(rod, floating=False).com
    """,
    "closure": """
        def made(factor):
            return lw.compile(x=1)(lambda x: factor * x)
        kernel = made(FACTOR)
    """,
    "default argument": """
        kernel = lw.compile(x=1)(lambda x, factor=FACTOR: factor * x)
    """,
    "derivative of a closure": """
        kernel = lw.compile(x=1)(lambda x: FACTOR * x * x).jacobian("x")
    """,
    "method called in a function": """
        kd = lw.KinDyn(rod, floating=False)
        class Twice:
            def __call__(self, q): return FACTOR * kd.com(q)
        twice = Twice()
        kernel = lw.compile(q=1)(lambda q: twice(q))
    """,
}
PREPARED = """
from dataclasses import replace
from linkwork.model import joints as kinds
from linkwork.parameters import DensityMultiplier
from linkwork.spatial.blocks import IDENTITY, ZERO
rod = hinge(BODY)
"""
PRINTED = """
kernel.warmup()
ones = [np.ones(port.shape) for port in kernel.signature.inputs]
for one, port in zip(ones, kernel.signature.inputs):
    if port.name == "q" and one.size > 4: one[3:7] = (1, 0, 0, 0)
print(repr(float(np.abs(kernel(*ones)).sum())), kernel.status)
"""


@pytest.mark.parametrize("name", USERS)
def test_changed_code_of_users_does_not_use_old_machine_code(tmp_path, name):
    code = PREPARED + textwrap.dedent(USERS[name]) + PRINTED
    one, two, without = (
        output_of(f"FACTOR = {factor}\n{code}", cache=cache)
        for factor, cache in ((1.0, tmp_path), (2.0, tmp_path), (2.0, "off"))
    )
    assert two == without
    assert one != two
    assert one.endswith("fast")


def test_code_defined_only_by_linkwork_is_found_without_tracing(tmp_path):
    """Parameters and joint kinds of linkwork: the second process traces nothing."""
    code = """
    from linkwork.kindyn import programs
    from linkwork.parameters import LinkInertia
    if SECOND: programs.trace = None
    kd = lw.KinDyn(hinge(BODY), parameters=[LinkInertia("second")])
    kd.mass_matrix.warmup()
    print(kd.mass_matrix.status)
    """
    code = textwrap.dedent(code)
    for second in (False, True):
        assert output_of(f"SECOND = {second}\n{code}", cache=tmp_path) == "fast"


def test_the_version_of_numpy_is_part_of_a_key(monkeypatch):
    before = keys_of(floater(), "com")
    monkeypatch.setattr(np, "__version__", "99.0")
    assert not before & keys_of(floater(), "com")
