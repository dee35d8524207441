"""Scenes of simulations read from MJCF, compared with what MuJoCo computes for the same model."""

from __future__ import annotations

import re
from math import inf

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.model.layout import Layout
from linkwork.simulation.mjcf.read import read_simulation
from linkwork.simulation.scene import ANY, Box, Plane

KINDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


def random_geom(rng, name, extra=""):
    """A geom of random kind and contact parameters; all geoms are within each other's margins."""
    kind = rng.choice(KINDS)
    size = " ".join(f"{x:.3f}" for x in rng.uniform(0.05, 0.1, 3))
    solref = rng.choice(["0.02 1", "0.03 0.8", "-200 -10"])
    solimp = (
        f"{rng.uniform(0.5, 0.8):.3f} {rng.uniform(0.8, 0.99):.3f} 0.01 0.4 {rng.integers(1, 4)}"
    )
    friction = " ".join(f"{x:.4f}" for x in rng.uniform(0, 1, 3))
    return (
        f'<geom name="{name}" type="{kind}" size="{size}" condim="{rng.choice([1, 3, 4, 6])}" '
        f'friction="{friction}" solref="{solref}" solimp="{solimp}" margin="5" '
        f'gap="{rng.choice([0, 0.5])}" priority="{rng.integers(0, 2)}" '
        f'solmix="{rng.choice(["0", "1", "2.5"])}" contype="{rng.integers(0, 4)}" '
        f'conaffinity="{rng.integers(0, 4)}" {extra}/>'
    )


def random_contacts(seed):
    """A floor, a fixed box, and a tree of bodies with random geoms, pairs and exclusions."""
    rng = np.random.default_rng(seed)
    bodies, names = "", []
    for k in range(4):
        geoms = "".join(random_geom(rng, f"g{k}{j}") for j in range(rng.integers(1, 3)))
        names += [f"g{k}0"]
        joint = '<joint axis="0 1 0"/>' if k != 2 else ""  # the body 2 is welded to its parent
        bodies += f'<body name="b{k}" pos="0.1 0.02 0.2">{joint}<inertial pos="0 0 0" mass="1" '
        bodies += f'diaginertia="1 1 1"/>{geoms}'
    bodies += "</body>" * 4
    fixed = random_geom(rng, "fixed", 'pos="0 0 -0.5"')
    fixed = re.sub('type="[a-z]*"', 'type="box"', fixed)
    pair = (
        f'<pair geom1="{rng.choice(names)}" geom2="floor" condim="4" friction="0.5 0.6 0.1 0.2 0.3"'
        ' solref="0.05 1" solreffriction="0.07 1" margin="6" gap="1"/>'
    )
    exclude = '<exclude body1="world" body2="b3"/>' if rng.random() < 0.3 else ""
    flag = "disable" if rng.random() < 0.5 else "enable"
    return f"""<mujoco><option><flag filterparent="{flag}"/></option><worldbody>
    <geom name="floor" type="plane" size="1 1 1" pos="0 0 -1" euler="10 5 0" friction="0.3"/>
    {fixed}{bodies}</worldbody><contact>{pair}{exclude}</contact></mujoco>"""


@pytest.mark.parametrize("seed", range(40))
def test_contacts_and_their_parameters_are_those_of_mujoco(seed):
    mjcf = random_contacts(seed)
    mj = mujoco.MjModel.from_xml_string(mjcf)
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    _, scene = read_simulation(mjcf)
    ours = {(pair.fixed_name, pair.shape_name): pair for pair in scene.contacts}
    theirs = set()
    for contact in data.contact:
        first, second = (mj.geom(int(geom)) for geom in contact.geom)
        if first.bodyid[0] and second.bodyid[0]:
            links = " and ".join(repr(mj.body(geom.bodyid[0]).name) for geom in (first, second))
            reverse = " and ".join(links.split(" and ")[::-1])
            assert any(links in text or reverse in text for text in scene.ignored)
            continue
        fixed, moving = (first, second) if first.bodyid[0] == 0 else (second, first)
        pair = ours[fixed.name, moving.name]
        theirs.add((fixed.name, moving.name))
        assert pair.link == mj.body(moving.bodyid[0]).name
        assert pair.moving_first == (first is moving)
        assert pair.condim == contact.dim
        assert pair.margin == pytest.approx(contact.includemargin)
        np.testing.assert_allclose(pair.friction, contact.friction, rtol=1e-15)
        np.testing.assert_allclose(pair.softness.solref, contact.solref, rtol=1e-14)
        np.testing.assert_allclose(pair.softness.solimp, contact.solimp, rtol=1e-14)
        np.testing.assert_allclose(pair.solref_friction, contact.solreffriction)
        H = pair.world_H_fixed.matrix()
        np.testing.assert_allclose(H[:3, 3], data.geom_xpos[fixed.id], atol=1e-15)
        np.testing.assert_allclose(H[:3, :3].ravel(), data.geom_xmat[fixed.id], atol=1e-15)
    # MuJoCo finds no points of two boxes that are far apart, whatever the margin
    boxes = {key for key, pair in ours.items() if type(pair.shape) is type(pair.fixed) is Box}
    assert set(ours) - boxes <= theirs <= set(ours)


PARTS = """<mujoco><compiler angle="radian"/>
<option timestep="0.004" integrator="implicitfast" cone="elliptic" impratio="3" gravity="0 1 -9">
<flag refsafe="disable" eulerdamp="disable"/></option>
<worldbody>
<geom type="plane" size="1 1 1"/><geom name="step" type="box" size="1 2 3" pos="4 5 6"/>
<geom name="ball" type="sphere" size="1"/>
<body name="torso" pos="0 0 2"><freejoint/><geom name="hull" size="0.1"/>
<site name="imu" pos="0 0 0.1" euler="0 0 1"/><site name="mark"/>
<body name="leg" gravcomp="0.5"><joint name="knee" range="-1 2" ref="0.3" stiffness="4"
springref="0.5" damping="0.7" armature="0.02" frictionloss="0.3" margin="0.01"
solreflimit="0.03 1" actuatorfrcrange="-5 6"/>
<geom size="0.1" pos="0 0 -1"/>
<body name="foot" pos="0 0 -0.5"><joint name="ankle" type="ball" range="0 0.9" limited="true"/>
<geom size="0.1" pos="0 0 -1"/></body></body></body></worldbody>
<actuator><position name="servo" joint="knee" kp="20" kv="2" gear="3" ctrlrange="-1 1"
forcerange="-9 8"/>
<general joint="knee" dyntype="filter" dynprm="0.1" gaintype="affine" gainprm="1 2 3"
biastype="affine" biasprm="4 5 6" actrange="0 1"/></actuator>
<equality><connect body1="foot" anchor="0 0 0.1"/><weld name="w" site1="imu" site2="mark"/>
<joint joint1="knee" polycoef="0.1 0 0 0 0"/></equality>
<sensor><gyro name="turn" site="imu" cutoff="5"/><clock/>
<framepos name="where" objtype="body" objname="foot"
reftype="xbody" refname="leg"/></sensor>
<keyframe><key name="home" qpos="1 2 3 0.6 0.8 0 0 0.5 1 0 0 0" qvel="1 2 3 4 5 6 7 8 9 10"
act="0.2" ctrl="0.1 0.2"/></keyframe></mujoco>"""


def test_all_parts_of_a_scene():
    model, scene = read_simulation(PARTS)
    assert (scene.base, scene.floating) == ("torso", True)
    options = scene.options
    assert (options.timestep, options.integrator, options.cone) == (
        0.004,
        "implicitfast",
        "elliptic",
    )
    assert (options.gravity, options.impratio) == ((0, 1, -9), 3)
    assert not options.refsafe
    assert not options.eulerdamp
    assert [pair.name for pair in scene.contacts][:2] == ["hull world_geom0", "hull step"]
    assert isinstance(scene.contacts[0].fixed, Plane)
    assert scene.contacts[1].fixed == Box((2, 4, 6))
    assert scene.references == (("knee", 0.3),)
    knee, ankle = scene.limits
    assert (knee.lower, knee.upper, knee.margin) == pytest.approx((-1.3, 1.7, 0.01))
    assert knee.softness.solref == (0.03, 1)
    assert (ankle.joint, ankle.lower, ankle.upper) == ("ankle", -inf, 0.9)
    assert [(one.joint, one.loss) for one in scene.frictions] == [("knee", 0.3)]
    (forces,) = scene.joints
    assert (forces.stiffness, forces.damping, forces.armature) == (4, 0.7, 0.02)
    assert forces.spring_reference == pytest.approx((0.2,))
    assert forces.force_range == (-5, 6)
    assert scene.gravity_compensation == (("leg", 0.5),)
    servo, general = scene.actuators
    assert (servo.gear, servo.gain, servo.control_range) == (3, (20, 0, 0), (-1, 1))
    assert servo.bias == pytest.approx((-20 * 3 * 0.3, -20, -2))
    assert (servo.force_range, servo.dynamics) == ((-9, 8), "none")
    assert general.gain == pytest.approx((1 + 2 * 0.3, 2, 3))
    assert general.bias == pytest.approx((4 + 5 * 0.3, 5, 6))
    assert (general.dynamics, general.time_constant) == ("filter", 0.1)
    assert (general.activation_range, general.control_range) == ((0, 1), ANY)
    connect, joint = scene.equalities  # the weld of sites of one link has no effect
    assert (connect.kind, connect.first, connect.second) == ("connect", "foot", None)
    assert connect.second_H_anchor.xyz == pytest.approx((0, 0, 1.6))
    assert (joint.first, joint.second, joint.coefficients) == ("knee", None, (0.1,))
    gyro, position = scene.sensors
    assert (gyro.kind, gyro.link, gyro.cutoff, gyro.size) == ("gyro", "torso", 5, 3)
    assert (position.object_kind, position.link, position.reference_link) == ("body", "foot", "leg")
    assert position.link_H_object.xyz == (0, 0, -1)  # the center of mass
    assert [text for text in scene.ignored if "clock" in text]
    assert [text for text in scene.ignored if "'ball'" in text]
    assert {name for name, _ in scene.link_weights} == {"torso", "leg", "foot"}
    assert model.link_names == ("torso", "leg", "foot")


def test_keyframes_are_converted():
    model, scene = read_simulation(PARTS)
    home, initial = scene.keyframes
    layout = Layout(model, True)
    q = np.array(home.q)
    np.testing.assert_allclose(q[:7], [1, 2, 3, 0.6, 0.8, 0, 0])
    np.testing.assert_allclose(q[layout.q["knee"]], 0.2)
    np.testing.assert_allclose(home.nu[:3], [1, 2, 3])
    R = lw.Pose.from_wxyz((0.6, 0.8, 0, 0)).matrix()[:3, :3]
    np.testing.assert_allclose(home.nu[3:6], R @ [4, 5, 6])
    assert (home.activation, home.control) == ((0.2,), (0.1, 0.2))
    assert (initial.name, initial.q[:3]) == ("initial", (0, 0, 2))


def test_inverse_weights_are_those_of_mujoco():
    mj = mujoco.MjModel.from_xml_string(PARTS)
    _, scene = read_simulation(mj)
    np.testing.assert_array_equal([w for _, w in scene.link_weights], mj.body_invweight0[1:])
    weights = [number for _, numbers in scene.joint_weights for number in numbers]
    np.testing.assert_array_equal(weights, mj.dof_invweight0)
    assert [name for name, _ in scene.joint_weights] == ["", "knee", "ankle"]


@pytest.mark.parametrize(
    ("flag", "field", "rest"),
    [
        ("contact", "contacts", ()),
        ("limit", "limits", ()),
        ("frictionloss", "frictions", ()),
        ("equality", "equalities", ()),
        ("constraint", "contacts", ()),
        ("constraint", "limits", ()),
        ("gravity", "gravity_compensation", ()),
        ("sensor", "sensors", ()),
    ],
)
def test_what_a_flag_disables_is_left_out(flag, field, rest):
    text = PARTS.replace("<flag", f'<flag {flag}="disable"')
    assert getattr(read_simulation(PARTS)[1], field)
    assert getattr(read_simulation(text)[1], field) == rest


def test_flags_of_forces():
    flags = 'spring="disable" damper="disable" actuation="disable" clampctrl="disable"'
    _, scene = read_simulation(PARTS.replace("<flag", f"<flag {flags}"))
    (forces,) = scene.joints
    assert (forces.stiffness, forces.damping, forces.force_range) == (0, 0, ANY)
    assert all(one.gain == one.bias == (0, 0, 0) for one in scene.actuators)
    assert all(one.control_range == ANY for one in scene.actuators)


ROBOT = """<mujoco>
<option {option}/>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><joint name="j" {joint}/><geom name="g" size="0.1" {geom}/>
<site name="s"/></body></worldbody>
<tendon><fixed name="t" {tendon}><joint joint="j" coef="1"/></fixed></tendon>
<actuator>
{actuator}</actuator>
</mujoco>"""


@pytest.mark.parametrize(
    ("part", "line", "element"),
    [
        ({"option": 'integrator="RK4"'}, 2, "RK4"),
        ({"option": 'integrator="implicit"'}, 2, "IMPLICIT;"),
        ({"option": 'noslip_iterations="3"'}, 2, "noslip_iterations"),
        ({"option": 'viscosity="0.1"'}, 2, "viscosity"),
        ({"tendon": 'damping="3"'}, 6, "tendon 't'"),
        ({"tendon": 'range="0 1" limited="true"'}, 6, "limited"),
        ({"actuator": '<muscle name="m" joint="j" lengthrange="0 1"/>'}, 8, "actuator 'm'"),
        ({"actuator": '<motor name="m" tendon="t"/>'}, 8, "actuators of a tendon"),
        ({"actuator": '<motor site="s"/>'}, 8, "actuator number 0"),
        ({"geom": 'adhesion="1"'}, 4, "geom 'g'"),
        ({"geom": 'surfacevel="1 0 0"'}, 4, "geom 'g'"),
    ],
)
def test_other_physics_is_rejected_with_its_line(part, line, element):
    parts = {"option": "", "joint": "", "geom": "", "tendon": "", "actuator": "", **part}
    with pytest.raises(lw.ParseError) as caught:
        read_simulation(ROBOT.format(**parts))
    (finding,) = caught.value.findings
    assert finding.location.line == line
    assert element in str(finding)


def test_the_line_of_an_included_file(tmp_path):
    (tmp_path / "part.xml").write_text(
        '<mujocoinclude>\n<actuator>\n<motor name="m" tendon="t"/></actuator></mujocoinclude>'
    )
    text = ROBOT.format(option="", joint="", geom="", tendon="", actuator="")
    path = tmp_path / "robot.xml"
    path.write_text(text.replace("</mujoco>", '<include file="part.xml"/></mujoco>'))
    with pytest.raises(lw.ParseError, match=r"part\.xml:3: actuator 'm'"):
        read_simulation(path)


def test_strict_raises_for_what_is_left_out():
    with pytest.raises(lw.ParseError, match="clock"):
        read_simulation(PARTS, strict=True)
