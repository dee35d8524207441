"""USD files, written by an independent writer and compared with usd-core's own readings."""

from __future__ import annotations

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdUtils
from tests.support.usd_files import text_of, usd_stage

import linkwork as lw
from linkwork.io.load import read
from linkwork.model.inertia import Inertia
from linkwork.model.pose import Pose

pytestmark = pytest.mark.peers

SINGLE = 2e-6  # values in USD have single precision
KINDS = ("fixed", "revolute", "prismatic", "spherical", "planar", "floating")


def robot(*, fixed: bool = False) -> lw.Model:
    """A chain with a joint of each kind, each at a general pose on both links."""
    random = np.random.default_rng(1)

    def pose():
        return Pose(tuple(random.normal(size=3)), tuple(random.uniform(-1, 1, 3)))

    builder = lw.ModelBuilder("robot")
    names = [*(["world"] if fixed else []), "trunk", *(f"body_{kind}" for kind in KINDS), "tip"]
    for name in names:
        mass = 0.0 if name == "world" else float(random.uniform(1, 3))
        com = (0.0, 0.0, 0.0) if name == "world" else tuple(random.normal(size=3))
        box = lw.solid_box(mass, (1.0, 2.0, 1.5), com)
        tilted = lw.Inertia(mass, com, tuple(np.array(box.tensor) + mass * 0.1))
        builder.add_link(name, inertia=tilted if mass else Inertia())
    kinds = [*(["revolute"] if fixed else []), *KINDS, "prismatic"]
    for index, kind in enumerate(kinds):
        limited = kind in ("revolute", "prismatic") and index
        builder.add_joint(
            f"joint{index}",
            first=names[index],
            second=names[index + 1],
            kind=kind,
            axis=(0.0, 0.0, 1.0) if kind == "planar" else tuple(np.eye(3)[index % 3]),
            first_H_joint=pose(),
            joint_H_second=pose(),
            **({"lower": -0.5, "upper": 0.25 * index + 0.5} if limited else {}),
        )
    return builder.build()


def assert_same_robot(actual: lw.Model, expected: lw.Model, seed: int = 0) -> None:
    """Names, limits, and physics in a random state."""
    floating = "world" not in expected.link_names
    ours, theirs = (lw.KinDyn(model, floating=floating) for model in (actual, expected))
    assert actual.link_names == expected.link_names
    assert actual.joint_names == expected.joint_names
    assert [joint.kind for joint in actual.joints] == [joint.kind for joint in expected.joints]
    np.testing.assert_allclose(ours.limits.lower, theirs.limits.lower, rtol=SINGLE)
    np.testing.assert_allclose(ours.limits.upper, theirs.limits.upper, rtol=SINGLE)
    q, nu = theirs.random(seed=seed), np.linspace(-1, 1, theirs.nv)
    nu_dot = np.cos(nu)
    for name in expected.link_names:
        np.testing.assert_allclose(ours.transform(name, q), theirs.transform(name, q), atol=2e-5)
    expected_tau = theirs.inverse_dynamics(q, nu, nu_dot)
    size = np.abs(expected_tau).max()
    np.testing.assert_allclose(ours.inverse_dynamics(q, nu, nu_dot), expected_tau, atol=2e-5 * size)


@pytest.mark.parametrize(
    "units",
    [
        {},
        {"meters": 0.01, "kilograms": 0.001, "up": "Y", "scale": 2.5},
    ],
    ids=["SI", "cm, g, y up, scaled"],
)
@pytest.mark.parametrize("fixed", [False, True], ids=["floating", "fixed"])
def test_a_joint_of_each_kind_is_read_as_it_was_written(fixed, units):
    model = robot(fixed=fixed)

    assert_same_robot(lw.load(text_of(usd_stage(model, **units))), model)


@pytest.mark.parametrize("ending", ["usda", "usdc", "usd", "usdz"])
def test_files_of_all_encodings_are_read(ending, tmp_path):
    model = robot()
    stage = usd_stage(model)  # its layer ends with it
    file = tmp_path / f"robot.{ending}"
    if ending == "usdz":
        stage.GetRootLayer().Export(str(tmp_path / "inside.usdc"))
        assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "inside.usdc"), str(file))
        (tmp_path / "inside.usdc").unlink()
    else:
        stage.GetRootLayer().Export(str(file))

    loaded = lw.load(file)

    assert (loaded.link_names, loaded.source) == (model.link_names, file)
    assert loaded.total_mass == pytest.approx(model.total_mass, rel=SINGLE)


def test_frames_of_joints_agree_with_usds_reading():
    """Joints on prims that are scaled, inside of bodies, or of no body."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    for path, xyz, size in (
        ("/r", (1, 2, 3), (1, 1, 1)),
        ("/r/a", (0.5, 0, 0), (2, 3, 4)),
        ("/r/a/mount", (0, 0.25, 0), (1, 1, 1)),
        ("/r/b", (0, 0, 1), (0.5, 0.5, 0.5)),
        ("/table", (0, 0, 0.75), (2, 2, 2)),
    ):
        xform = UsdGeom.Xform.Define(stage, path)
        xform.AddTranslateOp().Set(xyz)
        xform.AddRotateZOp().Set(0 if path.endswith("mount") else 30)
        xform.AddScaleOp().Set(size)
    for path in ("/r/a", "/r/b"):
        prim = stage.GetPrimAtPath(path)
        UsdPhysics.RigidBodyAPI.Apply(prim)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(1.0)
        UsdPhysics.MassAPI(prim).CreateDiagonalInertiaAttr((1, 1, 1))
    joints = {"hinge": ("/r/a/mount", "/r/b"), "base": ("/table", "/r/a")}
    for name, ends in joints.items():
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"/r/{name}")
        joint.CreateBody0Rel().SetTargets([ends[0]])
        joint.CreateBody1Rel().SetTargets([ends[1]])
        joint.CreateLocalPos0Attr((0.1, 0.2, 0.3))
        joint.CreateLocalPos1Attr((0.3, 0.1, 0.2))
        joint.CreateLocalRot0Attr(Gf.Quatf(0.5, 0.5, 0.5, 0.5))

    model = lw.load(text_of(stage))

    parse = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
    parse = parse or UsdPhysics.LoadUsdPhysicsFromRange  # in older versions
    parsed = parse(stage, ["/"])
    _, descriptions = parsed[UsdPhysics.ObjectType.RevoluteJoint]
    assert len(descriptions) == 2
    for description in descriptions:
        joint = model.joint(description.primPath.name)
        second_H_joint = np.linalg.inv(joint.joint_H_second.matrix())
        for pose, number in ((joint.first_H_joint.matrix(), 0), (second_H_joint, 1)):
            position = getattr(description, f"localPose{number}Position")
            rotation = getattr(description, f"localPose{number}Orientation")
            np.testing.assert_allclose(pose[:3, 3], position, atol=1e-6)
            expected = np.array(Gf.Matrix3d(Gf.Quatd(rotation))).T
            np.testing.assert_allclose(pose[:3, :3], expected, atol=1e-6)


# Masses and shapes.

TURNED = "(0.5, 0.5, -0.5, 0.5)"
MASS = "float physics:mass = 1\nfloat3 physics:diagonalInertia = (1, 1, 1)"


def body(
    shapes: str = "", mass: str = "", head: str = 'metersPerUnit = 1\nupAxis = "Z"', rest: str = ""
) -> str:
    return f"""#usda 1.0
({head})
def Xform "a" (apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
{mass}
{shapes}
}}
{rest}
"""


def collider(kind: str, more: str = "", name: str = "shape", api: str = "") -> str:
    apis = f'"PhysicsCollisionAPI"{api}'
    return f'def {kind} "{name}" (prepend apiSchemas = [{apis}]) {{\n{more}\n}}'


MOVED = """double3 xformOp:translate = (1, 2, 3)
quatd xformOp:orient = (0.5, 0.5, 0.5, 0.5)
double3 xformOp:scale = {}
uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]
"""


@pytest.mark.parametrize(
    ("shape", "more", "scale", "volume"),
    [
        ("Cube", "double size = 0.5", (1, 2, 3), 0.5**3 * 6),
        ("Sphere", "double radius = 0.5", (2, 2, 2), np.pi * 4 / 3),
        ("Cylinder", 'double radius = 0.5\ndouble height = 2\nuniform token axis = "X"', (3, 2, 2),
         np.pi * 6),
        ("Capsule", 'double radius = 0.5\ndouble height = 2\nuniform token axis = "Y"', (1, 1, -1),
         np.pi * (0.5 + 1 / 6)),
    ],
)  # fmt: skip
def test_shapes_have_the_extent_of_the_prims(shape, more, scale, volume):
    text = body(collider(shape, more + "\n" + MOVED.format(scale)), "float physics:density = 2")
    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(text)
    cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), ["default"])
    box = cache.ComputeWorldBound(stage.GetPrimAtPath("/a")).ComputeAlignedRange()

    link = lw.load(text).link("a")

    (part,) = link.collisions
    size = {"Sphere": 1, "Cube": 0}.get(shape)
    geometry = part.geometry
    extents = (
        np.array(geometry.size)
        if shape == "Cube"
        else np.full(3, 2 * geometry.radius)
        + (np.array([0, 0, 0 if size else geometry.length]) if size is None else 0)
        - (np.array([0, 0, 2 * geometry.radius]) if shape == "Cylinder" else 0)
    )
    turned = np.abs(part.link_H_shape.matrix()[:3, :3]) @ extents
    np.testing.assert_allclose(turned, box.GetSize(), atol=1e-6)
    np.testing.assert_allclose(part.link_H_shape.xyz, box.GetMidpoint(), atol=1e-6)
    assert link.inertia.mass == pytest.approx(2 * volume, rel=1e-6)
    np.testing.assert_allclose(link.inertia.com, (1, 2, 3), atol=1e-6)


@pytest.mark.parametrize(
    "mass",
    [
        "",
        "float physics:mass = 3",
        "float physics:density = 0.05",
        "float physics:mass = 3\npoint3f physics:centerOfMass = (0.5, 0.25, -1)",
        f"float3 physics:diagonalInertia = (1, 2, 2.5)\nquatf physics:principalAxes = {TURNED}",
    ],
)
@pytest.mark.parametrize("of_shape", ["", "float physics:mass = 4", "float physics:density = 0.07"])
def test_mass_properties_agree_with_those_of_usd(mass, of_shape):
    """What the body leaves open comes from two boxes, of which one may have its own mass."""
    head = 'metersPerUnit = 0.1\nupAxis = "Z"\nkilogramsPerUnit = 2'
    shift = """double size = 3
    double3 xformOp:translate = (3, -1, 2)
    uniform token[] xformOpOrder = ["xformOp:translate"]"""
    first = collider("Cube", f"double size = 2\n{of_shape}", "one", ', "PhysicsMassAPI"')
    text = body(f"{first}\n{collider('Cube', shift, 'two')}", mass, head)
    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(text)

    def information(prim):
        size = UsdGeom.Cube(prim).GetSizeAttr().Get()
        result = UsdPhysics.RigidBodyAPI.MassInformation()
        result.volume = size**3
        result.inertia = Gf.Matrix3f(size**5 / 6)
        result.centerOfMass = Gf.Vec3f(0)
        result.localPos = Gf.Vec3f(3, -1, 2) if prim.GetName() == "two" else Gf.Vec3f(0)
        result.localRot = Gf.Quatf(1)
        return result

    api = UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/a"))
    total, moments, com, axes = api.ComputeMassProperties(information)
    R = np.array(Gf.Matrix3d(Gf.Quatd(axes))).T
    tensor = R @ np.diag(np.array(moments)) @ R.T * 2 * 0.01

    inertia = lw.load(text).link("a").inertia

    assert inertia.mass == pytest.approx(2 * total, rel=1e-5)
    np.testing.assert_allclose(inertia.com, 0.1 * np.array(com), atol=1e-6)
    np.testing.assert_allclose(inertia.matrix(), tensor, atol=2e-5 * tensor.max())


def test_meshes_count_for_inertias():
    points = [(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)]
    faces = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
    mesh = f"""point3f[] points = {points}
    int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
    int[] faceVertexIndices = {faces}"""
    reading = read(body(collider("Mesh", mesh), "float physics:density = 10"))

    link = reading.model.link("a")
    assert link.collisions == ()
    assert any("/a/shape" in f.text for f in reading.findings if f.severity == "note")
    expected = lw.solid_box(60.0, (1.0, 2.0, 3.0), (0.5, 1.0, 1.5))
    np.testing.assert_allclose(link.inertia.parameters(), expected.parameters(), rtol=1e-6)


def test_visuals_have_colors_and_hidden_prims_are_no_visuals():
    shapes = """
    def Sphere "seen" {
        color3f[] primvars:displayColor = [(0.25, 0.5, 1)]
    }
    def Sphere "hidden" {
        token visibility = "invisible"
    }
    def Sphere "guide" {
        uniform token purpose = "guide"
    }"""

    (shape,) = lw.load(body(shapes, MASS)).link("a").visuals

    assert (shape.name, shape.material.rgba) == ("seen", (0.25, 0.5, 1.0, 1.0))
