"""Stages of USD files: articulations, loops, references, errors; and what is left out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.support.commands import run_here
from tests.support.kernels import output_of
from tests.support.linkages import four_bar
from tests.support.usd_files import text_of, usd_stage

import linkwork as lw
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64
from linkwork.io.load import read

pytestmark = pytest.mark.peers

HEAD = '#usda 1.0\n(\nmetersPerUnit = 1\nupAxis = "Z"\n)\n'
AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
MASS = """float physics:mass = 2
float3 physics:diagonalInertia = (1, 1, 1)
point3f physics:centerOfMass = (0, 0, 0.5)
"""


def xform(name: str, inside: str = "", apis: str = "") -> str:
    schemas = f"(prepend apiSchemas = [{apis}])" if apis else ""
    return f'def Xform "{name}" {schemas} {{\n{inside}\n}}\n'


def body(name: str, inside: str = "") -> str:
    return xform(name, MASS + inside, '"PhysicsRigidBodyAPI", "PhysicsMassAPI"')


def joint(name: str, ends: tuple[str, ...], inside: str = "", kind: str = "Revolute") -> str:
    bodies = "".join(f"rel physics:body{k} = <{end}>\n" for k, end in enumerate(ends) if end)
    return f'def Physics{kind}Joint "{name}" {{\n{bodies}{inside}\n}}\n'


def general(ends: tuple[str, ...], free: tuple[str, ...], inside: str = "") -> str:
    """A PhysicsJoint whose other axes are locked."""
    locked = [one for one in AXES if one not in free]
    values = "".join(
        f"float limit:{one}:physics:low = 1\nfloat limit:{one}:physics:high = -1\n"
        for one in locked
    )
    names = [*locked, *(one for one in free if f"limit:{one}:" in inside)]
    apis = ", ".join(f'"PhysicsLimitAPI:{one}"' for one in names)
    text = joint("j", ends, values + inside, "")
    return text.replace('"j" {', f'"j" (prepend apiSchemas = [{apis}]) {{')


def lines(text: str, severity: str) -> list[str]:
    return [str(one) for one in read(text).findings if one.severity == severity]


def test_joints_that_an_articulation_excludes_close_loops():
    model = four_bar()
    stage = usd_stage(model)
    name = model.joint_names[1]
    attribute = stage.GetPrimAtPath(f"/{model.name}/joints/{name}").GetAttribute(
        "physics:excludeFromArticulation"
    )
    attribute.Set(True)

    loaded = lw.load(text_of(stage))

    kd = lw.KinDyn(loaded, floating=False)
    assert [closing.name for closing in kd.closing_joints] == [name]
    expected = lw.KinDyn(model, floating=False, cut=[name])
    q = lw.assemble(expected, expected.random(seed=3)).q
    ours, theirs = kd.constrained(), expected.constrained()
    order = [expected.joint_names.index(one) for one in kd.joint_names]
    np.testing.assert_allclose(ours.error(q[order]), theirs.error(q), atol=1e-6)
    tau = np.zeros(kd.nv)
    accelerations = theirs.forward_dynamics(q, tau, tau).nu_dot[order]
    found = ours.forward_dynamics(q[order], tau, tau).nu_dot
    np.testing.assert_allclose(found, accelerations, atol=1e-4)


def test_the_world_may_be_either_body_of_a_joint():
    frames = "point3f physics:localPos{} = (1, 2, 3)\nfloat physics:upperLimit = 90\n"
    texts = [
        HEAD + body("a") + joint("j", ("", "/a"), frames.format(0)),
        HEAD + body("a") + joint("j", ("/a", ""), frames.format(1)),
    ]
    poses = []
    for text in texts:
        kd = lw.KinDyn(lw.load(text), floating=False)
        assert kd.model.link_names == ("world", "a")
        assert kd.limits.upper[0] == pytest.approx(np.pi / 2)
        poses.append(kd.transform("a", [0.3]))

    np.testing.assert_allclose(poses[0][:3, 3], [1, 2, 3])
    np.testing.assert_allclose(poses[0][:3, :3], poses[1][:3, :3].T, atol=1e-12)


@pytest.mark.parametrize("ends", [("", "/a"), ("/a", "")])
def test_a_joint_with_several_axes_is_a_chain(ends):
    """The translations are along the axes of the first body, the rotation follows them."""
    bounds = "float limit:transX:physics:low = -2\nfloat limit:transX:physics:high = 3\n"
    free = ("transX", "transZ", "rotY")
    kd = lw.KinDyn(lw.load(HEAD + body("a") + general(ends, free, bounds)), floating=False)

    pose = kd.transform("a", kd.q(j_transX=0.5, j_transZ=0.25, j_rotY=0.3))

    c, s = np.cos(0.3), np.sin(0.3)
    expected = np.array([[c, 0, s, 0.5], [0, 1, 0, 0], [-s, 0, c, 0.25], [0, 0, 0, 1]])
    if ends[0]:
        expected = np.linalg.inv(expected)
    np.testing.assert_allclose(pose, expected, atol=1e-12)
    assert kd.limits.upper[kd.joint_names.index("j_transX")] == 3
    assert kd.total_mass == 2


def test_joints_between_the_same_bodies_are_doubtful():
    text = HEAD + body("a") + body("b") + joint("j", ("/a", "/b")) + joint("k", ("/a", "/b"))

    with pytest.warns(lw.LinkworkWarning, match="prim /k: this joint and /j connect the same"):
        assert lw.load(text).n_loops == 1


def test_bodies_outside_of_the_articulation_are_left_out():
    arm = xform(
        "arm",
        body("a") + body("b") + joint("j", ("/arm/a", "/arm/b")),
        '"PhysicsArticulationRootAPI"',
    )
    text = HEAD + arm + body("ball")

    with pytest.warns(lw.LinkworkWarning, match="outside of the robot: ball"):
        model = lw.load(text)

    assert (model.name, model.link_names, model.joint_names) == ("arm", ("a", "b"), ("j",))


def test_an_articulation_may_start_at_the_joint_with_the_world():
    root = joint("root", ("", "/arm/a"), kind="Fixed").replace(
        '"root" {', '"root" (prepend apiSchemas = ["PhysicsArticulationRootAPI"]) {'
    )
    inside = body("a") + body("b") + joint("j", ("/arm/a", "/arm/b")) + root
    model = lw.load(HEAD + xform("arm", inside))

    assert model.link_names == ("world", "a", "b")


def test_equal_names_become_paths():
    hands = [
        xform(
            side, body("palm") + body("finger") + joint("j", (f"/{side}/palm", f"/{side}/finger"))
        )
        for side in ("left", "right")
    ]
    bridge = joint("bridge", ("/left/palm", "/right/palm"), kind="Fixed")

    model = lw.load(HEAD + "".join(hands) + bridge)

    assert model.link_names[0] == "/left/palm"
    assert model.joint_names == ("/left/j", "/right/j", "bridge")


# Other files.


def test_references_instances_and_payloads_are_read(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "wheel.usda").write_text(HEAD + body("wheel"))
    file = tmp_path / "robot.usda"
    wheels = [
        f'def Xform "{name}" (instanceable = true\n{arc} = @./parts/wheel.usda@</wheel>) {{\n}}\n'
        for name, arc in (("left", "references"), ("right", "payload"))
    ]
    inner = [joint(f"axle_{k}", ("/trunk", f"/{k}")) for k in ("left", "right")]
    file.write_text(HEAD + body("trunk") + "".join(wheels) + "".join(inner))

    model = lw.load(file, strict=True)

    assert model.link_names == ("trunk", "left", "right")
    assert model.total_mass == 6


@pytest.mark.parametrize("arc", ["references", "payload", "subLayers"])
def test_files_outside_of_the_allowed_folders_are_not_opened(arc, tmp_path):
    (tmp_path / "arm").mkdir()
    (tmp_path / "secret.usda").write_text(HEAD + body("secret"))
    file = tmp_path / "arm" / "robot.usda"
    if arc == "subLayers":
        file.write_text(HEAD.replace(")", "subLayers = [@../secret.usda@]\n)") + body("a"))
    else:
        head = f'def Xform "b" ({arc} = @../secret.usda@</secret>) {{\n}}\n'
        file.write_text(HEAD + body("a") + head)

    with pytest.raises(lw.ParseError, match=r"'\.\./secret\.usda' is outside of"):
        lw.load(file)
    allowed = read(file, package_dirs=[tmp_path])
    assert not any("outside" in finding.text for finding in allowed.findings)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "arm").mkdir()
    (tmp_path / "secret.usda").write_text(HEAD + body("secret"))
    (tmp_path / "arm" / "part.usda").symlink_to(tmp_path / "secret.usda")
    file = tmp_path / "arm" / "robot.usda"
    file.write_text(HEAD + 'def Xform "b" (references = @./part.usda@</secret>) {\n}\n')

    with pytest.raises(lw.ParseError, match="outside of"):
        lw.load(file)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.usda:SDF_FORMAT_ARGS:a=b", "outside of"),
        ("""`"../secret.usda"`""", "is an expression"),
        ("""`"${FILE}"`""", "is an expression"),
    ],
    ids=["arguments of the format", "expression", "expression with a variable"],
)
def test_other_forms_of_a_path_do_not_leave_the_folder(path, reason, tmp_path):
    (tmp_path / "arm").mkdir()
    (tmp_path / "secret.usda").write_text(HEAD + body("secret"))
    file = tmp_path / "arm" / "robot.usda"
    variables = 'expressionVariables = {\nstring FILE = "../secret.usda"\n}\n'
    file.write_text(HEAD.replace(")", f"subLayers = [@{path}@]\n{variables})") + body("a"))

    with pytest.raises(lw.ParseError, match=reason):
        lw.load(file)


def test_missing_files_are_reported(tmp_path, capfd):
    file = tmp_path / "robot.usda"
    file.write_text(HEAD + body("a") + 'def Xform "b" (references = @./none.usd@) {\n}\n')

    with pytest.warns(lw.LinkworkWarning, match="'./none.usd', which was not found"):
        lw.load(file)
    assert capfd.readouterr().err == ""  # USD prints nothing


IMPORT_WHILE_LOADING = """
import threading
from linkwork.engine.runtime.objects import _external_address
from linkwork.io.usd.stage import import_usd
def look_up():
    while True:
        _external_address("sin")
threading.Thread(target=look_up, daemon=True).start()
import_usd()
print("imported")
"""


@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="object files are loaded on Linux only")
def test_usd_is_imported_while_another_thread_loads_code():
    """Its extensions run Python code with the lock of the dynamic loader held."""
    assert output_of(IMPORT_WHILE_LOADING) == "imported"


# Errors and left out elements.

CONE = 'def Cone "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {\n}\n'
RIGID = '"PhysicsRigidBodyAPI"'
TUBE = """def Cylinder "t" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
uniform token axis = "{}"
double radius = {}
}}
"""
MIRROR = """double3 xformOp:scale = (1, 1, -1)
uniform token[] xformOpOrder = ["xformOp:scale"]"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#usda 1.0\ndef Xform", ["<text>:2", "USD"]),
        (HEAD + xform("a"), ["no prim with PhysicsRigidBodyAPI"]),
        (HEAD + body("a") + body("b"), ["connect", "a, b", "PhysicsArticulationRootAPI"]),
        (HEAD + body("a") + joint("j", ("/a", "/b")), ["prim /j", "no prim /b"]),
        (HEAD + body("a") + joint("j", ("", "/a"), kind="Distance"), ["prim /j", "DistanceJoint"]),
        (
            HEAD + body("a") + joint("j", ("", "/a"), 'uniform token physics:axis = "W"'),
            ["prim /j", "expected X, Y or Z"],
        ),
        (
            HEAD
            + body("a")
            + joint("j", ("", "/a"), "float physics:lowerLimit = 5\nfloat physics:upperLimit = 4"),
            ["prim /j", "lower", "above upper"],
        ),
        (
            HEAD + body("a") + general(("", "/a"), free=("rotX", "rotY")),
            ["prim /j", "rotX and rotY", "order"],
        ),
        (HEAD.replace("= 1\n", "= 0\n") + body("a"), ["metersPerUnit", "positive"]),
        (HEAD.replace("= 1\n", "= 1e200\n") + body("a"), ["metersPerUnit", "1e+200", "1e+30"]),
        (HEAD + xform("a", TUBE.format("W", 1), RIGID), ["prim /a/t", "X, Y or Z", "got W"]),
        (HEAD + xform("a", TUBE.format("Z", 1e200), RIGID), ["prim /a", "not finite"]),
        (
            HEAD + xform("a", CONE, '"PhysicsRigidBodyAPI"'),
            ["prim /a", "/a/c", "author"],
        ),
        (
            HEAD
            + xform("r", body("a"), '"PhysicsArticulationRootAPI"')
            + xform("s", body("b"), '"PhysicsArticulationRootAPI"'),
            ["2 articulations: /r, /s"],
        ),
        (
            HEAD + body("a", MIRROR),
            ["prim /a", "mirrored"],
        ),
    ],
)  # fmt: skip
def test_errors_state_the_prim_and_the_reason(text, words):
    with pytest.raises(lw.ParseError) as caught:
        lw.load(text)

    for word in words:
        assert word in str(caught.value)


def test_what_is_left_out_is_listed():
    driven = joint(
        "j",
        ("/a", "/b"),
        "float drive:angular:physics:stiffness = 5\nfloat physxJoint:jointFriction = 0.1\n"
        "float physxJoint:armature = 0.25\nfloat physxMimicJoint:rotX:gearing = 2",
    )
    off = joint("off", ("/a", "/b"), "bool physics:jointEnabled = false")
    scene = 'def PhysicsScene "scene" {\nfloat physics:gravityMagnitude = 1.62\n}\n'
    scene += 'def Cube "floor" {\n}\ndef SphereLight "sun" {\n}\n'
    text = (
        HEAD + body("a") + body("b", "bool physics:kinematicEnabled = true") + driven + off + scene
    )

    warnings, notes = lines(text, "warning"), lines(text, "note")

    for words in ("jointFriction", "physxMimicJoint", "prim /off", "kinematic", "gravity"):
        assert any(words in line for line in warnings), words
    assert any("prim /j" in line and "drive" in line for line in notes)
    assert any("left out" in line and "Cube (1), SphereLight (1)" in line for line in notes)
    assert read(text).model.joint("j").armature == 0.25


def test_units_that_are_not_authored_are_reported():
    text = "#usda 1.0\n" + body("a")

    (line,) = lines(text, "warning")

    assert "metersPerUnit" in line
    assert read(text).model.link("a").inertia.com == (0.0, 0.0, 0.005)


def test_workcells_and_srdf_files_are_no_usd():
    with pytest.raises(lw.ParseError, match="USD"):
        lw.load_workcell(HEAD + body("a"))


def test_commands_read_usd(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stage = usd_stage(four_bar())
    stage.GetRootLayer().Export("linkage.usdc")
    arm = HEAD + body("a") + body("b") + joint("j", ("/a", "/b"))
    (tmp_path / "arm.usda").write_text(arm)

    assert run_here("check", "linkage.usdc").returncode == 0
    assert json.loads(run_here("info", "arm.usda", "--json").stdout)["name"] == "arm"
    for out in ("arm.urdf", "arm.xml", "arm.wc.xml"):
        assert run_here("convert", "arm.usda", out).returncode == 0
    assert lw.load("arm.urdf").joint_names == ("j",)
    assert run_here("convert", "linkage.usdc", "linkage.xml").returncode == 0
    failed = run_here("convert", "linkage.usdc", "linkage.urdf")
    assert failed.returncode == 2
    assert "loop" in failed.stderr


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("foat physics:mass = 2", "prim /a: physics:mass: expected .* float, got an unknown type"),
        ('string physics:mass = "2"', "prim /a: physics:mass: expected .* float, got 2"),
        ("float3 physics:principalAxes = (1, 0, 0)", "physics:principalAxes: expected .* quatf"),
        ("foo xformOp:translate = 1", "USD: Invalid combination"),
    ],
)
def test_attributes_of_another_type_are_errors(line, reason):
    order = 'uniform token[] xformOpOrder = ["xformOp:translate"]'
    text = f"""def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
{{
    {line}
    {order if "xformOp" in line else ""}
}}
"""
    with pytest.raises(lw.ParseError, match=reason):
        lw.load(HEAD + text)


def test_moments_of_inertia_without_a_mass_are_kept():
    text = """def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    float physics:mass = 0
    float3 physics:diagonalInertia = (1, 1, 1)
}
"""
    with pytest.warns(lw.LinkworkWarning, match="'a': has rotational inertia but no mass"):
        model = lw.load(HEAD + text)

    assert model.link("a").inertia.tensor == (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)


@pytest.mark.parametrize("mass", ["nan", "inf"])
def test_a_mass_that_is_not_finite_is_an_error(mass):
    apis = '"PhysicsRigidBodyAPI", "PhysicsMassAPI"'
    text = f'def Xform "a" (prepend apiSchemas = [{apis}]) {{\nfloat physics:mass = {mass}\n}}\n'

    with pytest.raises(lw.ParseError, match=f"{mass} is not a finite number"):
        lw.load(HEAD + text)


@pytest.mark.parametrize("arc", ["references", "payload", "inherits", "specializes"])
def test_exponential_growth_is_rejected_before_the_stage_is_composed(arc):
    """A few lines can describe millions of prims."""
    prims = [
        xform(f"n{k}", "".join(f'def "k{i}" ({arc} = </n{k + 1}>) {{}}\n' for i in range(10)))
        for k in range(6)
    ]
    text = HEAD + body("robot") + "".join(prims) + xform("n6")

    with pytest.raises(lw.ParseError, match="200000 prims"):
        lw.load(text)


@pytest.mark.parametrize("name", ["robot.usda", "part.usda"])
def test_text_that_is_not_utf8_is_an_error_of_the_file(name, tmp_path):
    reference = 'def Xform "b" (references = @./part.usda@</a>) {\n}\n'
    (tmp_path / "robot.usda").write_text(HEAD + body("a") + reference)
    (tmp_path / "part.usda").write_text(HEAD + body("a"))
    file = tmp_path / name
    file.write_bytes(file.read_bytes().replace(b"Xform", b"X\xffform", 1))

    with pytest.raises(lw.ParseError, match="UTF-8"):
        lw.load(tmp_path / "robot.usda")
