"""The places of the coordinates of a robot, and joints that have none."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.models import assert_close, random_model
from tests.support.skeletons import frame_poses

from linkwork import Joint, Mimic, Model, ModelBuilder, NameNotFoundError
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

each_seed = pytest.mark.parametrize("seed", range(8))


def linkage(*mimics):
    """A row of links joined by revolute joints j0, j1, ..., some of them dependent."""
    builder = ModelBuilder("linkage")
    builder.add_link("l0")
    for number, mimic in enumerate(mimics):
        builder.add_link(f"l{number + 1}")
        ends = (f"l{number}", f"l{number + 1}")
        builder.add_joint(f"j{number}", "revolute", *ends, mimic=mimic)
    return builder.build()


@each_seed
@pytest.mark.parametrize("floating", [True, False])
def test_slices_partition_q_and_nu(seed, floating):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 20)
    layout = Layout(model, floating=floating)
    assert tuple(layout.q) == tuple(layout.nu) == layout.joint_names

    q = [layout.base_position, layout.base_wxyz, *layout.q.values()]
    nu = [layout.base_velocity, *layout.nu.values()]

    for slices, size in ((q, layout.nq), (nu, layout.nv)):
        taken = [place for at in slices for place in range(size)[at]]
        assert taken == list(range(size))
    for name in layout.joint_names:
        joint = model.joint(name)
        assert layout.q[name].stop - layout.q[name].start == joint.nq > 0
        assert layout.nu[name].stop - layout.nu[name].start == joint.nv > 0
    assert layout.neutral().shape == (layout.nq,)


def test_coordinates_stand_in_the_order_of_the_joints_whatever_the_base(rng):
    model = random_model(rng, 20, mimic=False)

    names = Layout(model).joint_names

    assert names == tuple(joint.name for joint in model.joints if joint.kind != "fixed")


def test_rest_puts_both_sides_of_every_joint_together(rng):
    model = random_model(rng, 12, mimic=False)
    layout = Layout(model, floating=False)
    poses = dict(
        zip(model.frame_names, frame_poses(tree_from(model), layout, layout.neutral()), strict=True)
    )

    for joint in model.joints:
        near = poses[joint.first] @ joint.first_H_joint.matrix() @ joint.joint_H_second.matrix()
        assert_close(near, poses[joint.second], rtol=1e-13)


def test_chains_of_dependent_joints_are_resolved():
    model = linkage(
        Mimic(joint="j1", multiplier=2.0, offset=0.5),
        Mimic(joint="j2", multiplier=-3.0, offset=0.25),
        None,
        Mimic(joint="j0", multiplier=0.5),
    )
    layout = Layout(model, floating=False)

    followers = {n: (f.leader, f.multiplier, f.offset) for n, f in layout.followers.items()}

    # j1 = -3 s + 0.25, j0 = 2 j1 + 0.5, j3 = j0 / 2
    assert followers == {
        "j0": ("j2", -6.0, 1.0), "j1": ("j2", -3.0, 0.25), "j3": ("j2", -3.0, 0.5)
    }  # fmt: skip
    assert (layout.joint_names, layout.nq, layout.nv) == (("j2",), 1, 1)
    assert [layout.theta(np.array([0.1]), f"j{k}").item() for k in range(4)] == pytest.approx(
        [0.4, -0.05, 0.1, 0.2], rel=1e-15
    )


@pytest.mark.parametrize("floating", [True, False])
def test_joints_without_a_coordinate_say_why(floating):
    builder = ModelBuilder("m")
    for link in "abcd":
        builder.add_link(link)
    builder.add_joint("leader", "prismatic", "a", "b")
    builder.add_joint("follower", "revolute", "b", "c", mimic=Mimic(joint="leader"))
    builder.add_joint("weld", "fixed", "c", "d")
    layout = Layout(builder.build(), floating=floating)
    texts = {
        "follower": "joint 'follower'.*mimics 'leader'",
        "weld": "joint 'weld'.*fixed",
        "leadr": "joint.*'leadr'.*'leader'",
    }
    for slices in (layout.q, layout.nu, pickle.loads(pickle.dumps(layout)).q):
        for name, text in texts.items():
            with pytest.raises(NameNotFoundError, match=text):
                slices[name]
        assert "follower" not in slices
    assert layout.theta(np.zeros((5, layout.nq)), "weld").shape == (5, 0)
    with pytest.raises(NameNotFoundError, match=r"joint.*'lead'.*'leader'"):
        layout.theta(np.zeros(layout.nq), "lead")


def test_layouts_of_equal_models_are_equal():
    assert Layout(linkage(None)) == Layout(linkage(None))
    assert hash(Layout(linkage(None))) == hash(Layout(linkage(None)))
    assert Layout(linkage(None)) != Layout(linkage(None), floating=False)


def test_a_chain_of_5000_dependent_joints_is_resolved():
    names = [f"j{number}" for number in range(5000)]
    mimics = [None, *(Mimic(joint=name, offset=1.0) for name in names[:-1])]
    model = linkage(*mimics)

    assert Layout(model).followers["j4999"].offset == 4999.0


def test_model_of_joints_given_directly_equals_the_built_one():
    built = linkage(None, None)
    direct = Model(
        name="linkage",
        links=built.links,
        joints=[
            Joint(name=f"j{k}", kind="revolute", first=f"l{k}", second=f"l{k + 1}") for k in (0, 1)
        ],
    )
    assert direct == built
