"""Actuators of MJCF files, against MuJoCo's moment arms."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.compat.mujoco import Conventions, kindyn_from_mjmodel
from linkwork.io.load import read
from linkwork.io.mjcf.writer import write_mjcf
from linkwork.model.pose import Pose

pytestmark = pytest.mark.peers

BODIES = """
<body name="trunk"><freejoint/><geom size=".2"/><site name="s"/>
  <body name="a" pos="0 0 1">
    <joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
    <body name="b" pos="1 0 0">
      <joint name="slide" type="slide" axis="1 0 0"/><geom size=".1" pos="0 .1 0"/>
      <body name="c"><joint name="finger" axis="0 0 1"/><geom size=".1" pos="0 .1 .1"/></body>
    </body>
  </body>
  <body name="d" pos="0 0 -1"><joint name="ball" type="ball"/><geom size=".1" pos=".1 .2 0"/></body>
</body>"""
DRIVEN = """
<position name="servo" joint="slide" gear="-3" kp="10"/>
<motor name="turn" joint="hinge" gear="2.5"/>
<velocity jointinparent="hinge" gear="0.5"/>
<general name="twist" joint="ball" gear="1 -2 3"/>
<motor name="grip" joint="finger" gear="7"/>"""
EQUALITY = '<equality><joint joint1="finger" joint2="slide" polycoef="0.1 4 0 0 0"/></equality>'


def mjcf(actuators: str, rest: str = "") -> str:
    parts = f"<worldbody>{BODIES}</worldbody><actuator>{actuators}</actuator>{rest}"
    return f'<mujoco model="m">{parts}</mujoco>'


def moments(mj: mujoco.MjModel, qpos) -> np.ndarray:
    """(n, nv) MuJoCo's moment arms."""
    data = mujoco.MjData(mj)
    data.qpos[:] = qpos
    mujoco.mj_forward(mj, data)
    dense = np.zeros((mj.nu, mj.nv))
    sizes = (data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    mujoco.mju_sparse2dense(dense, data.actuator_moment, *sizes)
    return dense


def test_gears_agree_with_mujocos_moments():
    mj = mujoco.MjModel.from_xml_string(mjcf(DRIVEN))
    kd = kindyn_from_mjmodel(mj)
    to = Conventions(kd, mj)
    q = kd.random(seed=0)

    names = [actuator.name for actuator in kd.model.actuators]
    assert names == ["servo", "turn", "actuator_2", "twist", "grip"]
    expected = [to.tau(to.qpos(q), row) for row in moments(mj, to.qpos(q))]
    np.testing.assert_allclose(kd.actuation.T, expected, rtol=0, atol=1e-12)
    assert kd.model.configurations == ()
    assert not kd.actuation.flags.writeable
    assert kd.replace(dtype=np.float32).actuation.dtype == np.float32


def test_an_actuator_of_a_dependent_joint_drives_its_leader():
    """The work of the actuators is the same, with a velocity that satisfies the equality."""
    text = mjcf(DRIVEN, EQUALITY)
    mj = mujoco.MjModel.from_xml_string(text)
    kd = lw.KinDyn(lw.load(text))
    to = Conventions(kd, mj)
    q, nu = kd.random(seed=1), np.linspace(-1, 1, kd.nv)

    rates = moments(mj, to.qpos(q)) @ to.qvel(q, nu)

    np.testing.assert_allclose(kd.actuation.T @ nu, rates, atol=1e-12)


def test_actuators_without_a_constant_gear_are_listed():
    others = """<motor name="thruster" site="s" gear="0 0 1 0 0 0"/>
    <motor name="bend" jointinparent="ball" gear="1 0 0"/><motor name="pull" tendon="t"/>"""
    tendon = '<tendon><fixed name="t"><joint joint="hinge" coef="1"/></fixed></tendon>'
    reading = read(mjcf(others + DRIVEN, tendon))

    notes = [finding.text for finding in reading.findings if finding.severity == "note"]
    assert any(all(name in text for name in ("thruster", "bend", "pull")) for text in notes)
    assert len(reading.model.actuators) == 5


def test_edited_models_keep_the_actuators_of_their_moving_joints():
    model = lw.load(mjcf(DRIVEN))

    def driven(model):
        return {actuator.name: actuator.joint for actuator in model.actuators}

    everything = driven(model)
    assert driven(model.lumped()) == everything
    assert driven(model.reduced(["slide"])) == {"servo": "slide"}
    renamed = model.renamed(joints={"slide": "rail"}, prefix="x_")
    assert driven(renamed)["x_servo"] == "x_rail"
    double = model.attached(model, to="trunk", prefix="y_")
    assert lw.KinDyn(double).actuation.shape == (2 * 6 + 6, 10)


def test_written_files_have_the_actuators():
    model = lw.load(mjcf(DRIVEN.replace("twist", "t").split("<general")[0]))

    with pytest.warns(lw.LinkworkWarning) as caught:
        urdf = lw.dump_urdf(lw.load(mjcf(DRIVEN)).reduced(["slide", "hinge"]))
    assert "servo, turn, actuator_2" in str(caught[0].message)

    assert lw.load(lw.dump_mjcf(model)).actuators == model.actuators
    assert lw.load(urdf).actuators == ()


def test_the_motor_of_a_ball_joint_is_written_along_the_axes_of_its_body():
    """It has the same power as in the model, whose gear is along the axes of the joint."""
    mount = Pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    ball = lw.Joint(name="j", kind="spherical", first="world", second="b", joint_H_second=mount)
    gear, w = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.7, -0.2])  # w in the axes of the body
    links = (lw.Link(name="world"), lw.Link(name="b", inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3))))
    motor = lw.Actuator(name="m", joint="j", gear=tuple(gear))
    model = lw.Model(name="r", links=links, joints=(ball,), actuators=(motor,))

    written = write_mjcf(model)

    mj = mujoco.MjModel.from_xml_string(written.text)
    assert moments(mj, mj.qpos0)[0] @ w == pytest.approx(gear @ mount.matrix()[:3, :3] @ w)
    assert not any("motor" in finding.text for finding in written.findings)


@pytest.mark.parametrize(
    ("actuator", "words"),
    [
        (lw.Actuator(name="m", joint="hinges"), "no joint named 'hinges'; did you mean 'hinge'"),
        (lw.Actuator(name="m", joint="ball"), "3 velocity coordinates, got a gear of 1"),
        (lw.Actuator(name="turn", joint="hinge"), "another actuator"),
    ],
)
def test_actuators_that_do_not_fit_are_errors(actuator, words):
    model = lw.load(mjcf(DRIVEN))

    with pytest.raises(lw.ModelError, match=words):
        replace(model, actuators=(*model.actuators, actuator))


def test_an_actuator_of_a_joint_that_closes_a_loop_has_no_column():
    builder = lw.ModelBuilder("four_bar")
    for name in ("ground", "a", "b", "c"):
        builder.add_link(name, inertia=lw.solid_sphere(1.0, 0.1))
    ends = [("ground", "a"), ("a", "b"), ("b", "c"), ("c", "ground")]
    for index, (first, second) in enumerate(ends):
        builder.add_joint(f"j{index}", first=first, second=second, kind="revolute")
    model = replace(builder.build(), actuators=(lw.Actuator(name="m", joint="j1", gear=(4.0,)),))

    with pytest.raises(lw.ArgumentError, match="'m' drives joint 'j1', which closes a loop"):
        _ = lw.KinDyn(model, floating=False, cut=["j1"]).actuation
    assert lw.KinDyn(model, floating=False, cut=["j2"]).actuation.tolist() == [[0], [4], [0]]


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_written_files_have_no_other_motors_than_the_actuators():
    grip = '<motor name="grip" joint="finger" gear="7"/>'
    model = lw.load(mjcf(grip, EQUALITY))

    mj = mujoco.MjModel.from_xml_string(lw.dump_mjcf(model))

    assert model.joint("slide").actuated
    assert [mj.actuator(index).name for index in range(mj.nu)] == ["grip"]
