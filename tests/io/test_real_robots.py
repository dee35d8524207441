"""All robots of two packages of real robots, against Pinocchio."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from tests.support.real_robots import FILES, ROBOT_FILES, WITHOUT_LINKS, label, load_quietly
from tests.support.skeletons import frame_poses

import linkwork as lw
from linkwork.io.load import read
from linkwork.model.check import unphysical_links
from linkwork.model.geometry import Mesh
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

pytestmark = pytest.mark.peers

every_robot = pytest.mark.parametrize("path", ROBOT_FILES, ids=label)


def test_packages_have_84_robots_in_85_files():
    assert (len(FILES), len(ROBOT_FILES)) == (85, 84)


def test_file_without_links_is_rejected():
    path = next(path for path in FILES if path.name == WITHOUT_LINKS)

    with pytest.raises(lw.ParseError, match="no links"):
        lw.load(path)


@every_robot
def test_mass_and_link_poses_agree_with_pinocchio(path):
    model = load_quietly(path, mimic=False)
    peer = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = peer.createData()
    layout, tree = Layout(model), tree_from(model)

    assert model.total_mass == pytest.approx(pin.computeTotalMass(peer), rel=1e-12)
    bound, peer_qs = np.full(peer.nq, 3.0), []
    for seed in range(3):
        pin.seed(seed)
        peer_qs.append(pin.randomConfiguration(peer, -bound, bound))
    q = np.stack([from_pinocchio(peer, layout, peer_q) for peer_q in peer_qs])
    for peer_q, poses in zip(peer_qs, frame_poses(tree, layout, q), strict=True):
        pin.framesForwardKinematics(peer, data, peer_q)
        ids = [peer.getFrameId(name, pin.FrameType.BODY) for name in model.link_names]
        expected = np.array([data.oMf[index].homogeneous for index in ids])
        np.testing.assert_allclose(poses[: len(ids)], expected, rtol=0, atol=1e-10)


def from_pinocchio(peer, layout, peer_q):
    """Convert q: quaternion wxyz, joints by name, one angle for a continuous joint."""
    q = layout.neutral()
    q[:3], q[3], q[4:7] = peer_q[:3], peer_q[6], peer_q[3:6]
    for name, where in layout.q.items():
        joint = peer.joints[peer.getJointId(name)]
        value = peer_q[joint.idx_q : joint.idx_q + joint.nq]
        q[where] = np.arctan2(value[1], value[0]) if joint.nq == 2 else value
    return q


@every_robot
def test_writing_and_reading_returns_an_equal_model(path):
    models = {load_quietly(path, mimic=mimic) for mimic in (True, False)}  # one, if none mimics

    for model in models:
        assert load_quietly(lw.dump_urdf(model)) == model


@every_robot
def test_every_link_and_joint_of_the_file_is_in_the_model(path):
    text = path.read_bytes()
    model = load_quietly(path)
    peer = pin.buildModelFromUrdf(str(path))

    bodies = [frame.name for frame in peer.frames if frame.type == pin.FrameType.BODY]
    assert sorted(model.link_names) == sorted(bodies)
    places = [text.find(b'name="' + name.encode() + b'"') for name in model.link_names]
    assert -1 not in places


def test_44_links_have_unphysical_inertias_and_all_are_repaired():
    broken = [link for path in ROBOT_FILES for link in unphysical_links(load_quietly(path).links)]
    mended = [
        link
        for path in ROBOT_FILES
        for link in unphysical_links(load_quietly(path, repair=True).links)
    ]

    assert (len(broken), len(mended)) == (44, 0)


def test_most_meshes_are_found_and_the_others_have_searched_paths():
    """Both packages contain the meshes of all robots except two."""
    meshes = [
        shape.geometry
        for path in ROBOT_FILES
        for link in load_quietly(path).links
        for shape in (*link.visuals, *link.collisions)
        if isinstance(shape.geometry, Mesh)
    ]
    result = [mesh for mesh in meshes if mesh.path is not None]

    assert len(result) > 0.9 * len(meshes)
    assert all(Path(mesh.path or "").is_file() for mesh in result)
    assert all(mesh.searched for mesh in meshes)


def test_file_and_its_content_are_the_same_robot():
    path = ROBOT_FILES[0]

    assert read(path).model == read(path.read_text()).model


@every_robot
def test_pinocchio_reads_what_linkwork_writes(path):
    """urdfdom, which Pinocchio uses, rejects joints without limits, effort or velocity."""
    model = load_quietly(path, mimic=False)
    without_limits = replace(
        model, joints=tuple(replace(joint, limits=lw.Limits()) for joint in model.joints)
    )

    for written in (model, without_limits):
        peer = pin.buildModelFromXML(lw.dump_urdf(written), pin.JointModelFreeFlyer())
        assert peer.nv == Layout(written).nv
        assert pin.computeTotalMass(peer) == pytest.approx(written.total_mass, rel=1e-12)


@pytest.mark.parametrize("name", ["talos_reduced", "solo12", "panda", "romeo", "ur5_robot"])
def test_pinocchio_reads_a_robot_that_went_through_mjcf(name):
    """MJCF has no velocity limits, and MuJoCo's compiler removes others."""
    path = next(path for path in ROBOT_FILES if path.stem == name)
    model = load_quietly(path, mimic=False)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        returned = lw.load(lw.dump_mjcf(model, meshes=False)).rerooted()
    peer = pin.buildModelFromXML(lw.dump_urdf(returned), pin.JointModelFreeFlyer())

    assert peer.nv == Layout(model).nv
    assert pin.computeTotalMass(peer) == pytest.approx(model.total_mass, rel=1e-9)


def test_pinocchio_reads_capsules_and_armatures_that_linkwork_writes():
    builder = lw.ModelBuilder("arm")
    capsule = lw.Shape(lw.Capsule(0.1, 0.4))
    builder.add_link("base")
    builder.add_link("tip", inertia=lw.Inertia(1.0), collisions=(capsule,))
    builder.add_joint("slide", "prismatic", "base", "tip", armature=0.3)
    text = lw.dump_urdf(builder.build())

    peer = pin.buildModelFromXML(text)
    shapes = pin.buildGeomFromUrdfString(peer, text, pin.GeometryType.COLLISION)

    assert lw.load(text) == builder.build()
    assert [shape.geometry.halfLength for shape in shapes.geometryObjects] == [0.2]
