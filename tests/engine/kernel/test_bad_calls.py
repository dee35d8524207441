"""Calls with arguments of the wrong number, type, shape or name."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import floater, motion, one_link, pendulum, with_frames

import linkwork as lw
from linkwork.engine.kernel.arguments import environment_threads


def mentions(caught, *facts):
    """Return whether the message of an error contains these names and values."""
    return all(str(fact) in str(caught.value) for fact in facts)


# Sizes.


@pytest.mark.parametrize("size", [0, 1, 8, 10, 17])
def test_a_q_of_the_wrong_size_is_rejected_with_both_sizes(kd, size):
    with pytest.raises(lw.ShapeError) as caught:
        kd.mass_matrix(np.zeros(size))
    assert mentions(caught, "q", "(..., 9)", f"({size},)", *MEANING)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("size", [7, 9])
def test_a_velocity_or_force_of_the_wrong_size_is_rejected_by_its_name(kd, size):
    q, nu, _ = motion(kd)
    with pytest.raises(lw.ShapeError, match=rf"nu: .*\(\.\.\., 8\).*\({size},\)"):
        kd.bias_force(q, np.zeros(size))
    with pytest.raises(lw.ShapeError, match=rf"tau: .*\(\.\.\., 8\).*\({size},\)"):
        kd.forward_dynamics(q, nu, np.zeros(size))
    with pytest.raises(lw.ShapeError, match=rf"nu_dot: .*\(\.\.\., 8\).*\({size},\)"):
        kd.inverse_dynamics(q, nu, np.zeros(size))


MEANING = ("base position (3)", "quaternion wxyz (4)", "s (2) of 2 joints", "floating=False")


def test_a_number_is_not_a_row_even_with_one_joint(kd):
    for robot, size in ((kd, 9), (pendulum(), 1)):
        with pytest.raises(lw.ShapeError) as caught:
            robot.mass_matrix(0.5)
        assert mentions(caught, "q", f"(..., {size})", "got ()")


def test_batch_axes_that_cannot_be_broadcast_are_rejected_with_their_shapes(kd):
    q, nu, _ = motion(kd, 3)
    with pytest.raises(lw.ShapeError) as caught:
        kd.bias_force(q, nu[:2])
    assert mentions(caught, "batch axes", "q (3,)", "nu (2,)")


# A row or a column.


def test_one_row_of_two_axes_is_a_batch_of_one(kd):
    q, nu, _ = motion(kd)
    assert kd.mass_matrix(q[None]).shape == (1, 8, 8)
    assert kd.bias_force(q, nu[None]).shape == (1, 8)
    np.testing.assert_allclose(kd.mass_matrix(q[None])[0], kd.mass_matrix(q), atol=1e-13)


def test_a_column_is_rejected(kd):
    with pytest.raises(lw.ShapeError) as caught:
        kd.mass_matrix(kd.neutral()[:, None])
    assert mentions(caught, "q", "(..., 9)", "(9, 1)", *MEANING)
    with pytest.raises(lw.ShapeError, match=r"\(8, 100\).*\.T\b"):
        kd.kinetic_energy(np.tile(kd.neutral(), (100, 1)), np.zeros((8, 100)))
    with pytest.raises(lw.ShapeError) as caught:
        kd.mass_matrix(np.zeros((8, 100)))
    assert ".T" not in str(caught.value)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_batches_that_do_not_fit_into_memory_can_be_computed_in_pieces(is_compiled):
    kd = floater()
    if is_compiled:
        kd.warmup("mass_matrix")
    q = np.broadcast_to(kd.neutral(), (10**13, 9))
    for function in (kd.mass_matrix, kd.function("com", "mass_matrix")):
        with pytest.raises(MemoryError, match="fewer rows"):
            function(q)


def test_a_column_of_a_robot_with_one_joint_is_a_batch():
    arm = pendulum()
    assert arm.mass_matrix(np.zeros((4, 1))).shape == (4, 1, 1)


# Frames.


def test_an_unknown_frame_is_a_key_error_with_the_nearest_names(kd):
    q, nu, nu_dot = motion(kd)
    for call in (
        lambda: kd.transform("uper_rod", q),
        lambda: kd.jacobian("uper_rod", q),
        lambda: kd.jacobian_dot("uper_rod", q, nu),
        lambda: kd.bias_acceleration("uper_rod", q, nu),
        lambda: kd.velocity("uper_rod", q, nu),
        lambda: kd.acceleration("uper_rod", q, nu, nu_dot),
        lambda: kd.transforms(q, frames=["tip", "uper_rod"]),
        lambda: kd.inverse_dynamics(q, nu, nu_dot, wrenches={"uper_rod": np.zeros(6)}),
        lambda: kd.function(("jacobian", "uper_rod")),
        lambda: kd.warmup(("jacobian", "uper_rod")),
        lambda: kd.replace(base="uper_rod"),
    ):
        with pytest.raises(lw.NameNotFoundError) as caught:
            call()
        assert isinstance(caught.value, KeyError)
        assert isinstance(caught.value, ValueError)
        assert mentions(caught, "'uper_rod'", "'upper_rod'", "'lower_rod'")


@pytest.mark.parametrize("frame", [None, 0, 3, -1, 999, 1.5, b"tip", ["tip"], ("tip",), {}, object])
def test_a_frame_that_is_not_a_name_raises_a_linkwork_error(frame):
    kd = floater()
    with pytest.raises(lw.LinkworkError):
        kd.jacobian(frame, kd.neutral())


def test_swapped_and_missing_arguments_are_named(kd):
    q, nu, _ = motion(kd)
    for call in (
        lambda: kd.jacobian(q, "tip"),
        lambda: kd.jacobian(q),
        lambda: kd.transform(q, "tip"),
        lambda: kd.jacobian_dot(q, nu),
        lambda: kd.relative_transform(q, "tip", "upper_rod"),
        lambda: kd.relative_jacobian("tip", q, "upper_rod"),
    ):
        with pytest.raises(lw.ArgumentError) as caught:
            call()
        assert "frame, q" in str(caught.value)
        assert "array of shape (9,)" in str(caught.value)
    with pytest.raises(lw.ArgumentError, match=r"velocity\(tip\).*q, nu.*missing.*nu"):
        kd.velocity("tip", q)


@pytest.mark.parametrize("frames", [5, "tip", [5], [["tip"]], [None]])
def test_frames_that_are_not_a_list_of_names_raise_a_linkwork_error(frames):
    kd = floater()
    with pytest.raises(lw.LinkworkError):
        kd.transforms(kd.neutral(), frames=frames)


def test_transforms_of_no_frames_are_empty(kd):
    assert kd.transforms(kd.neutral(), frames=[]).shape == (0, 4, 4)


# Wrenches.


@pytest.mark.parametrize("wrench", [np.zeros(5), np.zeros(7), np.zeros((6, 1)), 0.0])
def test_a_wrench_of_the_wrong_size_is_rejected_by_its_frame(kd, wrench):
    q, nu, tau = motion(kd)
    with pytest.raises(lw.ShapeError) as caught:
        kd.inverse_dynamics(q, nu, tau, wrenches={"tip": wrench})
    assert mentions(caught, "frame 'tip'", "(..., 6)", np.shape(wrench), "force (3), moment (3)")


@pytest.mark.parametrize(
    "wrenches", [[np.zeros(6)], np.zeros(6), "tip", 5, {5: np.zeros(6)}, {"tip": None}, ["tip"]]
)
def test_wrenches_that_are_not_a_mapping_of_frames_raise_a_linkwork_error(kd, wrenches):
    q, nu, tau = motion(kd)
    for call in (kd.inverse_dynamics, kd.forward_dynamics):
        with pytest.raises(lw.LinkworkError):
            call(q, nu, tau, wrenches=wrenches)


def test_wrenches_on_many_frames_at_once_work():
    kd = lw.KinDyn(with_frames(40))
    q, nu, nu_dot = motion(kd)
    wrench = np.arange(6.0)
    expected = kd.inverse_dynamics(q, nu, nu_dot)
    for number in range(40):
        expected = expected - kd.jacobian(f"frame{number}", q).T @ wrench
    actual = kd.inverse_dynamics(
        q, nu, nu_dot, wrenches={f"frame{number}": wrench for number in range(40)}
    )
    np.testing.assert_allclose(actual, expected, rtol=1e-10)


def test_a_fused_function_may_have_many_outputs(kd):
    q = kd.random(seed=1)
    actual = kd.function(*[("transform", "tip")] * 20, *["mass_matrix"] * 20)(q)
    assert len(actual) == 40
    np.testing.assert_allclose(actual[0], kd.transform("tip", q), atol=1e-13)
    np.testing.assert_allclose(actual[39], kd.mass_matrix(q), atol=1e-13)


# Number and names of arguments.


def test_a_kernel_reports_missing_and_surplus_arguments(kd):
    kernel = kd.function("bias_force")
    q, nu, _ = motion(kd)
    for args, named, facts in (
        ((), {}, ["missing: q, nu"]),
        ((q,), {}, ["missing: nu"]),
        ((q, nu, nu), {}, ["2 arguments (q, nu)", "3"]),
        ((q, nu), {"v": nu}, ["'v' is unknown", "q, nu"]),
        ((q, nu), {"nu": nu}, ["'nu'", "twice"]),
    ):
        with pytest.raises(lw.ArgumentError) as caught:
            kernel(*args, **named)
        assert mentions(caught, "bias_force", *facts)
        assert isinstance(caught.value, TypeError)
    np.testing.assert_array_equal(kernel(nu=nu, q=q), kernel(q, nu))


def test_a_method_reports_missing_and_unknown_arguments(kd):
    with pytest.raises(TypeError, match=r"mass_matrix.*missing.*q"):
        kd.mass_matrix()
    with pytest.raises(TypeError, match=r"mass_matrix: .*'foo'.*\bq, out, threads$"):
        kd.mass_matrix(kd.neutral(), foo=1)
    with pytest.raises(TypeError, match=r"jacobian\(frame, q\): .*name of a frame"):
        kd.jacobian()


@pytest.mark.parametrize("request_", ["mass_matrx", None, 5, (), [], {}, (["x"],), ("jacobian",)])
def test_a_function_that_does_not_exist_is_rejected_with_a_linkwork_error(kd, request_):
    with pytest.raises(lw.LinkworkError):
        kd.function(request_)


@pytest.mark.parametrize("frame", [None, 3, ["base", "tip"], ("base", "tip"), {}])
def test_a_quantity_of_one_frame_is_rejected_for_anything_but_a_name(kd, frame):
    with pytest.raises(lw.LinkworkError):
        kd.function(("jacobian", frame))


def test_a_quantity_of_several_frames_is_rejected_for_one_name(kd):
    """A string is also a sequence, of characters."""
    with pytest.raises(lw.LinkworkError):
        kd.function(("transforms", "tip"))


def test_a_misspelled_name_is_corrected(kd):
    with pytest.raises(lw.NameNotFoundError, match=r"quantity.*'mass_matrx'.*'mass_matrix'"):
        kd.function("mass_matrx")


@pytest.mark.parametrize("threads", ["2", 1.5, [], 2j, 0, -1, -(10**30), np.int64(0)])
def test_an_invalid_number_of_threads_raises_a_linkwork_error(kd, threads):
    kernel = kd.function("com")
    for rows in ((), 5000):
        with pytest.raises(lw.ArgumentError, match="threads: expected a positive integer"):
            kernel(kd.random(rows, seed=1), threads=threads)
    with pytest.raises(lw.ArgumentError, match="threads"):
        kd.com(kd.neutral(), threads=threads)
    step = lw.compile(x=2)(lambda x: 0.5 * x)
    with pytest.raises(lw.ArgumentError, match="threads"):
        lw.rollout(step, np.ones(2), steps=3, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 7, np.int64(2), 2**80])
def test_any_number_of_threads_gives_the_same(kd, threads):
    q = kd.random(5000, seed=1)
    kernel = kd.function("com")
    np.testing.assert_allclose(kernel(q, threads=threads), kernel(q, threads=1), atol=1e-13)


@pytest.mark.parametrize("setting", ["²", "many", "-1", "0", "1.5"])
def test_a_wrong_number_of_threads_in_the_environment_is_reported_and_ignored(setting, monkeypatch):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    monkeypatch.setenv("LINKWORK_THREADS", setting)
    kernel = lw.compile(x=2)(lambda x: 0.5 * x)
    with pytest.warns(lw.LinkworkWarning, match=f"LINKWORK_THREADS.*{setting}"):
        kernel(np.ones(2))
    assert kernel(np.ones((5000, 2))).shape == (5000, 2)
    assert environment_threads() is None


@pytest.mark.parametrize(("setting", "count"), [("", None), ("3", 3), ("007", 7)])
def test_the_environment_sets_the_number_of_threads(setting, count, monkeypatch):
    monkeypatch.setenv("LINKWORK_THREADS", setting)
    assert environment_threads() == count


def test_an_unknown_argument_is_reported_with_all_inputs_and_options(kd):
    q = kd.neutral()
    for call in (kd.mass_matrix, kd.function("mass_matrix")):
        with pytest.raises(lw.ArgumentError, match=r"'thread'.*'threads'.*q, out, threads"):
            call(q, thread=2)
    with pytest.raises(lw.ArgumentError, match=r"'gravty'.*'gravity'.*out, threads, gravity"):
        kd.bias_force(q, np.zeros(kd.nv), gravty=(0, 0, 0))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="at most 32 axes")
@pytest.mark.parametrize("axes", [31, 32, 33, 40, 63])
def test_an_array_with_many_axes_is_computed_or_rejected_with_its_name(kd, axes):
    q = np.broadcast_to(kd.neutral(), (*[1] * (axes - 2), 2, kd.nq))
    step = lw.compile(x=kd.nq)(lambda x: x + 0.0)
    calls = [
        lambda: kd.com(q)[..., 0],
        lambda: step(q)[..., 0],
        lambda: lw.rollout(step, q, steps=1)[..., 0, 0],
        lambda: lw.spatial.so3.exp(q[..., :3])[..., 0, 0],
    ]
    for call in calls:
        try:
            shape = np.shape(call())
        except lw.ShapeError as error:
            assert "at most 32 axes" in str(error)  # noqa: PT017 - both outcomes are right
            assert axes >= 32
        else:
            assert shape == q.shape[:-1]


# Options.


@pytest.mark.parametrize(
    "options",
    [
        {"gravity": "down"},
        {"gravity": (1j, 0, 0)},
        {"gravity": 9.81},
        {"gravity": (0, 0)},
        {"gravity": (0, 0, np.nan)},
        {"gravity": None},
        {"dtype": "double precision"},
        {"dtype": int},
        {"dtype": np.float16},
        {"representation": "bdy"},
        {"representation": ["body"]},
        {"base": "bse"},
        {"base": 5},
    ],
)
def test_invalid_options_raise_a_linkwork_error(kd, options):
    with pytest.raises(lw.LinkworkError):
        lw.KinDyn(kd.model, **options)
    with pytest.raises(lw.LinkworkError):
        kd.replace(**options)


@pytest.mark.parametrize("model", [None, 5, "robot.urdf", object()])
def test_an_object_that_is_not_a_model_raises_a_linkwork_error(model):
    with pytest.raises(lw.LinkworkError):
        lw.KinDyn(model)


# Nothing at all.


@pytest.mark.parametrize("batch", [(0,), (3, 0), (0, 3), (1, 0, 2)])
def test_an_empty_batch_gives_an_empty_result(batch):
    kd = floater()  # the first call is special, so it is an empty one
    q, nu, tau = motion(kd, batch)
    for _ in range(2):
        assert kd.mass_matrix(q).shape == (*batch, 8, 8)
        assert kd.com(q).shape == (*batch, 3)
        assert kd.kinetic_energy(q, nu).shape == batch
        assert kd.forward_dynamics(q, nu, tau).shape == (*batch, 8)
        assert kd.forward_dynamics(q, kd.neutral()[:8], tau).shape == (*batch, 8)
        out = np.empty((*batch, 8))
        assert kd.bias_force(q, nu, out=out) is out
        kd.warmup()


def test_an_empty_batch_is_checked_for_its_size(kd):
    with pytest.raises(lw.ShapeError):
        kd.mass_matrix(np.zeros((0, 8)))
    with pytest.raises(lw.ShapeError):
        kd.mass_matrix([])


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("batch", [(), (3,), (3000,), (2, 0)])
def test_a_robot_without_joints_has_every_quantity(floating, batch):
    kd = lw.KinDyn(one_link(), floating=floating)
    assert (kd.nq, kd.nv) == ((7, 6) if floating else (0, 0))
    q, nu, tau = motion(kd, batch)
    by_name = {"q": q, "nu": nu, "nu_dot": tau, "tau": tau, "dt": np.ones(batch)}
    by_name |= {"q_start": q, "q_end": q}
    for name, quantity in lw.KinDyn.quantities.items():
        frames = ["body" for _ in quantity.frames]
        kernel = kd.function((name, frames) if quantity.of_many else (name, *frames))
        actual = kernel(*(by_name[port.name] for port in kernel.signature.inputs))
        if quantity.result is None:
            actual = (actual,)
        else:
            assert type(actual) is quantity.result
        shapes = quantity.output_shapes(kd.problem, len(frames))
        for array, own in zip(actual, shapes, strict=True):
            assert array.shape == (*batch, *own), name
            assert np.isfinite(array).all(), name
