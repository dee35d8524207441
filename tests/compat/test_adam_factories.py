"""Models that adam's factories build, with the lengths and densities of the file or others."""

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
from linkwork.compat.adam.model.mj_factory import mujoco_model
from linkwork.compat.adam.model.std_factories import std_model
from linkwork.compat.adam.numpy.numpy_like import SpatialMath
from linkwork.compat.adam.parametric.model import URDFParametricModelFactory
from linkwork.compat.adam.parametric.numpy import KinDynComputationsParametric

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
    own = Model.build(parametric(file), list(JOINTS))
    math = adam.numpy.numpy_like.SpatialMath()
    factory = adam.parametric.model.URDFParametricModelFactory(
        file, math, list(LINKS), LENGTHS, DENSITIES
    )
    theirs = adam.model.Model.build(factory, list(JOINTS))
    assert (own.name, own.NDoF, own.N) == (theirs.name, theirs.NDoF, theirs.N)
    assert list(own.actuated_joints) == list(theirs.actuated_joints)
    for name, link in theirs.links.items():
        expected = link.spatial_inertia().array
        np.testing.assert_allclose(own.links[name].spatial_inertia(), expected, **CLOSE)
    for name, joint in theirs.joints.items():
        expected = joint.homogeneous(math.asarray(0.3)).array
        np.testing.assert_allclose(own.joints[name].homogeneous(0.3), expected, **CLOSE)


def test_a_parametric_model_is_the_robot_of_the_parametric_class(file, rng):
    model = Model.build(parametric(file), list(JOINTS))
    fixed = KinDynComputations(model.source, list(JOINTS))
    varied = KinDynComputationsParametric(file, list(JOINTS), list(LINKS))
    s = rng.normal(size=3)
    expected = varied.mass_matrix(np.eye(4), s, LENGTHS, DENSITIES)
    np.testing.assert_allclose(fixed.mass_matrix(np.eye(4), s), expected, **CLOSE)
    assert model.get_total_mass() == pytest.approx(varied.get_total_mass(LENGTHS, DENSITIES))


def test_visuals_are_those_of_the_longer_solid(file):
    trunk, thigh, _, ball = (
        Model.build(parametric(file)).links[name].visuals[0].geometry for name in LINKS
    )
    assert trunk.size == pytest.approx((0.2, 0.3, 0.72))
    assert (thigh.radius, thigh.length) == pytest.approx((0.05, 0.35))
    assert ball.radius == pytest.approx(0.099)


def test_factories_give_the_parts_of_the_class():
    urdf = lw.dump_urdf(lw.robots.load("quadruped"))
    factory = build_model_factory(urdf, SpatialMath())
    assert isinstance(factory, URDFModelFactory)
    assert std_model.URDFModelFactory is URDFModelFactory
    kd = KinDynComputations(urdf)
    model = Model.build(factory)
    assert model.actuated_joints == kd.model.actuated_joints
    assert factory.name == kd.model.name
    for parts, own in (
        (factory.get_links(), kd.model.links),
        (factory.get_frames(), kd.model.frames),
        (factory.get_joints(), kd.model.joints),
    ):
        assert [part.name for part in parts] == list(own)


def test_a_model_is_seen_from_another_root():
    urdf = lw.dump_urdf(lw.robots.load("quadruped"))
    model = Model.build(URDFModelFactory(urdf, SpatialMath()), root_link="FL_shank")
    assert (model.root, model.tree.root, model.tree[0].name) == ("FL_shank",) * 3
    kd = KinDynComputations(urdf, root_link="FL_shank")
    assert [node.name for node in model.tree] == [node.name for node in kd.model.tree]
    with pytest.raises(ValueError, match="did you mean 'FL_shank'"):
        Model.build(URDFModelFactory(urdf, SpatialMath()), None, "FL_shan")


def test_a_model_of_mujoco():
    text = """<mujoco><worldbody><body name="base"><inertial pos="0 0 0" mass="1"
      diaginertia="1 1 1"/><body name="arm"><joint name="elbow" axis="0 0 1"/><geom size="0.1"/>
      </body></body></worldbody></mujoco>"""
    compiled = mujoco.MjModel.from_xml_string(text)
    factory = build_model_factory(compiled, SpatialMath())
    assert isinstance(factory, MujocoModelFactory)
    assert mujoco_model.MujocoModelFactory is MujocoModelFactory
    assert Model.build(factory).actuated_joints == ["elbow"]
    with pytest.raises(lw.ModelError, match="path: expected the path or text of a URDF, got <mu"):
        URDFModelFactory(compiled, SpatialMath())
    with pytest.raises(lw.ModelError, match=r"mj_model: expected a mujoco\.MjModel, got 'a'"):
        MujocoModelFactory("a", SpatialMath())


def test_bad_lists_are_explained(file):
    with pytest.raises(lw.NameNotFoundError, match="no link named 'trnk'; did you mean 'trunk'"):
        parametric(file, ["trnk"], [1.0], [1.0])
    text = r"densities: expected \(1,\), one number for each link, got \(2,\)"
    with pytest.raises(lw.ShapeError, match=text):
        parametric(file, ["trunk"], [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="no joint named 'hop'; known: hip"):
        Model.build(parametric(file), ["hop"])
