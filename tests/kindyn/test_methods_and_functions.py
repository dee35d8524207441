"""Methods and functions of a `KinDyn`: one set of arguments, one kernel for each request."""

from __future__ import annotations

import inspect
import pickle
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import ArrayLike
from tests.support.models import assert_close, random_model

import linkwork as lw
from linkwork.algorithms.kinematics.frames import frame_pose
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.options import GravityOptions
from linkwork.kindyn.quantities import quantity
from linkwork.kindyn.requests import request_of_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

ARM = lw.robots.load("arm")
WRENCH = np.array([1.0, -2.0, 3.0, 0.5, 0.2, -0.1])
GRAVITY = np.array([1.0, 2.0, -8.0])


@pytest.fixture(scope="module")
def kd():
    return lw.KinDyn(ARM)


def state(kd, seed=0):
    rng = np.random.default_rng(seed)
    return kd.random(seed=seed), *rng.normal(size=(2, kd.nv))


def kernels_of(kd):
    return [kernel for each in kd._kernels.values() for kernel in each.values()]


# Declarations.


def test_every_quantity_has_a_method_and_every_method_declares_the_inputs_of_its_quantity(kd):
    for name, row in lw.KinDyn.quantities.items():
        if row.method is None:  # relative_jacobian(..., origin=, axes=)
            continue
        parameters = inspect.signature(getattr(lw.KinDyn, name)).parameters
        wanted = [*row.frames, *(one.name for one in row.inputs)]
        assert set(wanted) <= set(parameters), name
        assert {"out", "threads"} <= set(parameters), name
        assert ("gravity" in parameters) == ("gravity" in row.forces), name
        assert ("wrenches" in parameters) == ("wrenches" in row.forces), name
        assert inspect.getdoc(getattr(kd, name)), name
        bound = inspect.signature(getattr(kd, name)).parameters
        assert [*bound] == [*parameters][1:], name


def test_a_declaration_with_an_argument_that_is_nothing_known_is_refused():
    for method in (lambda self, speed: None, lambda self, q, frame: None):
        with pytest.raises(AssertionError, match="neither frames"):
            quantity(weight_height, ())(method)


def weight_height(skeleton, q, frame, *, gravity):
    """An algorithm: the height of a frame times the acceleration of free fall."""
    return frame_pose(skeleton, q, frame)[2][3] * gravity[2]


class Extended(lw.KinDyn):
    """A class with one more quantity."""

    @quantity(weight_height, (), "[m^2/s^2]")
    def weight_height(self, frame: str, q: ArrayLike, **options: Unpack[GravityOptions]) -> Array:
        """(...) height of a frame times the acceleration of free fall [m^2/s^2]."""
        ...


def test_a_function_and_a_declaration_make_a_quantity():
    own = Extended(ARM)
    q = own.random(5, seed=0)
    expected = own.transform("tool", q)[:, 2, 3] * own.gravity[2]
    for height in (
        own.weight_height("tool", q),
        own.function(request_of_text("weight_height:tool", own.quantities))(q),
    ):
        assert_close(height, expected, 1e-13)
    assert_close(own.weight_height("tool", q, gravity=GRAVITY), expected * -8 / own.gravity[2])
    row = Extended.quantities["weight_height"]
    assert Extended.quantities.keys() - lw.KinDyn.quantities.keys() == {"weight_height"}
    assert (row.frames, row.forces, row.of_coordinates) == (("frame",), ("gravity",), False)
    assert [one.name for one in row.inputs] == ["q"]
    by_q = own.function(("weight_height", "tool")).jacobian("q")(q)
    assert by_q.shape == (5, own.nq)
    with pytest.raises(lw.ArgumentError, match="name of a frame"):
        own.weight_height(q)


def test_code_of_a_users_quantity_is_not_kept_under_the_name_of_the_robot():
    kd, own = lw.KinDyn(ARM), Extended(ARM)
    assert kd._is_known(kd.function(("transform", "tool")).request)
    assert not own._is_known(own.function(("weight_height", "tool")).request)


def test_options_are_listed_one_by_one_and_a_wrong_one_is_answered_with_a_suggestion(kd):
    q, nu, _ = state(kd)
    for function in (kd.mass_matrix, kd.jacobian, kd.transforms, lw.KinDyn.mass_matrix):
        names = [*inspect.signature(function).parameters]
        assert names[-3:] == ["parameters", "out", "threads"]
    assert "gravity" in inspect.signature(kd.inverse_dynamics).parameters
    for call in (
        lambda: kd.mass_matrix(q, thread=1),
        lambda: kd.transform("tool", q, thread=1),
        lambda: kd.transforms(q, thread=1),
        lambda: kd.integrate(q, nu, thread=1),
    ):
        with pytest.raises(lw.ArgumentError, match=r"'thread'.*did you mean 'threads'"):
            call()


def test_the_page_of_quantities_lists_each_one_with_its_arguments_and_shape():
    page = Path(__file__).parents[2] / "docs" / "kindyn.md"
    rows = re.findall(
        r"^\| (`\w+\(.*?) \| (.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    listed = {}
    for calls, result in rows:
        methods = re.findall(r"`(\w+)\(([^`]*)\)`", calls)
        shapes = re.findall(r"\((?:\w+, ?)*[\w ]*\)", result) or ["scalar"]
        shapes = shapes if len(shapes) >= len(methods) else shapes[:1] * len(methods)
        for (name, arguments), shape in zip(methods, shapes, strict=False):
            listed[name] = arguments, shape
            if "`centroidal_`" in calls:
                listed[f"centroidal_{name}"] = arguments, shape
    for name, row in lw.KinDyn.quantities.items():
        if row.method is None:
            continue
        arguments, shape = listed[name]
        expected = [*(() if row.of_many else row.frames), *(one.name for one in row.inputs)]
        assert [one for one in arguments.split(", ") if "=" not in one] == expected, name
        if row.shapes[0] and not any(map(callable, row.shapes[0])):
            assert shape.strip("()").rstrip(",").split(", ") == [str(n) for n in row.shapes[0]], (
                name
            )


def test_a_method_called_on_the_class_is_the_method(kd):
    q, nu, _ = state(kd)
    np.testing.assert_array_equal(lw.KinDyn.mass_matrix(kd, q), kd.mass_matrix(q))
    np.testing.assert_array_equal(lw.KinDyn.velocity(kd, "tool", q, nu), kd.velocity("tool", q, nu))


def test_a_subclass_may_override_and_call_the_method_of_its_parent():
    class Scaled(lw.KinDyn):
        def mass_matrix(self, q):
            return 2 * super().mass_matrix(q)

        def jacobian(self, frame, q):
            return 3 * super().jacobian(frame, q)

    own, plain = Scaled(ARM), lw.KinDyn(ARM)
    q = plain.random(seed=1)
    for _ in range(3):
        assert_close(own.mass_matrix(q), 2 * plain.mass_matrix(q), 1e-14)
        assert_close(own.jacobian("tool", q), 3 * plain.jacobian("tool", q), 1e-14)


# Kernels.


def test_methods_and_functions_share_one_kernel_for_each_request(kd):
    assert kd.mass_matrix is kd.function("mass_matrix")
    assert kd.function(("mass_matrix",)) is kd.function("mass_matrix")
    q, nu, tau = state(kd)
    kd.jacobian("tool", q)
    kd.forward_dynamics(q, nu, tau, gravity=GRAVITY, wrenches={"tool": WRENCH})
    before = len(kernels_of(kd))
    kd.function(("jacobian", "tool"))
    kd.function("forward_dynamics", wrenches=["tool"], gravity=True)
    assert len(kernels_of(kd)) == before


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "joint_wrenches"])
def test_a_function_takes_gravity_and_wrenches_as_the_method_does(kd, name):
    arguments = state(kd)
    function = kd.function(name)
    options = {"gravity": GRAVITY, "wrenches": {"tool": WRENCH}}
    ports = [one.name for one in lw.KinDyn.quantities[name].inputs]
    expected = kd.function(name, wrenches=["tool"], gravity=True)(*arguments, GRAVITY, WRENCH)
    by_name = dict(zip(ports, arguments, strict=True))
    for found in (
        getattr(kd, name)(*arguments, **options),
        function(*arguments, **options),
        function(**by_name, **options),
        kd.function(name, wrenches=["tool"], gravity=True)(
            **by_name, gravity=GRAVITY, wrench_tool=WRENCH
        ),
    ):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        function(*arguments, gravity=None, wrenches=None), function(*arguments)
    )


def test_what_does_not_depend_on_gravity_does_not_take_it(kd):
    with pytest.raises(lw.ArgumentError, match=r"^mass_matrix: .*'gravity'.*\bq\b"):
        kd.mass_matrix(kd.neutral(), gravity=GRAVITY)
    with pytest.raises(lw.ArgumentError, match="'wrenches'"):
        kd.bias_force(kd.neutral(), np.zeros(kd.nv), wrenches={"tool": WRENCH})


def test_frames_of_wrenches_are_a_list_in_which_each_stands_once(kd):
    for wrenches, facts in (
        (["tool", "tool"], "wrenches: .*'tool'.*twice"),
        ({"tool"}, "wrenches: .*list.*{'tool'}"),
        ("tool", "wrenches: .*list.* 'tool'"),
    ):
        with pytest.raises(lw.ArgumentError, match=facts):
            kd.function("inverse_dynamics", wrenches=wrenches)
    with pytest.raises(lw.NameNotFoundError, match=r"frame.*'tol'.*'tool'"):
        kd.function("inverse_dynamics", wrenches=["tol"])


def test_a_fused_function_names_its_inputs_its_frames_and_its_results(kd):
    function = kd.function(
        "mass_matrix", ("jacobian", "tool"), "inverse_dynamics", wrenches=["tool"], gravity=True
    )
    assert repr(function) == (
        "<Kernel mass_matrix + jacobian(tool) + inverse_dynamics: q (15,), nu (14,), nu_dot (14,), "
        "gravity (3,), wrench_tool (6,) -> mass_matrix (14, 14), jacobian_tool (6, 14), "
        "inverse_dynamics (14,)>"
    )
    q, nu, nu_dot = state(kd)
    by_name = {"q": q, "nu": nu, "nu_dot": nu_dot, "gravity": GRAVITY, "wrench_tool": WRENCH}
    results = function(**by_name)
    named = function.named(**by_name)
    assert list(named) == ["mass_matrix", "jacobian_tool", "inverse_dynamics"]
    for one, other in zip(named.values(), results, strict=True):
        np.testing.assert_array_equal(one, other)
    assert list(kd.function("com").named(q)) == ["com"]


def test_wrenches_of_a_fused_function_leave_bias_forces_what_they_are(kd):
    names = ["bias_force", "coriolis_force", "gravity_force"]
    q, nu, _ = state(kd)
    *forces, outer = kd.function(*names, "external_force", wrenches=["tool"])(q, nu, WRENCH)
    assert np.abs(outer).max() > 1.0
    for name, found in zip(names, forces, strict=True):
        apart = kd.gravity_force(q) if name == "gravity_force" else getattr(kd, name)(q, nu)
        np.testing.assert_allclose(found, apart, rtol=1e-9, atol=1e-12)


def test_a_function_of_many_frames_names_few_of_them(kd):
    few = kd.function(("transforms", ["tool", "hand"]))
    many = kd.function(("transforms", kd.model.frame_names))
    assert repr(few).startswith("<Kernel transforms(tool, hand): ")
    assert repr(many).startswith("<Kernel transforms(12 frames): ")


def test_fused_with_normalize_a_configuration_is_checked_once(kd):
    function = kd.function("normalize", "mass_matrix")
    assert [port.name for port in function.signature.inputs] == ["q"]
    q = kd.random(seed=3)
    nearly, M = function(q * np.r_[np.ones(3), np.full(4, 1 + 1e-7), np.ones(8)])
    assert_close(nearly, q, rtol=1e-6)
    assert_close(M, kd.mass_matrix(q), rtol=1e-6)
    with pytest.raises(lw.ValueRangeError, match=r"base quaternion.*\b2\b"):
        function(2 * q)


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_every_method_takes_a_number_of_threads(kd, threads):
    q = kd.random(3000, seed=1)
    nu = np.ones(kd.nv)
    options = {"threads": threads}
    for method, arguments in (
        (kd.mass_matrix, (q,)),
        (kd.bias_force, (q, nu)),
        (partial(kd.jacobian, "tool"), (q,)),
        (partial(kd.relative_transform, "hand", "tool"), (q,)),
        (partial(kd.relative_jacobian, "hand", "tool"), (q,)),
        (kd.transforms, (q,)),
        (kd.integrate, (q, nu, 0.1)),
    ):
        found, out = method(*arguments, **options), None
        out = np.empty_like(found)
        assert method(*arguments, out=out, **options) is out
        np.testing.assert_array_equal(out, found)
        assert_close(found[:9], method(*(a[:9] if a is q else a for a in arguments)), rtol=1e-12)


# Pickles.


def test_kernels_and_methods_are_pickled_as_the_robot_and_the_request(kd):
    q, nu, tau = state(kd)
    fused = kd.function("mass_matrix", ("jacobian", "tool"), wrenches=["tool"])
    for thing, arguments in (
        (kd.function("com"), (q,)),
        (
            kd.function("forward_dynamics", wrenches=["tool"], gravity=True),
            (q, nu, tau, GRAVITY, WRENCH),
        ),
        (kd.mass_matrix, (q,)),
        (partial(kd.jacobian, "tool"), (q,)),
        (kd.neutral, ()),
    ):
        again = pickle.loads(pickle.dumps(thing))
        assert_close(again(*arguments), thing(*arguments), rtol=1e-12)
    again = pickle.loads(pickle.dumps(fused))
    assert isinstance(again, QuantityKernel)
    assert repr(again) == repr(fused)
    assert again.robot == kd


# Warming up.


def test_warmup_compiles_what_is_named_what_was_asked_for_or_a_first_set():
    kd = lw.KinDyn(lw.robots.load("pendulum"))
    kd.warmup()
    for name in ("mass_matrix", "bias_force", "inverse_dynamics", "forward_dynamics"):
        assert kd.function(name).code.is_fast
    assert not kd.function("com").code.is_fast
    kd.warmup(("jacobian", kd.model.link_names[-1]))
    assert not kd.function("com").code.is_fast
    kd.warmup()
    assert kd.function("com").code.is_fast


def test_every_kind_of_robot_has_the_same_by_method_and_by_function():
    kd = lw.KinDyn(random_model(np.random.default_rng(5), 6), representation="body")
    q, nu, nu_dot = state(kd)
    rows = {"q": q, "nu": nu, "nu_dot": nu_dot, "tau": nu_dot, "dt": np.array(0.3)}
    rows |= {"q_start": q, "q_end": kd.random(seed=9)}
    frames = ("frame0", "link1")
    for name in ("integrate", "difference", "relative_transform", "acceleration"):
        quantity = lw.KinDyn.quantities[name]
        given = [rows[one.name] for one in quantity.inputs]
        own = frames[: len(quantity.frames)]
        found = kd.function((name, *own))(*given)
        np.testing.assert_array_equal(getattr(kd, name)(*own, *given), found)


@pytest.mark.parametrize("cls", [lw.KinDyn, lw.ConstrainedKinDyn, lw.CollisionModel])
def test_type_errors_name_public_classes(cls):
    """Methods are declared in several classes, which are no part of the interface."""
    methods = {
        name: method
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and not method.__code__.co_flags & inspect.CO_VARARGS
    }
    assert {"replace", "parameter_values"} <= methods.keys()
    for name, method in methods.items():
        with pytest.raises(TypeError, match=rf"^({cls.__name__}|KinDyn)\.{name}\("):
            method(*[None] * 30)
