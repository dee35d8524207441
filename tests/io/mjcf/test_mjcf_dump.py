"""MJCF written by linkwork: MuJoCo loads it and computes the same as linkwork."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from tests.support.messages import assert_facts
from tests.support.models import assert_close
from tests.support.mujoco import Both, compiled
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

import linkwork as lw
from linkwork.io.load import repair_inertias
from linkwork.io.mjcf.writer import write_mjcf
from linkwork.model.describe import differences

mujoco = pytest.importorskip("mujoco")

REAL = [
    path
    for path in ROBOT_FILES
    if label(path)
    in (
        "talos_data/talos_reduced",
        "panda_description/panda",
        "anymal_b_simple_description/anymal",
        "icub_description/icub",
        "baxter_description/baxter",
        "ur_description/ur5_robot",
        "human_description/human",
    )
]
BALL = lw.solid_sphere(1.0, 0.1, (0.1, 0.2, 0.3))


def both(model: lw.Model, **options) -> Both:
    """The model in linkwork, and in MuJoCo from the written MJCF, in the same state."""
    written = write_mjcf(model, meshes=False, **options)
    floating = "<freejoint" in written.text
    kd = lw.KinDyn(model, floating=floating, representation="body")
    return Both(compiled(written.text), kd=kd)


def agree(pair: Both) -> None:
    pair.agree_on_poses()
    pair.agree_on_jacobians()
    kd, data, q = pair.kd, pair.data, pair.q
    M = pair.map.mass_matrix(data.qpos, pair.M)
    assert_close(kd.mass_matrix(q), M, 1e-9)
    h = pair.map.bias_force(data.qpos, data.qvel, data.qfrc_bias, pair.M)
    assert_close(kd.bias_force(q, pair.nu), h, 1e-9, scale=max(np.abs(M).max(), np.abs(h).max()))


def chain(*joints: lw.Joint) -> lw.Model:
    names = list(dict.fromkeys(name for j in joints for name in (j.first, j.second)))
    links = [
        lw.Link(name=name, inertia=lw.Inertia() if name == "world" else BALL) for name in names
    ]
    return lw.Model(name="chain", links=tuple(links), joints=joints)


def joint(name: str, kind: str, first: str, second: str, **facts) -> lw.Joint:
    mount = lw.Pose((0.1, -0.2, 0.3), (0.3, -0.4, 1.1))
    return lw.Joint(name=name, kind=kind, first=first, second=second, first_H_joint=mount, **facts)


def lost(model: lw.Model, **options) -> list[str]:
    return [finding.text for finding in write_mjcf(model, **options).findings]


@pytest.mark.parametrize("name", lw.robots.names())
def test_mujoco_agrees_on_bundled_robots(name):
    agree(both(lw.robots.load(name)))


@pytest.mark.parametrize("path", REAL, ids=label)
def test_mujoco_agrees_on_real_robots(path):
    assert len(REAL) == 7
    agree(both(repair_inertias(load_quietly(path))[0]))


def test_fixed_base_has_no_free_joint():
    pair = both(lw.robots.load("arm"), floating=False)

    assert pair.mj.nv == 9  # 8 joints and the dependent one
    agree(pair)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical"])
@pytest.mark.parametrize("tail", [lw.Pose(), lw.Pose((0.3, 0.1, -0.2))], ids=["at origin", "away"])
def test_mujoco_agrees_on_each_joint_kind(kind, tail):
    axis = (0.6, 0.0, 0.8)
    moving = joint("a", kind, "world", "b", axis=axis, joint_H_second=tail)
    agree(both(chain(moving, joint("c", "revolute", "b", "d", joint_H_second=tail))))


def test_link_with_an_offset_from_its_joint_keeps_its_frame():
    tail = lw.Pose((0.3, 0.1, -0.2), (0.5, 0.2, -0.9))
    agree(
        both(chain(joint("a", "revolute", "world", "b", axis=(0, 0.6, 0.8), joint_H_second=tail)))
    )


def test_joint_toward_the_base_is_reversed():
    inward = joint("c", "revolute", "d", "b", axis=(0.6, 0, 0.8), joint_H_second=lw.Pose((1, 2, 3)))
    agree(both(chain(joint("a", "prismatic", "world", "b"), inward)))


def test_several_free_bodies_in_the_world():
    free = [lw.Joint(name=n, kind="floating", first="world", second=n.upper()) for n in "ab"]
    agree(both(chain(*free)))


@pytest.mark.parametrize("kind", ["universal", "planar"])
def test_joints_with_several_axes_are_written_as_several_joints(kind):
    """Poses and energies agree at equal positions of the joints."""
    model = chain(joint("a", kind, "world", "b", axis=(0.0, 0.6, 0.8)))
    with pytest.warns(lw.LinkworkWarning, match=f"{kind}.*two"):
        mj = compiled(lw.dump_mjcf(model))
    kd, data = lw.KinDyn(model, floating=False), mujoco.MjData(mj)
    q, nu = kd.random(seed=3), np.random.default_rng(0).normal(size=kd.nv)

    data.qpos[:] = q
    data.qvel[:] = kd.velocity_kinematics(q) @ nu
    mujoco.mj_forward(mj, data)

    assert_close(data.body("b").xpos, kd.transform("b", q)[:3, 3], 1e-12)
    assert_close(data.body("b").xmat, kd.transform("b", q)[:3, :3].ravel(), 1e-12)
    assert_close(data.energy[1], kd.kinetic_energy(q, nu), 1e-12)


@pytest.mark.parametrize("name", ["arm", "quadruped", "cartpole"])
def test_robot_is_read_back_from_mjcf(name):
    """Everything that MuJoCo supports is equal up to rounding; the remainder is removed before."""
    model = lw.robots.load(name)
    slow = [replace(j, limits=replace(j.limits, velocity=inf)) for j in model.joints]
    model = replace(model, joints=tuple(slow))
    again = lw.load(quietly(model))

    result = [d for d in differences(model, again, 1e-12) if d.what != "name"]
    # a fixed joint has no name in MJCF, and the center of mass of nothing no place
    fixed = {j.name for j in model.joints if j.is_fixed} | {
        j.name for j in again.joints if j.is_fixed
    }
    light = {link.name for link in model.links if not link.inertia.mass}
    left = [
        str(d)
        for d in result
        if not any(repr(name) in d.element for name in fixed)
        and not (d.what.startswith("center of mass") and any(repr(n) in d.element for n in light))
    ]
    assert left == []
    assert len(again.joints) == len(model.joints)
    shapes = [[len(one.visuals) + len(one.collisions) for one in m.links] for m in (model, again)]
    assert sorted(shapes[0]) == sorted(shapes[1])


def test_mjcf_is_converted_to_urdf_and_read_back():
    text = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="h" pos="0 .1 0"/>
    <joint name="s" type="slide" axis="1 0 0" range="-1 2"/><geom size=".1" mass="2"/>
    <body name="b" pos="0 .2 0"><joint name="k" axis="0 1 0" armature=".1" damping=".3"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" mass="1"/></body></body></worldbody>
    </mujoco>"""
    model = lw.load(text)
    again = load_quietly(lw.dump_urdf(model.rerooted()))
    twice = lw.load(quietly(again))

    kds = [lw.KinDyn(one, floating=False, joint_dynamics=True) for one in (model, again, twice)]
    q = kds[0].random(seed=0)
    assert [kd.joint_names for kd in kds] == [("h", "s", "k")] * 3
    for kd in kds[1:]:
        assert_close(kd.mass_matrix(q), kds[0].mass_matrix(q), 1e-12)
        assert_close(kd.gravity_force(q), kds[0].gravity_force(q), 1e-12)
    agree(both(model))


def quietly(model: lw.Model, **options) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        return lw.dump_mjcf(model, **options)


def test_frames_become_sites_and_limits_ranges():
    limits = lw.Limits(lower=-1.0, upper=2.0, effort=5.0)
    more = {"armature": 0.5, "damping": 0.25, "friction": 0.125}
    model = chain(joint("a", "revolute", "world", "b", limits=limits, **more))
    model = model.with_frame("tip", "b", lw.Pose((1, 2, 3), (0, 0, 0.5)))
    again = lw.load(lw.dump_mjcf(model))

    assert again.joint("a").limits == limits
    assert [getattr(again.joint("a"), name) for name in more] == list(more.values())
    assert again.frame("tip").link == "b"
    assert_close(again.frame("tip").link_H_frame.matrix(), model.frames[0].link_H_frame.matrix())


def test_dependent_joints_are_read_back():
    again = lw.load(quietly(lw.robots.load("arm")))

    mimic = lw.robots.load("arm").joint("right_finger_slide").mimic
    assert again.joint("right_finger_slide").mimic == mimic


def test_massless_moving_links_get_the_smallest_inertia_with_a_warning():
    model = chain(joint("a", "revolute", "world", "b"), joint("c", "revolute", "b", "d"))
    model = model.with_inertia("b", lw.Inertia())

    assert_facts(lost(model), [".*1e-14 kg.*: b$"])
    agree(both(model))


def test_links_fixed_to_a_massless_link_are_sufficient_inertia():
    model = chain(joint("a", "revolute", "world", "b"), joint("c", "fixed", "b", "d"))
    findings = lost(model.with_inertia("b", lw.Inertia()))
    assert_facts(findings, ["MuJoCo has no fixed joints.*names.*: c$"])


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (lw.Limits(velocity=1.0), "left out: .*velocity.*: a$"),
        (lw.Limits(lower=0.0), "limits on one side.*: a$"),
        (lw.Limits(effort=0.0), "an effort limit of 0.*1e-300: a$"),
        (lw.Limits(lower=-1e12, upper=1.0), r"limits beyond 1e\+10.*: a$"),
        (
            lw.Limits(lower=0.0, upper=0.0),
            "equal limits.*: a$",
        ),
    ],
)
def test_limits_that_mujoco_does_not_have_are_warnings(limits, text):
    model = chain(joint("a", "revolute", "world", "b", limits=limits))
    again = lw.load(quietly(model)).joint("a").limits

    assert_facts(lost(model), [text])
    for bound in ("lower", "upper", "effort"):
        kept = getattr(again, bound)
        assert kept == pytest.approx(getattr(limits, bound), abs=1e-300) or abs(kept) == 1e10


def test_different_order_of_joints_is_a_warning():
    star = [joint("a", "revolute", "world", "b"), joint("c", "revolute", "world", "d")]
    model = chain(*star, joint("e", "revolute", "b", "f"))

    assert_facts(lost(model), ["MuJoCo.*order.*: a, e, c$"])
    agree(both(model))


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (
            chain(joint("a", "helical", "world", "b", pitch=0.1)),
            "joint 'a': .*helical",
        ),
        (
            chain(joint("a", "revolute", "world", "b"), joint("c", "floating", "b", "d")),
            "joint 'c': .*float.*'b'",
        ),
        (
            chain(joint("a", "revolute", "b", "world"), joint("c", "revolute", "d", "b")),
            (r"link 'world': .*model\.renamed\(links="),
        ),
        (
            chain(joint("a", "revolute", "world", "b")).with_inertia(
                "b", lw.Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 5))
            ),
            ("link 'b': .*inertia.*repair=True.*--repair"),
        ),
        (
            lw.Model(name="r", links=(lw.Link(name="a\x1b", inertia=BALL),)),
            r"<body>: name 'a\\x1b'.*XML",
        ),
    ],
    ids=["helical", "floating", "world", "unphysical", "control character"],
)
def test_model_that_mujoco_cannot_express_is_rejected(model, text):
    with pytest.raises(lw.ModelError, match=text):
        lw.dump_mjcf(model)


def test_moments_at_the_triangle_inequality_are_accepted():
    plate = lw.Inertia(1.0, (0, 0, 0), (0.1, 0, 0, 0.2, 0, 0.1 + 0.2 + 1e-9))
    model = chain(joint("a", "revolute", "world", "b")).with_inertia("b", plate)

    assert "reduced" in lost(model)[0]
    assert_close(compiled(quietly(model)).body("b").inertia, [0.1, 0.2, 0.3], 1e-8)


def test_shapes_are_read_back(tmp_path):
    mesh = tmp_path / "tetra.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    red, at = lw.Material("red", (1.0, 0.0, 0.0, 1.0)), lw.Pose((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    visuals = (
        lw.Shape(lw.Box((1.0, 2.0, 3.0)), at, "box", red),
        lw.Shape(lw.Sphere(0.5), at, "ball", red),
        lw.Shape(lw.Mesh("package://x/tetra.obj", (1.0, 2.0, 0.5), str(mesh)), at, "mesh", red),
    )
    collisions = (lw.Shape(lw.Cylinder(0.5, 2.0), at, "can"), lw.Shape(lw.Capsule(0.5, 2.0), at))
    link = lw.Link(name="a", inertia=BALL, visuals=visuals, collisions=collisions)
    again = lw.load(lw.dump_mjcf(lw.Model(name="r", links=(link,)))).link("a")

    assert [shape.geometry for shape in again.visuals[:2]] == [s.geometry for s in visuals[:2]]
    assert again.visuals[2].geometry.path == str(mesh)
    assert again.visuals[2].geometry.scale == (1.0, 2.0, 0.5)
    assert [shape.geometry for shape in again.collisions] == [s.geometry for s in collisions]
    assert {shape.material for shape in again.visuals} == {red}
    for shape in (*again.visuals, *again.collisions):
        assert_close(shape.link_H_shape.matrix(), at.matrix(), 1e-6)  # a mesh is in floats


def test_meshes_that_mujoco_cannot_open_are_warnings(tmp_path):
    meshes = {
        "package://x/a.dae": str(tmp_path / "a.dae"),
        "b.stl": None,
    }
    shapes = [lw.Shape(lw.Mesh(name, path=path)) for name, path in meshes.items()]
    model = lw.Model(name="r", links=(lw.Link(name="a", inertia=BALL, visuals=tuple(shapes)),))

    messages = lost(model)
    assert re.search(r"cannot read .*\.stl, \.obj, \.msh.*: package://x/a\.dae", messages[0])
    assert_facts(messages[1], r"left out: .*not found: b\.stl$")
    assert_facts(lost(model, meshes=False), ["left out: meshes.*: a$"])
    compiled(quietly(model))


def test_file_is_written(tmp_path):
    path = tmp_path / "r.xml"
    model = lw.Model(name="r", links=(lw.Link(name="a", inertia=BALL),))

    assert lw.dump_mjcf(model, path) == path.read_text()
    with pytest.raises(lw.ArgumentError, match="Model"):
        lw.dump_mjcf("arm")


def poses_in_keyframe(text: str, name: str, links: list[str]) -> np.ndarray:
    """Poses of links with MuJoCo's coordinates of a keyframe."""
    mj = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    mujoco.mj_resetDataKeyframe(mj, data, mj.key(name).id)
    mujoco.mj_kinematics(mj, data)
    poses = np.tile(np.eye(4), (len(links), 1, 1))
    for pose, link in zip(poses, links, strict=True):
        pose[:3, :3] = data.body(link).xmat.reshape(3, 3)
        pose[:3, 3] = data.body(link).xpos
    return poses


TAIL = lw.Pose((0.3, 0.1, -0.2), (0.5, 0.2, -0.9))
KINDS = ("revolute", "revolute_cos_sin", "prismatic", "spherical", "universal", "planar")


@pytest.mark.parametrize(
    ("kind", "base"),
    [*((kind, base) for kind in KINDS for base in ("trunk", "world")), ("floating", "world")],
)
def test_named_configurations_become_keyframes(kind, base):
    model = chain(
        joint("a", kind, base, "b", axis=(0.6, 0, 0.8), joint_H_second=TAIL),
        joint("c", "revolute", "d", "b", axis=(0, 0.6, 0.8), joint_H_second=TAIL),
        joint("e", "revolute", "b", "f", mimic=lw.Mimic(joint="c", multiplier=-2.0, offset=0.3)),
    )
    kd = lw.KinDyn(model, floating=base == "trunk")
    positions = {name: kd.random(seed=3)[kd.layout.q[name]] for name in ("a", "c")}
    model = model.with_configuration("home", positions, link="d", world_H_link=TAIL)
    model = model.with_configuration("rest", {"c": 0.2})

    text = write_mjcf(model).text

    links = [name for name in model.link_names if name != "world"]
    floating = base == "trunk"
    for kd in (
        lw.KinDyn(model, floating=floating),
        lw.KinDyn(lw.load(text), floating=floating or kind == "floating"),
    ):
        for name in ("home", "rest"):
            expected = kd.transforms(kd.q(name), frames=links)
            found = poses_in_keyframe(text, name, links)
            np.testing.assert_allclose(found, expected, atol=1e-12)
