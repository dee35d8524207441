"""Models with closed loops and constraints: the spanning tree, printing, editing, errors."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import linkwork as lw
from linkwork.model.describe import differences
from linkwork.model.graph import closing_joints


def ring(kinds="rrrr", **options):
    """Links a, b, c, ... joined to a ring by joints ab, bc, ..."""
    names = "abcdefgh"[: len(kinds)]
    builder = lw.ModelBuilder("ring")
    for name in names:
        builder.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3)))
    full = {"r": "revolute", "s": "spherical", "u": "universal", "f": "fixed"}
    for k, kind in enumerate(kinds):
        first, second = names[k], names[(k + 1) % len(names)]
        builder.add_joint(first + second, full[kind], first, second, **options)
    return builder.build()


def names(joints):
    return [joint.name for joint in joints]


def test_a_model_with_a_loop_has_one_joint_more_than_its_tree():
    model = ring()
    assert model.n_loops == 1
    assert "1 closed loop" in repr(model)
    assert pickle.loads(pickle.dumps(model)) == model
    assert "closed loop" in lw.describe(model)
    assert not [finding for finding in lw.check(model) if finding.severity == "error"]


@pytest.mark.parametrize(
    ("kinds", "base", "candidates"),
    [
        ("rrrr", "a", ["bc", "cd"]),  # the most distant ones
        ("rrrr", "c", ["da", "ab"]),
        ("rrsr", "a", ["cd"]),  # the most degrees of freedom
        ("srrr", "a", ["ab"]),
        ("rurs", "a", ["da"]),
        ("rrfr", "a", ["bc"]),  # fixed joints are cut last
    ],
)
def test_the_spanning_tree_leaves_out_free_and_distant_joints(kinds, base, candidates):
    [joint] = closing_joints(ring(kinds), base)
    assert joint.name in candidates


def test_the_user_chooses_what_is_cut():
    model = ring("rrsr")
    assert names(closing_joints(model, cut=["ab"])) == ["ab"]
    assert lw.KinDyn(model, floating=False, cut=["ab"]).joint_names == ("bc", "cd", "da")
    with pytest.raises(lw.NameNotFoundError, match="zz"):
        lw.KinDyn(model, floating=False, cut=["zz"])
    with pytest.raises(lw.ModelError, match=r"('ab'|'bc'): cannot be cut"):
        lw.KinDyn(model, floating=False, cut=["ab", "bc"])


def test_joints_that_mimic_are_not_cut():
    model = ring()
    follower = lw.Joint(
        name="cd", kind="revolute", first="c", second="d", mimic=lw.Mimic(joint="bc")
    )
    joints = tuple(follower if joint.name == "cd" else joint for joint in model.joints)
    changed = lw.Model(name="m", links=model.links, joints=joints)
    assert names(closing_joints(changed, "a"))[0] in ("ab", "da")


def test_coupled_joints_are_not_cut():
    model = ring().with_constraint("coupling", "bc", "cd", coefficients=(0.0, 1.0))
    assert names(closing_joints(ring(), "a")) == ["cd"]
    assert names(closing_joints(model, "a")) == ["da"]
    with pytest.raises(lw.ModelError, match="coupled to another"):
        closing_joints(model, "a", cut=["bc"])


def test_constraints_are_checked_and_edited():
    model = ring("rrr")
    tied = model.with_constraint("point", "b", name="tie", first_xyz=(1, 2, 3))
    assert tied.constraints[0].second is None
    assert "constraint" in repr(tied)
    assert "tie" in lw.describe(tied)
    assert tied.renamed(prefix="x_").constraints[0].first == "x_b"
    assert differences(model, tied)[0].element == "constraint 'tie'"
    geared = model.with_constraint("coupling", "ab", "bc", coefficients=(0.1, 2.0))
    assert geared.constraints[0].name == "ab_to_bc"
    for arguments, fact in (
        (("point", "zz"), "zz"),
        (("coupling", "ab", "zz"), "zz"),
        (("pose", "b", "b"), "b"),
        (("coupling", "ab", "bc"), "coefficients"),
        (("hinge", "b", "c"), "hinge"),
    ):
        options = {"coefficients": (0, 1)} if fact == "zz" and arguments[0] == "coupling" else {}
        with pytest.raises(lw.ModelError, match=fact):
            model.with_constraint(*arguments, **options)
    with pytest.raises(lw.ModelError, match="tie"):
        tied.with_constraint("point", "b", name="tie")


def test_lumped_and_rerooted_models_keep_their_loops():
    model = ring("rfrr").with_constraint("pose", "b", "d", name="tie", first_xyz=(0.1, 0, 0))
    assert model.lumped().n_loops == 1
    assert model.rerooted("c").n_loops == 1
    for changed in (model.lumped(), model.rerooted("c")):
        assert names(changed.constraints) == ["tie"]


@pytest.mark.parametrize("tied", [False, True])
def test_what_cannot_represent_loops_raises(tied, tmp_path):
    """Nothing drops a closing joint or a constraint silently."""
    model = ring("rrr")
    if tied:
        tree = lw.Model(name="chain", links=model.links, joints=model.joints[:2])
        model = tree.with_constraint("point", "c", name="ca")
    from linkwork.compat.idyntree.conversion import as_in_idyntree
    from linkwork.export.pinnzoo.state_space import in_state_order

    for convert in (
        lw.dump_urdf,
        as_in_idyntree,
        in_state_order,
        lambda robot: lw.dump_workcell(lw.WorkCell("cell").with_robot("robot", robot)),
    ):
        with pytest.raises(lw.ModelError, match=r"'(ab|bc|ca)'"):
            convert(model)


def test_linear_couplings_are_written_as_mimic():
    chain = lw.Model(name="chain", links=ring("rrr").links, joints=ring("rrr").joints[:2])
    coupled = chain.with_constraint("coupling", "bc", "ab", coefficients=(0.1, -2.0, 0.0))
    with pytest.warns(lw.LinkworkWarning, match=r"mimic.*: bc_to_ab"):
        read = lw.load(lw.dump_urdf(coupled))

    assert read.joint("bc").mimic == lw.Mimic(joint="ab", multiplier=-2.0, offset=0.1)
    for coefficients, second in (((0.1, -2.0, 0.3), "ab"), ((0.1,), None)):
        other = chain.with_constraint("coupling", "bc", second, name="x", coefficients=coefficients)
        with pytest.raises(lw.ModelError, match=r"'x'.*coupling"):
            lw.dump_urdf(other)


def test_actuated_joints_stay_in_the_tree_and_are_those_of_inverse_dynamics():
    plain = ring("rrr")
    (closing,) = lw.KinDyn(plain).closing_joints
    joints = [replace(joint, actuated=joint == closing) for joint in plain.joints]
    model = replace(plain, joints=tuple(joints))

    assert model.actuated == (closing.name,)
    assert closing.name in lw.KinDyn(model).joint_names
    assert lw.KinDyn(model).constrained().actuated == (closing.name,)
    assert lw.KinDyn(model, cut=[closing.name]).constrained().actuated is None
    assert model.renamed(prefix="x_").actuated == (f"x_{closing.name}",)


def test_actuated_joints_are_not_known_unless_they_are_of_every_joint():
    plain = ring("rrr")
    known = replace(plain, joints=tuple(replace(joint, actuated=True) for joint in plain.joints))

    assert plain.actuated is None
    assert lw.KinDyn(plain).constrained().actuated is None
    assert known.attached(ring("rrr"), to="a", prefix="other_", kind="revolute").actuated is None
    assert "motor" in {difference.what for difference in differences(plain, known)}
    with pytest.raises(lw.ModelError, match="actuated"):
        replace(plain.joints[0], kind="fixed", actuated=True)
