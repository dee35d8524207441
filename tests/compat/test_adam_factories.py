"""Models from adam's factories, also with other lengths and densities; `SpatialMath`."""

from __future__ import annotations

import adam.model
import adam.numpy.numpy_like
import adam.parametric.model
import mujoco
import numpy as np
import pytest
from tests.support.parametric import JOINTS, LINKS, solids

import linkwork as lw
from linkwork.compat.adam import KinDynComputations
from linkwork.compat.adam.model import (
    Model,
    MujocoModelFactory,
    URDFModelFactory,
    build_model_factory,
)
from linkwork.compat.adam.numpy import SpatialMath
from linkwork.compat.adam.parametric import (
    KinDynComputationsParametric,
    URDFParametricModelFactory,
)

LENGTHS, DENSITIES = np.array([1.2, 0.7, 1.5, 0.9]), np.array([300.0, 800.0, 500.0, 700.0])
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The path of the URDF."""
    path = tmp_path_factory.mktemp("robots") / "solids.urdf"
    path.write_text(solids())
    return str(path)


def parametric(description, links=LINKS, lengths=LENGTHS, densities=DENSITIES):
    return URDFParametricModelFactory(description, SpatialMath(), links, lengths, densities)


def test_a_parametric_model_has_the_parts_of_adam(file):
    ours = Model.build(parametric(file), list(JOINTS))
    math = adam.numpy.numpy_like.SpatialMath()
    factory = adam.parametric.model.URDFParametricModelFactory(
        file, math, list(LINKS), LENGTHS, DENSITIES
    )
    theirs = adam.model.Model.build(factory, list(JOINTS))
    assert (ours.name, ours.NDoF, ours.N) == (theirs.name, theirs.NDoF, theirs.N)
    assert list(ours.actuated_joints) == list(theirs.actuated_joints)
    for name, link in theirs.links.items():
        expected = link.spatial_inertia().array
        np.testing.assert_allclose(ours.links[name].spatial_inertia(), expected, **CLOSE)
    for name, joint in theirs.joints.items():
        expected = joint.homogeneous(math.asarray(0.3)).array
        np.testing.assert_allclose(ours.joints[name].homogeneous(0.3), expected, **CLOSE)


def test_a_parametric_model_is_the_robot_of_the_parametric_class(file, rng):
    model = Model.build(parametric(file), list(JOINTS))
    fixed = KinDynComputations(model.source, list(JOINTS))
    varied = KinDynComputationsParametric(file, list(JOINTS), list(LINKS))
    s = rng.normal(size=3)
    expected = varied.mass_matrix(np.eye(4), s, LENGTHS, DENSITIES)
    np.testing.assert_allclose(fixed.mass_matrix(np.eye(4), s), expected, **CLOSE)
    assert model.get_total_mass() == pytest.approx(varied.get_total_mass(LENGTHS, DENSITIES))


def test_factories_return_the_parts_of_the_class():
    urdf = lw.dump_urdf(lw.robots.load("quadruped"))
    factory = build_model_factory(urdf, SpatialMath())
    assert isinstance(factory, URDFModelFactory)
    kd = KinDynComputations(urdf)
    model = Model.build(factory)
    assert model.actuated_joints == kd.model.actuated_joints
    assert factory.name == kd.model.name
    for parts, expected in (
        (factory.get_links(), kd.model.links),
        (factory.get_frames(), kd.model.frames),
        (factory.get_joints(), kd.model.joints),
    ):
        assert [part.name for part in parts] == list(expected)


def test_a_model_with_another_root():
    urdf = lw.dump_urdf(lw.robots.load("quadruped"))
    model = Model.build(URDFModelFactory(urdf, SpatialMath()), root_link="FL_shank")
    assert (model.root, model.tree.root, model.tree[0].name) == ("FL_shank",) * 3
    kd = KinDynComputations(urdf, root_link="FL_shank")
    assert [node.name for node in model.tree] == [node.name for node in kd.model.tree]
    with pytest.raises(ValueError, match=r"FL_shan.*FL_shank"):
        Model.build(URDFModelFactory(urdf, SpatialMath()), None, "FL_shan")


def test_a_model_of_mujoco():
    xml = """<mujoco><worldbody><body name="base"><inertial pos="0 0 0" mass="1"
      diaginertia="1 1 1"/><body name="arm"><joint name="elbow" axis="0 0 1"/><geom size="0.1"/>
      </body></body></worldbody></mujoco>"""
    compiled = mujoco.MjModel.from_xml_string(xml)
    factory = build_model_factory(compiled, SpatialMath())
    assert isinstance(factory, MujocoModelFactory)
    assert Model.build(factory).actuated_joints == ["elbow"]


def test_wrong_lists_raise_with_the_facts(file):
    with pytest.raises(lw.NameNotFoundError, match=r"trnk.*trunk"):
        parametric(file, ["trnk"], [1.0], [1.0])
    with pytest.raises(lw.ShapeError, match=r"densities.*\(1,\).*\(2,\)"):
        parametric(file, ["trunk"], [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"hop.*hip"):
        Model.build(parametric(file), ["hop"])


# `SpatialMath`

_rng = np.random.default_rng(0)
X, RPY, P = _rng.normal(), _rng.normal(size=3), _rng.normal(size=3)
H = SpatialMath().H_from_Pos_RPY(P, RPY).array
ARGUMENTS = {
    "Rx": (np.array(X),),
    "Ry": (np.array(X),),
    "Rz": (np.array(X),),
    "R_from_RPY": (RPY,),
    "R_from_axis_angle": (np.array([0.6, 0.0, 0.8]), np.array(X)),
    "H_from_Pos_RPY": (P, RPY),
    "adjoint": (H,),
    "adjoint_inverse": (H,),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_functions_of_spatial_math_agree_with_adam(name):
    result = getattr(SpatialMath(), name)(*ARGUMENTS[name])
    wrapped = [
        adam.numpy.numpy_like.SpatialMath().factory.asarray(value) for value in ARGUMENTS[name]
    ]
    expected = getattr(adam.numpy.numpy_like.SpatialMath(), name)(*wrapped)
    np.testing.assert_allclose(result.array, expected.array, atol=1e-14)


def test_results_of_spatial_math_are_arrays():
    math = SpatialMath()
    R = math.Rx(0.3) @ math.Rz(0.2)
    np.testing.assert_allclose((R @ R.T).array, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(np.asarray(-R + R * 2.0 - R), np.zeros((3, 3)), atol=1e-15)
    assert (len(R), R.shape, R[0].shape) == (3, (3, 3), (3,))
    np.testing.assert_allclose((math.skew(P) @ P).array, np.zeros(3), atol=1e-15)
    np.testing.assert_array_equal(math.homogeneous(R, P)[:3, 3].array, P)
