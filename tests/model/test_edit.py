"""Frames, payloads, other inertias, other names, robots on robots: what stays and what changes."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from tests.support.messages import assert_facts
from tests.support.models import (
    ALL_KINDS,
    assert_close,
    random_inertia,
    random_model,
    random_pose,
    random_q,
)
from tests.support.skeletons import frame_poses
from tests.support.spatial import pin

from linkwork import Inertia, Limits, Mimic, ModelBuilder, ModelError, NameNotFoundError, Pose
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.tree import tree_from

attached, renamed, with_frame = Model.attached, Model.renamed, Model.with_frame
with_inertia, with_payload = Model.with_inertia, Model.with_payload

SEEDS = range(6)
PREFIX_HINT = "prefix='left_'"

each_seed = pytest.mark.parametrize("seed", SEEDS)


def stick(name="stick", links=("handle", "tip")):
    builder = ModelBuilder(name)
    for link in links:
        builder.add_link(link, inertia=Inertia(1.0, (0.1, 0, 0), (0.1, 0, 0, 0.1, 0, 0.1)))
    builder.add_joint("hinge", "revolute", *links, first_H_joint=Pose(xyz=(1, 0, 0)))
    builder.add_frame("end", links[1], Pose(xyz=(0.5, 0, 0), rpy=(0, 0, np.pi / 2)))
    return builder.build()


def poses_of(model, q, base=None, *, floating=True):
    found = frame_poses(tree_from(model, base), Layout(model, floating=floating), q)
    return dict(zip(model.frame_names, found, strict=True))


def whole_inertia(model, poses):
    """Spatial inertia of the whole robot about the origin of the world, by Pinocchio."""
    total = pin.Inertia.Zero()
    for link in model.links:
        inertia = pin.Inertia(link.inertia.mass, np.array(link.inertia.com), link.inertia.matrix())
        total += pin.SE3(poses[link.name]).act(inertia)
    return total.matrix()


def refusal(call, error=ModelError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@each_seed
def test_a_further_frame_is_where_it_was_put_and_changes_nothing_else(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 10)
    q, place = random_q(Layout(model), rng), random_pose(rng)
    before = poses_of(model, q)

    for host in model.frame_names:  # links and additional frames
        more = with_frame(model, "new", host, place.matrix() if seed % 2 else place)
        after = poses_of(more, q)

        assert more.frame_names == (*model.frame_names, "new")
        assert (more.links, more.joints) == (model.links, model.joints)
        assert_close(after.pop("new"), before[host] @ place.matrix(), rtol=1e-13)
        assert all(np.array_equal(after[name], before[name]) for name in before)


@pytest.mark.peers
@each_seed
def test_a_payload_adds_its_own_inertia_where_it_is_held_and_no_more(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 10)
    q, load = random_q(Layout(model), rng), random_inertia(rng)
    poses = poses_of(model, q)
    held = pin.Inertia(load.mass, np.array(load.com), load.matrix())

    for host in model.frame_names:
        loaded = with_payload(model, host, load)
        expected = whole_inertia(model, poses) + pin.SE3(poses[host]).act(held).matrix()

        assert_close(whole_inertia(loaded, poses), expected, rtol=1e-13)
        assert_close(loaded.total_mass, model.total_mass + load.mass, rtol=4e-15)
        changed = [a.name for a, b in zip(loaded.links, model.links, strict=True) if a != b]
        assert changed == [model.frame(host).link]
        assert (loaded.joints, loaded.frames) == (model.joints, model.frames)


def test_another_inertia_replaces_that_of_one_link(rng):
    model = random_model(rng, 8)
    other = random_inertia(rng)

    changed = with_inertia(model, "link3", other)

    assert changed.link("link3").inertia == other
    assert with_inertia(changed, "link3", model.link("link3").inertia) == model


@each_seed
def test_an_attached_robot_moves_as_it_did_and_sits_where_it_was_put(seed):
    rng = np.random.default_rng(seed)
    body, tool = random_model(rng, 8), random_model(rng, 7)
    host, seat, place = rng.choice(body.frame_names), rng.choice(tool.link_names), random_pose(rng)
    both = attached(body, tool, to=host, joint="bridge", pose=place, link=seat, prefix="t_")
    q_body = random_q(Layout(body), rng)
    q_tool = random_q(Layout(tool, floating=False), rng)

    base = body.default_base
    after = poses_of(both, np.concatenate([q_body, q_tool]), base)

    before = poses_of(body, q_body, base)
    for name, pose in before.items():
        assert_close(after[name], pose, rtol=1e-13)
    for name, pose in poses_of(tool, q_tool, str(seat), floating=False).items():
        expected = before[host] @ place.matrix() @ pose
        assert_close(after[f"t_{name}"], expected, rtol=1e-12)
    assert_close(both.total_mass, body.total_mass + tool.total_mass, rtol=4e-15)
    assert both.joint_names == (
        *body.joint_names, "bridge", *(f"t_{name}" for name in tool.joint_names)
    )  # fmt: skip


def test_a_robot_can_be_attached_by_a_joint_that_moves():
    both = attached(stick(), stick(), to="end", joint="spin", kind="revolute", prefix="b_")
    layout = Layout(both, floating=False)

    poses = poses_of(both, [0.0, np.pi / 2, 0.0], floating=False)

    assert layout.joint_names == ("hinge", "spin", "b_hinge")
    assert both.default_base == "handle"
    # the end points along y, the joint turns by another quarter: the second stick points along -x
    assert_close(poses["b_end"][:3, 3], [1.5 - 1.5, 0, 0], rtol=4e-15, scale=1.0)


def test_attaching_takes_dependent_joints_along():
    builder = ModelBuilder("gripper")
    for link in ("palm", "left", "right"):
        builder.add_link(link)
    builder.add_joint("open", "prismatic", "palm", "left")
    builder.add_joint(
        "close", "prismatic", "palm", "right", mimic=Mimic(joint="open", multiplier=-1)
    )

    both = attached(stick(), builder.build(), to="end", joint="wrist", prefix="g_")

    follower = Layout(both).followers["g_close"]
    assert (follower.leader, follower.multiplier) == ("g_open", -1.0)


def test_robots_that_share_names_cannot_be_attached_without_a_prefix():
    text = refusal(lambda: attached(stick(), stick(), to="end", joint="wrist"))

    facts = [
        f"  link 'handle': .*taken.*{PREFIX_HINT}",
        f"  link 'tip': .*taken.*{PREFIX_HINT}",
        f"  joint 'hinge': .*taken.*{PREFIX_HINT}",
        f"  frame 'end': .*taken.*{PREFIX_HINT}",
    ]
    assert_facts(text.splitlines()[1:], facts)


def test_sharing_the_mounted_link_is_sharing_a_name():
    """Not a link joined to itself: the two robots have different links of one name."""
    text = refusal(lambda: attached(stick(), stick(), to="handle", joint="wrist"))
    assert re.search(f"link 'handle': .*taken.*{PREFIX_HINT}", text)


def test_a_prefix_is_not_advised_where_the_new_joint_itself_has_a_taken_name():
    text = refusal(lambda: attached(stick(), stick(), to="end", joint="hinge", prefix="b_"))
    assert re.match("joint 'hinge': .*taken", text)
    assert "prefix" not in text


@each_seed
def test_other_names_change_nothing_but_names(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 12)
    q = random_q(Layout(model), rng)
    swapped = {"link0": "link1", "link1": "link0"}

    other = renamed(
        model,
        name="twin",
        links=swapped,
        joints={"joint2": "j"},
        frames={"frame0": "f"},
        prefix="x/",
    )

    def new(name):
        return "x/" + {**swapped, "joint2": "j", "frame0": "f"}.get(name, name)

    assert other.name == "twin"
    assert other.frame_names == tuple(map(new, model.frame_names))
    assert other.joint_names == tuple(map(new, model.joint_names))
    for ours, theirs in zip(model.joints, other.joints, strict=True):
        assert (theirs.first, theirs.second) == (new(ours.first), new(ours.second))
        assert (theirs.mimic and theirs.mimic.joint) == (ours.mimic and new(ours.mimic.joint))
    before, after = poses_of(model, q), poses_of(other, q, new(model.default_base))
    assert all(np.array_equal(after[new(name)], before[name]) for name in before)
    assert other.total_mass == model.total_mass


def test_renaming_back_gives_the_same_robot(rng):
    model = random_model(rng, 8)
    there = renamed(model, links={"link2": "hand"}, joints={"joint0": "neck"})

    assert renamed(there, links={"hand": "link2"}, joints={"neck": "joint0"}) == model
    assert renamed(model) == model


def test_limits_of_some_joints_are_changed_and_nothing_else(rng):
    model = random_model(rng, 8)
    first, second = [joint.name for joint in model.joints if joint.motion_kind.nv == 1][:2]
    old = model.joint(first).limits

    changed = model.with_limits(
        position={first: (-0.5, np.float32(0.25))}, velocity={first: 3}, effort={second: inf}
    )

    expected = Limits(lower=-0.5, upper=0.25, velocity=3.0, effort=old.effort)
    assert changed.joint(first).limits == expected
    assert changed.joint(second).limits == replace(model.joint(second).limits, effort=inf)
    bounds = (old.lower, old.upper)
    effort = {second: model.joint(second).limits.effort}
    back = changed.with_limits(
        position={first: bounds}, velocity={first: old.velocity}, effort=effort
    )
    assert back == model
    assert model.with_limits() == model


@pytest.mark.parametrize(
    ("edit", "error", "text"),
    [
        (lambda m: m.with_limits(effort={"hing": 1}), NameNotFoundError, "'hing'.*'hinge'"),
        (lambda m: m.with_limits(position={"hinge": (2, 1)}), ModelError, "joint 'hinge'.*2.*1"),
        (lambda m: m.with_limits(position={"hinge": 2}), ModelError, "joint 'hinge'.*upper.*2"),
        (lambda m: m.with_limits(velocity={"hinge": "2"}), ModelError, "joint 'hinge'.*'2'"),
        (lambda m: m.with_limits(effort={"hinge": np.nan}), ModelError, "joint 'hinge'.*effort"),
        (
            lambda m: with_frame(m, "new", "tipp"),
            NameNotFoundError,
            "frame.*'tipp'.*'tip'",
        ),
        (lambda m: with_frame(m, "end", "tip"), ModelError, "frame 'end': .*taken"),
        (
            lambda m: with_frame(m, "tip", "handle"),
            ModelError,
            "frame 'tip': .*link.*name",
        ),
        (
            lambda m: with_inertia(m, "end", Inertia()),
            NameNotFoundError,
            "link.*'end'.*handle, tip",
        ),
        (
            lambda m: with_payload(m, "hand", Inertia()),
            NameNotFoundError,
            "frame.*'hand'.*'handle'",
        ),
        (
            lambda m: attached(m, m, to="ends", joint="j", prefix="b_"),
            NameNotFoundError,
            "frame.*'ends'.*'end'",
        ),
        (
            lambda m: attached(m, m, to="end", joint="j", link="tipp", prefix="b_"),
            NameNotFoundError,
            "link.*'tipp'.*'tip'",
        ),
        (
            lambda m: attached(m, m, to="end", joint="j", kind="glued", prefix="b_"),
            ModelError,
            f"joint 'j': .*'glued'.*{', '.join(sorted(ALL_KINDS))}",
        ),
        (
            lambda m: renamed(m, links={"tipp": "x"}),
            NameNotFoundError,
            "link.*'tipp'.*'tip'",
        ),
        (
            lambda m: renamed(m, joints={"tip": "x"}),
            NameNotFoundError,
            "joint.*'tip'.*hinge",
        ),
        (
            lambda m: renamed(m, frames={"tip": "x"}),
            NameNotFoundError,
            "frame.*'tip'.*end",
        ),
        (
            lambda m: renamed(m, frames={"end": "tip"}),
            ModelError,
            "frame 'tip': .*link.*name",
        ),
        (
            lambda m: renamed(m, links={"tip": "handle"}),
            ModelError,
            "link 'handle': .*taken",
        ),
        (
            lambda m: renamed(m, name=""),
            ModelError,
            ".*name of a model.*empty.*''",
        ),
    ],
)
def test_edits_that_make_no_sense_are_refused(edit, error, text):
    assert re.search(text, refusal(lambda: edit(stick()), error))


def test_nothing_changes_the_model_it_is_given(rng):
    model, other = random_model(rng, 8), stick()
    twins = copy.deepcopy(model), stick()
    matrix = np.eye(4)

    with_frame(model, "new", "frame0", matrix)
    with_payload(model, "frame1", random_inertia(rng))
    with_inertia(model, "link0", Inertia())
    renamed(model, prefix="x", links={"link0": "y"})
    other.with_limits(effort={"hinge": 1})
    attached(model, other, to="frame0", joint="bridge", pose=matrix)

    assert (model, other) == twins
    assert np.array_equal(matrix, np.eye(4))


def test_what_is_attached_without_a_joint_sits_on_a_fixed_one():
    model, other = stick(), stick().renamed(prefix="other_")
    joined = model.attached(other, to=model.link_names[-1])
    (bridge,) = (joint for joint in joined.joints if joint.first == model.link_names[-1])
    assert bridge.kind == "fixed"
    assert bridge.name == f"{model.link_names[-1]}_to_{other.default_base}"
    assert joined.total_mass == pytest.approx(2 * model.total_mass)
    named = model.attached(other, to=model.link_names[-1], joint=bridge.name)
    assert named == joined


def test_edits_of_a_model_can_be_chained():
    model = stick()
    box = Inertia(0.5, (0.0, 0.0, 0.1), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    changed = model.with_frame("point", model.link_names[-1]).with_payload("point", box).lumped()
    assert changed.total_mass == pytest.approx(model.total_mass + 0.5)
    assert "point" in changed.frame_names
