"""Parameters of simulations, compared with MuJoCo models that have the same values."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest
from tests.support.simulations import converging, random_states, relative, set_state

import linkwork as lw
from linkwork.spatial import quat

PARAMETERS = [
    lw.parameters.LinkInertia("torso"),
    lw.parameters.Payload("leg"),
    lw.parameters.JointDamping("knee"),
    lw.parameters.JointArmature("knee"),
    lw.parameters.JointFriction("knee"),
    lw.parameters.JointPose("ankle"),
    lw.parameters.Gravity(),
    lw.parameters.FrictionMultiplier(),
    lw.parameters.FrictionMultiplier("sole floor"),
    lw.parameters.ActuatorGains("servo"),
    lw.parameters.Ground(tilt=True),
]
XML = """<mujoco><option cone="elliptic" timestep="0.003" integrator="implicitfast"/><worldbody>
<geom name="floor" type="plane" size="1 1 1" friction="0.8 0.02 0.01"/>
<body name="torso" pos="0 0 0.2"><freejoint/>
<geom name="hull" type="box" size="0.2 0.1 0.05" condim="4" friction="0.8"/>
<body name="leg" pos="0.2 0 0" gravcomp="0.4"><joint name="knee" damping="0.3" armature="0.01"
range="-29 29" frictionloss="0.1"/><geom name="shank" size="0.05" pos="0 0 -0.1" contype="0"/>
<body name="shoe" pos="0 0 -0.1"><joint name="ankle" type="ball" range="0 23"/>
<geom name="sole" type="capsule" size="0.03 0.05" pos="0 0 -0.05" friction="0.8"/></body></body>
</body></worldbody><contact><exclude body1="torso" body2="shoe"/></contact>
<equality><connect body1="shoe" body2="torso" anchor="0 0 0"/></equality>
<actuator><position name="servo" joint="knee" kp="20" kv="2" gear="3" forcerange="-9 8"/></actuator>
<sensor><subtreecom body="leg"/><framequat objtype="xbody" objname="shoe"/></sensor></mujoco>"""
ROWS = 24


@pytest.fixture(scope="module")
def sim():
    return lw.Simulation(XML, parameters=PARAMETERS)


@pytest.fixture(scope="module")
def values(sim):
    """Random values of all parameters by name, one in each row."""
    rng = np.random.default_rng(0)

    def around(name, spread):
        nominal = sim.parameter_values()[sim.parameters[name]]
        return nominal * (1.0 + spread * rng.uniform(-1, 1, (ROWS, nominal.size)))

    def inertias(mass):
        edges = (0.2, 0.1, 0.3)
        return np.array(
            [
                lw.solid_box(x, edges, com=tuple(rng.normal(size=3) * 0.05)).parameters()
                for x in mass * rng.uniform(0.5, 2.0, ROWS)
            ]
        )

    pose = around("joint_pose.ankle", 0.3) + 0.05 * rng.normal(size=(ROWS, 7))
    pose[:, 3:] /= np.linalg.norm(pose[:, 3:], axis=1, keepdims=True)
    return {
        "inertia.torso": inertias(8.0),
        "payload.leg": inertias(1.0),
        "damping.knee": rng.uniform(0.0, 1.0, ROWS),
        "armature.knee": rng.uniform(0.0, 0.1, ROWS),
        "friction.knee": rng.uniform(0.0, 1.0, ROWS),
        "joint_pose.ankle": pose,
        "gravity": sim.scene.options.gravity + rng.normal(size=(ROWS, 3)),
        "friction_multiplier": rng.uniform(0.3, 2.0, ROWS),
        "friction_multiplier.sole floor": rng.uniform(0.5, 2.0, ROWS),
        "actuator_gains.servo": around("actuator_gains.servo", 0.5)
        + [1.0, 0.1, 0.1, 1.0, 1.0, 0.0] * rng.normal(size=(ROWS, 6)),
        "ground_height": rng.uniform(-0.01, 0.03, ROWS),
        "ground_tilt": 0.1 * rng.normal(size=(ROWS, 2)),
    }


def set_inertia(mj, body, numbers):
    """Give a body of MuJoCo ten inertial parameters about its origin."""
    mass, com = numbers[0], numbers[1:4] / numbers[0]
    tensor = np.zeros((3, 3))
    tensor[np.triu_indices(3)] = numbers[4:]
    tensor = tensor + np.triu(tensor, 1).T
    tensor -= mass * (com @ com * np.eye(3) - np.outer(com, com))
    moments, axes = np.linalg.eigh(tensor)
    axes *= np.sign(np.linalg.det(axes))
    mj.body_mass[body], mj.body_ipos[body] = mass, com
    mj.body_inertia[body], mj.body_iquat[body] = moments, quat.from_rotation(axes)


def model_with(model, values, row):
    """MuJoCo's model with the values of a row."""
    mj = converging(mujoco.MjModel.from_xml_string(XML))
    own = {name: np.atleast_1d(number[row]) for name, number in values.items()}
    set_inertia(mj, mj.body("torso").id, own["inertia.torso"])
    leg = model.link("leg").inertia.parameters()
    set_inertia(mj, mj.body("leg").id, leg + own["payload.leg"])
    knee = mj.joint("knee").dofadr[0]
    mj.dof_damping[knee] = own["damping.knee"][0]
    mj.dof_armature[knee] = own["armature.knee"][0]
    mj.dof_frictionloss[knee] = own["friction.knee"][0]
    shoe = mj.body("shoe").id
    mj.body_pos[shoe], mj.body_quat[shoe] = np.split(own["joint_pose.ankle"], [3])
    mj.opt.gravity = own["gravity"]
    factor = own["friction_multiplier"][0]
    more = own["friction_multiplier.sole floor"][0]
    mj.geom("floor").friction[0] = 1e-5
    mj.geom("hull").friction[0] = 0.8 * factor
    mj.geom("sole").friction[0] = 0.8 * factor * more
    mj.actuator_gaintype[0] = mujoco.mjtGain.mjGAIN_AFFINE
    mj.actuator_gainprm[0, :3], mj.actuator_biasprm[0, :3] = np.split(
        own["actuator_gains.servo"], [3]
    )
    x, y = own["ground_tilt"]
    normal = np.array([-x, -y, 1.0]) / np.linalg.norm([x, y, 1.0])
    turn = np.r_[1.0 + normal[2], np.cross([0.0, 0.0, 1.0], normal)]
    floor = mj.geom("floor").id
    mj.geom_quat[floor] = turn / np.linalg.norm(turn)
    mj.geom_pos[floor] = [0.0, 0.0, own["ground_height"][0]]
    mj.body_sameframe[:] = 0
    mj.geom_sameframe[:] = 0
    anchors = mj.eq_data.copy()
    mujoco.mj_setConst(mj, mujoco.MjData(mj))
    mj.eq_data[:] = anchors  # which stay where they are on their links
    return mj


@pytest.fixture(scope="module")
def states(sim):
    return list(random_states(mujoco.MjModel.from_xml_string(XML), ROWS, seed=4))


def as_state(sim, states):
    x = sim.state(qpos=[one.qpos for one in states], qvel=[one.qvel for one in states])
    return x, np.array([one.ctrl for one in states])


def test_each_row_is_a_model_of_mujoco_with_its_values(sim, values, states):
    x, u = as_state(sim, states)
    p = sim.parameter_values(values)
    forward = sim.forward(x, u, parameters=p)
    after = sim.step(x, u, parameters=p)
    qacc = sim.qvel(x._replace(nu=forward.nu_dot))
    qvel = sim.qvel(after)
    assert forward.active.any(axis=-1).mean() > 0.2
    for row, state in enumerate(states):
        mj = model_with(sim.model, values, row)
        data = mujoco.MjData(mj)
        set_state(mj, data, state)
        mujoco.mj_forward(mj, data)
        assert relative(qacc[row], data.qacc) < 1e-9
        com, wxyz = np.split(forward.sensors[row], [3])
        wxyz *= np.sign(wxyz @ data.sensordata[3:])
        assert relative(np.r_[com, wxyz], data.sensordata) < 1e-12
        mujoco.mj_step(mj, data)
        assert relative(qvel[row], data.qvel) < 1e-9


def test_values_of_the_file_change_nothing(sim, states):
    x, u = as_state(sim, states)
    plain = lw.Simulation(XML)
    for ours, expected in zip(sim.step(x, u), plain.step(x, u), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-11)
    again = sim.parameter_values({"gravity": sim.scene.options.gravity})
    np.testing.assert_allclose(again, sim.parameter_values(), rtol=1e-12)
    copy = pickle.loads(pickle.dumps(sim))
    assert copy == sim
    assert copy.parameters == sim.parameters


def test_gradients_hold_inverse_weights(sim, values, states):
    x, u = as_state(sim, states)
    p = sim.parameter_values(values)
    rng = np.random.default_rng(1)
    cotangents = [rng.normal(size=part.shape) for part in x]
    unit = [sim.parameters["joint_pose.ankle"].start + 3 + k for k in range(4)]
    moved = {"nu": x.nu, "control": u, "parameters": p}
    found = sim.step.vjp(*moved)(*x, u, p, *cotangents)
    errors = []

    def cost(name, k, change):
        given = {key: value.copy() for key, value in moved.items()}
        given[name][:, k] += change
        y = x._replace(nu=given["nu"])
        after = sim.step(y, given["control"], parameters=given["parameters"])
        return sum((a * b).sum(-1) for a, b in zip(after, cotangents, strict=True))

    for (name, around), gradient in zip(moved.items(), found, strict=True):
        for k in set(range(around.shape[-1])) - set(unit if name == "parameters" else ()):
            h = 1e-6 * np.maximum(1.0, abs(around[:, k]))
            difference = (cost(name, k, h) - cost(name, k, -h)) / (2.0 * h)
            errors.append(abs(difference - gradient[:, k]) / (1e-2 + abs(gradient[:, k])))
    assert np.median(errors) < 1e-7
    assert np.quantile(errors, 0.98) < 1e-4  # a difference may cross a switch


def test_rollouts_have_parameters(sim, values, states):
    x, u = as_state(sim, states)
    p = sim.parameter_values(values)
    controls = np.repeat(u[:, None], 3, axis=1)
    after = sim.rollout(x, controls, parameters=p)
    for k in range(3):
        x = sim.step(x, u, parameters=p)
        np.testing.assert_allclose(after.nu[:, k + 1], x.nu, rtol=1e-9, atol=1e-9)
    placed = sim.place_on_ground(x, 0.01, p)
    distances = sim.forward(placed, u, parameters=p).distances.min(axis=-1)
    np.testing.assert_allclose(distances, 0.01, atol=1e-9)
    A, B = sim.linearize(x, u, parameters=p)
    assert A.shape[-1] == B.shape[-2] == 2 * sim.nv


def test_wrong_parameters_are_explained():
    model = lw.load("pendulum")
    for parameter, message in (
        (lw.parameters.FrictionMultiplier("fot floor"), "no contact named .fot floor."),
        (lw.parameters.ActuatorGains("serv"), "no actuator named .serv."),
    ):
        with pytest.raises(lw.NameNotFoundError, match=message):
            lw.Simulation(XML, parameters=[parameter])
    with pytest.raises(lw.ArgumentError, match=r"Ground is a parameter of lw\.Simulation"):
        _ = lw.KinDyn(model, floating=False, parameters=[lw.parameters.Ground()])
