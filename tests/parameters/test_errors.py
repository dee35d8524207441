"""Errors of parameters: unknown names, conflicts, wrong shapes and values."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import parameters as lp

ARM = lw.robots.load("arm")


def with_parameters(*parameters, **options):
    return lw.KinDyn(ARM, floating=False, parameters=parameters, **options)


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        ([lp.LinkInertia("tol")], lw.NameNotFoundError, "link .*'tol'.* 'tool'"),
        ([lp.Payload("tol")], lw.NameNotFoundError, "frame .*'tol'.* 'tool'"),
        ([lp.JointPose("x")], lw.NameNotFoundError, "joint .*'x'"),
        ([lp.JointDamping("tool_fixed")], lw.ArgumentError, "'tool_fixed' is fixed"),
        (
            [lp.JointDamping("elbow_pitch")],
            lw.ArgumentError,
            "elbow_pitch.* joint_dynamics",
        ),
        ([lp.FramePose("tool")], lw.ArgumentError, "'tool' is a link.* JointPose"),
        ([lp.Payload("tool")] * 2, lw.ArgumentError, "'payload.tool'.* name"),
        ([lp.Gravity()] * 2, lw.ArgumentError, "'gravity'"),
        (
            [lp.LinkInertia("tool"), lp.DensityMultiplier("tool")],
            lw.ArgumentError,
            "LinkInertia and DensityMultiplier .*'tool'",
        ),
        (["tool"], lw.ArgumentError, "'tool'"),
        (lp.Gravity(), lw.ArgumentError, r"list.*Gravity\(\)"),
        (3, lw.ArgumentError, "list.* 3"),
    ],
)
def test_invalid_descriptions_are_rejected(parameters, error, text):
    with pytest.raises(error, match=text):
        lw.KinDyn(ARM, parameters=parameters)


def test_names_in_a_description_must_be_strings():
    with pytest.raises(lw.ModelError, match=r"link: .*str.* 3"):
        lp.LinkInertia(3)


def test_two_named_payloads_on_one_frame():
    kd = with_parameters(lp.Payload("tool"), lp.Payload("tool", name="second", mount=True))
    assert list(kd.parameters) == ["payload.tool", "payload.second", "mount.second"]


def test_invalid_calls_are_rejected():
    kd = with_parameters(lp.Payload("tool", mount=True))
    q, p = kd.neutral(), kd.parameter_values()
    meaning = r"payload.tool \(10\), mount.tool \(7\)"
    with pytest.raises(lw.ShapeError, match=rf"17\).*\(16,\).*{meaning}"):
        kd.mass_matrix(q, parameters=p[:16])
    with pytest.raises(lw.ArgumentError, match="mass_matrix: 'parameters'"):
        kd.mass_matrix(q, p, parameters=p)
    with pytest.raises(lw.ArgumentError, match=r"2 .*\(q, parameters\).* 3"):
        kd.mass_matrix(q, p, p)
    with pytest.raises(lw.ArgumentError, match="missing: q"):
        kd.mass_matrix(parameters=p)
    p[13:] = [2.0, 0.0, 0.0, 0.0]
    with pytest.raises(lw.ValueRangeError, match=r"'mount.tool' has norm 2"):
        kd.mass_matrix(q, parameters=p)
    bare = lw.KinDyn(ARM, floating=False)
    text = r"KinDyn\(model, parameters="
    with pytest.raises(lw.ArgumentError, match=text):
        bare.mass_matrix(q, parameters=p)
    with pytest.raises(lw.ArgumentError, match=text):
        bare.jacobian("tool", q, parameters=p)


def test_quaternions_near_unit_norm_are_normalized():
    kd = with_parameters(lp.Payload("tool", mount=True))
    load = lw.solid_box(1.0, (0.1, 0.2, 0.3)).parameters()
    pose = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5])
    q = kd.random(seed=0)
    p = kd.parameter_values({"payload.tool": load, "mount.tool": pose})
    expected = kd.mass_matrix(q, parameters=p)
    p[13:] *= 1.0005
    np.testing.assert_allclose(kd.mass_matrix(q, parameters=p), expected, rtol=1e-13, atol=1e-15)


def test_parameter_values_by_name():
    kd = with_parameters(lp.Payload("tool"), lp.JointDamping("elbow_pitch"), joint_dynamics=True)
    p = kd.parameter_values({"damping.elbow_pitch": [1.0, 2.0]})
    assert p.shape == (2, 11)
    np.testing.assert_array_equal(p[:, 10], [1.0, 2.0])
    assert kd.parameter_values({"damping.elbow_pitch": 3}).tolist()[10] == 3.0
    with pytest.raises(lw.NameNotFoundError, match=r"'payload.tol'.*'payload.tool'"):
        kd.parameter_values({"payload.tol": 1})
    with pytest.raises(lw.ShapeError, match=r"payload.tool: .*10\).*\(9,\)"):
        kd.parameter_values({"payload.tool": np.zeros(9)})
    with pytest.raises(lw.NameNotFoundError, match="'gravity'"):
        kd.parameters["gravity"]


def test_error_names_the_parameter_that_is_not_finite():
    kd = with_parameters(lp.Payload("tool"), check=True)
    p = kd.parameter_values()
    p[3] = np.nan
    with pytest.raises(lw.ValueRangeError, match=r"3 of 'payload.tool' is nan"):
        kd.mass_matrix(kd.neutral(), parameters=p)


def test_error_names_the_joint_that_parameters_make_singular():
    builder = lw.ModelBuilder("rod")
    builder.add_link("base", inertia=lw.solid_sphere(1.0, 0.1))
    builder.add_link("rod", inertia=lw.solid_sphere(1.0, 0.1))
    builder.add_joint("hinge", "revolute", "base", "rod")
    kd = lw.KinDyn(builder.build(), floating=False, parameters=[lp.LinkInertia("rod")])
    q = nu = tau = np.zeros(1)
    assert np.isfinite(kd.forward_dynamics(q, nu, tau))
    with pytest.raises(lw.SingularJointError, match="joint 'hinge'"):
        kd.forward_dynamics(q, nu, tau + 1.0, parameters=np.zeros(10))
    rows = np.stack([kd.parameter_values(), np.zeros(10)])
    with pytest.raises(lw.SingularJointError, match="in row 1 of 2") as caught:
        kd.forward_dynamics(q, nu, tau + 1.0, parameters=rows)
    assert caught.value.mask.tolist() == [False, True]


def test_center_of_mass_of_a_robot_whose_mass_is_a_parameter():
    bare = lw.Model(name="bare", links=(lw.Link(name="base"),))
    kd = lw.KinDyn(bare, parameters=[lp.Payload("base")])
    p = kd.parameter_values({"payload.base": lw.point_mass(2.0, (1.0, 2.0, 3.0)).parameters()})
    np.testing.assert_allclose(kd.com(kd.neutral(), parameters=p), [1.0, 2.0, 3.0], rtol=1e-15)
