"""USD files that linkwork writes, and frames in USD files."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pxr")

from pxr import Gf, Usd, UsdGeom, UsdPhysics

import linkwork as lw
from linkwork.compat.adam.numpy import KinDynComputations
from linkwork.io.usd.reader import load_usd

SINGLE = 3e-7  # attributes of UsdPhysics have single precision


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        return function(*arguments, **options)


@pytest.mark.parametrize("name", ["arm", "quadruped", "humanoid", "cartpole"])
@pytest.mark.parametrize("ending", ["usda", "usd"])
def test_written_robot_has_the_same_motion(name, ending, tmp_path):
    model = quietly(lw.load, lw.robots.path(name), mimic=False)
    pose = lw.Pose((0.1, -0.2, 0.3), (0.4, -0.3, 0.2))
    link = model.link_names[-1]
    model = replace(model, frames=(lw.Frame(name="end", link=link, link_H_frame=pose),))

    quietly(lw.dump_usd, model, tmp_path / f"robot.{ending}")
    written = quietly(lw.load, tmp_path / f"robot.{ending}")

    assert written.name == model.name
    assert (written.link_names, written.joint_names) == (model.link_names, model.joint_names)
    options = {"base": model.default_base, "floating": True}
    first, second = lw.KinDyn(model, **options), lw.KinDyn(written, **options)
    q = first.random(10, seed=0)
    nu = np.random.default_rng(0).normal(size=(10, first.nv))
    for frame in (*model.link_names, "end"):
        np.testing.assert_allclose(
            second.transform(frame, q), first.transform(frame, q), atol=10 * SINGLE
        )
    for function in ("mass_matrix", "gravity_force"):
        expected = getattr(first, function)(q)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(getattr(second, function)(q), expected, atol=10 * SINGLE * scale)
    expected = first.bias_force(q, nu)
    bound = 100 * SINGLE * np.abs(expected).max()
    np.testing.assert_allclose(second.bias_force(q, nu), expected, atol=bound)
    for joint in model.joints:
        limits = written.joint(joint.name).limits
        bounds = (joint.limits.lower, joint.limits.upper)
        np.testing.assert_allclose((limits.lower, limits.upper), bounds, rtol=SINGLE)


def test_written_ball_joints_keep_their_coordinates():
    """Their frames are not turned toward an axis, which has no meaning for them."""
    b = lw.ModelBuilder("ball")
    for name in ("base", "arm"):
        b.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3)))
    mount = lw.Pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    b.add_joint("ball", "spherical", "base", "arm", first_H_joint=mount)
    kd = lw.KinDyn(b.build(), floating=False)
    written = lw.KinDyn(lw.load(lw.dump_usd(kd.model)), "base", floating=False)
    q = kd.random(5, seed=0)
    np.testing.assert_allclose(written.transform("arm", q), kd.transform("arm", q), atol=SINGLE)


def test_shapes_are_written_at_their_poses():
    shapes = [lw.Box((1, 2, 3)), lw.Sphere(0.5), lw.Cylinder(0.2, 0.7), lw.Capsule(0.1, 0.4)]
    pose = lw.Pose((1, 2, 3), (0.4, -0.3, 0.2))
    builder = lw.ModelBuilder("r")
    parts = [lw.Shape(shape, pose, name) for shape, name in zip(shapes, "abcd", strict=True)]
    builder.add_link("l", inertia=lw.solid_sphere(2, 0.1), collisions=parts, visuals=parts[:1])

    link = quietly(lw.load, lw.dump_usd(builder.build())).link("l")

    for shape, expected in zip((*link.collisions, *link.visuals), (*parts, parts[0]), strict=True):
        assert type(shape.geometry) is type(expected.geometry)
        sizes = [np.atleast_1d(list(vars_of(one.geometry))) for one in (shape, expected)]
        np.testing.assert_allclose(*sizes, rtol=1e-6)
        matrices = [one.link_H_shape.matrix() for one in (shape, expected)]
        np.testing.assert_allclose(*matrices, atol=1e-6)


def vars_of(geometry):
    """The sizes of a shape."""
    values = [
        getattr(geometry, name) for name in ("size", "radius", "length") if hasattr(geometry, name)
    ]
    return np.concatenate([np.atleast_1d(value) for value in values])


def test_what_usd_does_not_have_is_reported():
    model = lw.load("arm")
    renamed = model.renamed(links={model.link_names[1]: "1-st link"})

    with pytest.warns(lw.LinkworkWarning) as record:
        text = lw.dump_usd(renamed)
    message = str(record[0].message)
    assert all(word in message for word in ("mimic", "velocity", "1-st link to "))
    assert len(quietly(lw.load, text).links) == len(model.links)
    builder = lw.ModelBuilder("r")
    builder.add_link("a")
    builder.add_link("b", inertia=lw.solid_sphere(1, 0.1))
    builder.add_joint("j", "planar", "a", "b")
    with pytest.raises(lw.ModelError, match=r"joint 'j'.*planar"):
        lw.dump_usd(builder.build())


def two_bodies(path: str | None = None) -> Usd.Stage:
    """A hinge about y, with a frame on each body and a group of shapes."""
    stage = Usd.Stage.CreateNew(path) if path else Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 0.1)
    UsdPhysics.ArticulationRootAPI.Apply(UsdGeom.Xform.Define(stage, "/Robot").GetPrim())
    for name in ("base", "arm"):
        prim = UsdGeom.Xform.Define(stage, f"/Robot/{name}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prim)
        api = UsdPhysics.MassAPI.Apply(prim)
        api.CreateMassAttr(1.0)
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(1, 1, 1))
    joint = UsdPhysics.RevoluteJoint.Define(stage, "/Robot/hinge")
    joint.GetBody0Rel().SetTargets(["/Robot/base"])
    joint.GetBody1Rel().SetTargets(["/Robot/arm"])
    joint.CreateAxisAttr("Y")
    joint.CreateLocalPos0Attr(Gf.Vec3f(0, 0, 5))
    UsdGeom.Xform.Define(stage, "/Robot/arm/tip").AddTranslateOp().Set(Gf.Vec3d(0, 0, 5))
    inner = UsdGeom.Xform.Define(stage, "/Robot/arm/tip/sensor")
    inner.AddTranslateOp().Set(Gf.Vec3d(1, 0, 0))
    inner.AddScaleOp().Set(Gf.Vec3f(3, 3, 3))
    UsdGeom.Xform.Define(stage, "/Robot/arm/visuals")
    UsdGeom.Sphere.Define(stage, "/Robot/arm/visuals/ball")
    UsdGeom.Xform.Define(stage, "/Robot/outside")
    return stage


def test_empty_xforms_of_bodies_are_frames():
    """Those with shapes are groups, and those outside of bodies are not part of the robot."""
    model = load_usd(two_bodies())

    assert {frame.name: frame.link for frame in model.frames} == {"tip": "arm", "sensor": "arm"}
    kd = lw.KinDyn(model, floating=False)
    np.testing.assert_allclose(kd.transform("sensor", [0.0])[:3, 3], [0.1, 0, 1.0], atol=1e-7)
    np.testing.assert_allclose(kd.transform("tip", [np.pi / 2])[:3, 3], [0.5, 0, 0.5], atol=1e-7)


def test_adam_reads_files_stages_and_one_of_several_robots(tmp_path):
    path = str(tmp_path / "robots.usda")
    stage = two_bodies(path)
    other = UsdGeom.Xform.Define(stage, "/Other").GetPrim()
    UsdPhysics.ArticulationRootAPI.Apply(other)
    UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Xform.Define(stage, "/Other/ball").GetPrim())
    stage.Save()

    with pytest.raises(lw.ParseError, match="2 articulations"):
        KinDynComputations.from_usd(path)
    with pytest.raises(lw.ParseError, match=r"'/Robt'.*'/Robot'"):
        KinDynComputations.from_usd(path, "/Robt")
    for method, source in (("from_usd", path), ("from_usd_stage", stage)):
        adam = quietly(getattr(KinDynComputations, method), source, "/Robot", ["hinge"])
        assert list(adam.rbdalgos.model.links) == ["base", "arm"]
        pose = adam.forward_kinematics("tip", np.eye(4), np.array([np.pi / 2]))
        np.testing.assert_allclose(pose[:3, 3], [0.5, 0, 0.5], atol=1e-6)


def test_adam_writes_what_it_reads(tmp_path):
    urdf = lw.robots.path("humanoid")
    first = quietly(KinDynComputations, str(urdf))

    path = quietly(first.rbdalgos.model.to_usd, tmp_path / "r.usda", robot_prim_path="/Robot")
    second = quietly(KinDynComputations.from_usd, path, "/Robot")

    assert set(second.rbdalgos.model.links) == set(first.rbdalgos.model.links)
    H, s = np.eye(4), np.random.default_rng(0).normal(size=first.NDoF)
    np.testing.assert_allclose(second.mass_matrix(H, s), first.mass_matrix(H, s), atol=1e-5)
