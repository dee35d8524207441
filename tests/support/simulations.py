"""MuJoCo as an oracle for simulations: models, states, and what it computes when it converges."""

from __future__ import annotations

import importlib.util
import os
import re
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np

import linkwork as lw
from linkwork.compat.mujoco import Conventions

SUITE = (
    *("acrobot", "cartpole", "cheetah", "finger", "hopper", "humanoid", "pendulum", "reacher"),
    "walker",
)
RUNGE_KUTTA = ("acrobot", "cartpole")  # simulations do not have their integrator


def suite_files(more=()):
    """Paths of models of dm_control's suite by name, if it is installed; it is not imported."""
    package = importlib.util.find_spec("dm_control")
    folders = list(package.submodule_search_locations or ()) if package else []
    return {
        name: Path(folder) / "suite" / f"{name}.xml"
        for folder in folders
        for name in (*SUITE, *more)
    }


def menagerie_files():
    """Files of real robots in MJCF, if there is a folder of them: none of others is committed."""
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mjcf"
    folder = Path(os.environ.get("LINKWORK_MJCF", default))
    return sorted(folder.glob("*.xml"))


def on_the_ground_only(source):
    """Compile a model without contacts between moving bodies, which linkwork does not have.

    The source is a path, a text or an MjSpec.
    """
    spec = source
    if not isinstance(source, mujoco.MjSpec):
        text = str(source)
        is_text = text.lstrip().startswith("<")
        spec = mujoco.MjSpec.from_string(text) if is_text else mujoco.MjSpec.from_file(text)
    if spec.option.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    for number, body in enumerate(spec.bodies[1:]):
        body.name = body.name or f"body{number + 1}"
    mj = spec.compile()

    def moves(body):
        return mj.body_dofnum[mj.body_weldid[body]] > 0

    for pair in list(spec.pairs):
        if all(moves(mj.geom(name).bodyid[0]) for name in (pair.geomname1, pair.geomname2)):
            spec.delete(pair)
    for first, second in combinations([b for b in range(1, mj.nbody) if moves(b)], 2):
        spec.add_exclude(bodyname1=mj.body(first).name, bodyname2=mj.body(second).name)
    return converging(spec.compile())


def converging(mj):
    """Let MuJoCo's solver run until it cannot improve."""
    mj.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    mj.opt.iterations, mj.opt.tolerance = 200, 0
    mj.opt.ls_iterations, mj.opt.ls_tolerance = 100, 1e-8
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    return mj


SHAPES_OF_BUNDLED = {
    "quadruped": "foot|trunk:0|FL_shank:0",
    "humanoid": "foot:0|l_shank:0|chest:0",
}


def bundled(name):
    """A bundled robot with some of its shapes on the ground, and what it writes as MJCF."""
    model = lw.load(name)
    scene = lw.Simulation(model, ground=True, dt=0.004, friction=0.7).scene
    pairs = [pair for pair in scene.contacts if re.search(SHAPES_OF_BUNDLED[name], pair.name)]
    sim = lw.Simulation(model, scene=replace(scene, contacts=tuple(pairs)))
    return sim, converging(mujoco.MjModel.from_xml_string(sim.to_mjcf()))


FEET = {
    "anymal": (("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"), 0.01),
    "cassie_v2": (("left-foot", "right-foot"), 0.05),
}


def with_spheres_as_feet(name):
    """A robot of example-robot-data as MuJoCo's model: spheres on a floor, and motors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = mujoco.MjSpec.from_string(lw.dump_mjcf(lw.load(name, repair=True), meshes=False))
    for geom in list(spec.geoms):
        spec.delete(geom)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1], condim=4)
    feet, radius = FEET[name]
    for body in spec.bodies:
        if body.name in feet:
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], mass=0)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    return on_the_ground_only(spec)


def random_states(mj, count, seed=0, *, speed=1.0):
    """States near the keyframes: free bodies turned and at heights at which they touch, or fly."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(mj)
    starts = [mj.qpos0, *mj.key_qpos]
    for number in range(count):
        qpos = starts[number % len(starts)].copy()
        mujoco.mj_integratePos(mj, qpos, rng.normal(size=mj.nv) * rng.choice([0.02, 0.3]), 1.0)
        for joint in range(mj.njnt):
            if mj.jnt_limited[joint] and mj.jnt_type[joint] in (2, 3):  # also beyond limits
                low, high = mj.jnt_range[joint]
                reach = 0.05 * (high - low)
                at = mj.jnt_qposadr[joint]
                qpos[at] = np.clip(qpos[at], low - reach, high + reach)
                if rng.random() < 0.1:
                    qpos[at] = rng.choice([low, high]) + rng.normal() * 0.02
        data.qpos[:] = qpos
        mujoco.mj_kinematics(mj, data)
        lowest = lowest_point(mj, data)
        free = [joint for joint in range(mj.njnt) if mj.jnt_type[joint] == 0]
        if free and np.isfinite(lowest):
            height = rng.choice([0.01, -0.0005, -0.002, -0.005, -0.03]) * rng.random()
            for joint in free:
                qpos[mj.jnt_qposadr[joint] + 2] += height - lowest
        yield SimpleNamespace(
            qpos=qpos,
            qvel=rng.normal(size=mj.nv) * speed * rng.choice([0, 0.1, 1]),
            ctrl=rng.normal(size=mj.nu) * rng.choice([0.1, 1]),
            act=rng.normal(size=mj.na) * 0.1,
        )


def lowest_point(mj, data):
    """The height of the lowest point of geoms that touch the world, above z = 0."""
    lowest = np.inf
    for geom in range(mj.ngeom):
        if not mj.geom_bodyid[geom] or not (mj.geom_contype[geom] or mj.geom_conaffinity[geom]):
            continue
        R, p = data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom]
        box, center = mj.geom_aabb[geom, 3:], mj.geom_aabb[geom, :3]
        kind = mujoco.mjtGeom(int(mj.geom_type[geom])).name
        reach = np.abs(R[2]) @ box
        if kind == "mjGEOM_CAPSULE":
            reach = abs(R[2, 2]) * mj.geom_size[geom, 1] + mj.geom_size[geom, 0]
        elif kind == "mjGEOM_ELLIPSOID":
            reach = np.linalg.norm(R[2] * mj.geom_size[geom])
        elif kind == "mjGEOM_SPHERE":
            reach = mj.geom_size[geom, 0]
        lowest = min(lowest, p[2] + R[2] @ center - reach)
    return lowest


def set_state(mj, data, state):
    """Put a state into MuJoCo's data."""
    mujoco.mj_resetData(mj, data)
    data.qpos[:], data.qvel[:] = state.qpos, state.qvel
    data.ctrl[:], data.act[:] = state.ctrl, state.act


def compared(sim, mj, states):
    """Yield (what, error relative to the largest number) of each state, where MuJoCo converges."""
    states = list(states)
    data, conventions = mujoco.MjData(mj), Conventions(sim.kd, mj)
    columns = {name: np.array([getattr(one, name) for one in states]) for name in vars(states[0])}
    x = sim.state(qpos=columns["qpos"], qvel=columns["qvel"], activation=columns["act"])
    after = sim.step(x, columns["ctrl"])
    for k, state in enumerate(states):
        set_state(mj, data, state)
        mujoco.mj_forward(mj, data)
        a = conventions.qacc(x.q[k], x.nu[k], after.acceleration[k])
        yield "acceleration", relative(a, data.qacc)
        mujoco.mj_step(mj, data)
        yield "qvel", relative(conventions.qvel(after.q[k], after.nu[k]), data.qvel)
        tangent = np.zeros(mj.nv)
        mujoco.mj_differentiatePos(mj, tangent, 1.0, data.qpos, conventions.qpos(after.q[k]))
        yield "qpos", np.abs(tangent).max()
        if mj.na:
            yield "activation", relative(after.activation[k], data.act)


def assert_agrees(sim, mj, states, *, worst=1e-8):
    """Compare steps, and contact forces of the first hundred states, with MuJoCo's."""
    errors = [error for _, error in compared(sim, mj, states)]
    assert np.median(errors) < 1e-12
    assert max(errors) < worst
    assert max(contact_errors(sim, mj, states[:100])) < worst


def relative(ours, theirs):
    """The largest difference, relative to the largest number or 1."""
    return np.abs(ours - theirs).max(initial=0.0) / (1 + np.abs(theirs).max(initial=0.0))


def geom_name(mj, geom):
    """The name of a geom, or the one that a scene gives it."""
    body = int(mj.geom_bodyid[geom])
    default = f"{mj.body(body).name}_geom{geom - mj.body_geomadr[body]}"
    return mj.geom(geom).name or default


def contact_errors(sim, mj, states):
    """Yield errors of the contact forces of each pair of shapes, and the number of contacts."""
    states = list(states)
    data, force = mujoco.MjData(mj), np.zeros(6)
    columns = {name: np.array([getattr(one, name) for one in states]) for name in vars(states[0])}
    x = sim.state(qpos=columns["qpos"], qvel=columns["qvel"], activation=columns["act"])
    forward = sim.forward(x, columns["ctrl"])
    pairs = {(one.fixed_name, one.shape_name): one.name for one in sim.scene.contacts}
    slots = [name.rpartition(":")[0] or name for name in sim.contacts]
    for k, state in enumerate(states):
        set_state(mj, data, state)
        mujoco.mj_forward(mj, data)
        ours = {name: [] for name in pairs.values()}
        for number, name in enumerate(slots):
            if forward.active[k, number]:
                values = [forward.distances[k, number], *forward.contact_forces[k, number]]
                ours[name].append(np.array(values))
        for number, contact in enumerate(data.contact):
            if contact.efc_address < 0:
                continue
            names = [geom_name(mj, int(geom)) for geom in contact.geom]
            pair = pairs.get(tuple(names)) or pairs[tuple(names[::-1])]
            mujoco.mj_contactForce(mj, data, number, force)
            theirs = np.array([contact.dist, *force])
            errors = [relative(one, theirs) for one in ours[pair]]
            ours[pair].pop(int(np.argmin(errors)))  # each is used once
            yield min(errors)
        assert not any(ours.values())  # no contact that MuJoCo does not have
