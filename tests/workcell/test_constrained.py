"""Constrained dynamics of cells: grasps with two arms, contacts, and states with other grasps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw
from linkwork.model.inertia import moved
from linkwork.model.pose import as_pose

BOX = lw.solid_box(2.0, (0.1, 0.2, 0.3), com=(0.01, -0.02, 0.03))
ON_B = lw.Pose((0.8, 0.0, 0.0), (0.0, 0.1, 0.3))
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0))


def arm():
    """Four joints, with armature and damping, and a tool."""
    b = lw.ModelBuilder("arm")
    b.add_link("base", inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3)))
    before = "base"
    for k, axis in enumerate(AXES):
        b.add_link(f"l{k}", inertia=lw.solid_box(1.0 + k, (0.1, 0.2, 0.3), com=(0.1, 0.0, 0.1)))
        pose = lw.Pose((0.1, 0.0, 0.3))
        own = {"axis": axis, "first_H_joint": pose, "damping": 0.3, "armature": 0.1}
        b.add_joint(f"j{k}", "revolute", before, f"l{k}", **own)
        before = f"l{k}"
    b.add_frame("tool", before, lw.Pose((0.0, 0.0, 0.2), (0.1, 0.2, 0.3)))
    return b.build()


def two_arms(*, floating=False):
    cell = lw.WorkCell("two arms").with_robot("a", arm(), end="tool", floating=floating)
    cell = cell.with_robot("b", arm(), parent_H_base=ON_B, end="tool")
    on_table = lw.Pose((0.3, 0.3, 0.8), (0.1, 0.2, 0.3))
    options = {"movable": True, "attachable": True, "inertia": BOX}
    return cell.with_frame("box", parent_H_frame=on_table, **options)


def posed(cell, rng):
    """A state with random positions of the arms, and of the base of a floating one."""
    q = rng.normal(size=cell.device("a").nq)
    if len(q) > 4:
        q[3:7] /= np.linalg.norm(q[3:7])
    return cell.state({"a": q, "b": rng.normal(size=4)})


def held(cell, state, kind="pose", **options):
    """The cell with b.tool at the box, where it is in a state."""
    target = cell.frame_H_frame("box", "b.tool", state)
    return cell.constrained([lw.Contact("b.tool", kind, reference="box", target=target)], **options)


@pytest.fixture(scope="module")
def cell():
    return two_arms()


@pytest.fixture(scope="module")
def state(cell):
    return cell.grip(posed(cell, np.random.default_rng(3)), "box", "a.tool")


@pytest.fixture(scope="module")
def dyn(cell, state):
    return held(cell, state, actuated=["a", "b.l0"], stabilization=5.0)


@pytest.fixture(scope="module")
def point_dyn(cell, state):
    """With three equations, which are independent wherever the box is."""
    return held(cell, state, "point", actuated=["a", "b.l0"], stabilization=5.0)


@pytest.fixture(scope="module")
def motion(dyn):
    """nu and tau."""
    return np.random.default_rng(4).normal(size=(2, dyn.nv))


def one_model(cell, state):
    """Both arms and the box in one model, with the loop as a constraint of the model."""
    b = lw.ModelBuilder("one")
    b.add_link("WORLD")
    model = b.build().attached(arm(), to="WORLD", prefix="a.")
    model = model.attached(arm(), to="WORLD", prefix="b.", pose=ON_B)
    b = lw.ModelBuilder("object")
    b.add_link("box", inertia=BOX)
    model = model.attached(b.build(), to="a.tool", pose=cell.frame_H_frame("a.tool", "box", state))
    target = as_pose(cell.frame_H_frame("box", "b.tool", state))
    pose = {"first_xyz": target.xyz, "first_rpy": target.rpy}
    return model.with_constraint("pose", "box", "b.tool", name="b.tool", **pose)


def agree(actual, expected):
    """Arrays or tuples of arrays that are equal, except for rounding."""
    if not isinstance(expected, tuple):
        actual, expected = (actual,), (expected,)
    for one, other in zip(actual, expected, strict=True):
        assert_close(one, other, 1e-12, scale=max(1.0, np.abs(other).max(initial=0.0)))


def test_two_arm_grasp_is_one_model_with_a_loop(cell, state, dyn, motion):
    kd = lw.KinDyn(one_model(cell, state), "WORLD", floating=False)
    actuated = [f"a.j{k}" for k in range(4)] + ["b.j0"]
    expected = kd.constrained(actuated=actuated, stabilization=5.0)
    nu, tau = motion
    moved = dyn.set_q(state, dyn.get_q(state) + 0.01)  # where the loop has an error
    q, w = dyn.get_q(moved), {"box": np.arange(6.0)}
    assert dyn.rows == expected.rows
    assert dyn.actuated == ("a.l0", "a.l1", "a.l2", "a.l3", "b.l0")
    calls = {
        "error": (),
        "bias": (nu,),
        "project_velocity": (nu,),
        "delassus": (),
        "kinetic_energy": (nu,),
        "forward_dynamics": (nu, tau),
        "inverse_dynamics": (nu, tau),
        "impact": (nu, 0.3),
        "forward_dynamics_derivatives": (nu, tau),
    }
    for name, arguments in calls.items():
        actual, reference = getattr(dyn, name)(moved, *arguments), getattr(expected, name)
        agree(actual, reference(q, *arguments))
    actual = dyn.forward_dynamics(moved, nu, tau, wrenches=w)
    agree(actual, expected.forward_dynamics(q, nu, tau, wrenches=w))
    after = dyn.step(moved, nu, tau, 0.01)
    agree((dyn.get_q(after.state), after.nu), expected.step(q, nu, tau, 0.01))


def dense_solution(cell, dyn, state, nu, tau):
    """nu_dot and forces of the dense KKT system, from the dynamics of the single arms."""
    a, b = (cell.dynamics(name, joint_dynamics=True) for name in ("a", "b"))
    na, nv = a.device.nv, dyn.nv
    M = np.zeros((nv, nv))
    M[:na, :na], M[na:, na:] = a.mass_matrix(state), b.mass_matrix(state)
    h = np.concatenate([a.bias_force(state, nu[:na]), b.bias_force(state, nu[na:])])
    J_box, J_tool = np.zeros((2, 6, nv))
    for arm_dyn, span in ((a, slice(0, na)), (b, slice(na, nv))):
        J_box[:, span] = arm_dyn.jacobian("box", state)
        J_tool[:, span] = arm_dyn.jacobian("b.tool", state)
    world_H_box, world_H_tool = (cell.world_H_frame(name, state) for name in ("box", "b.tool"))
    d = world_H_tool[:3, 3] - world_H_box[:3, 3]
    J = J_tool - J_box
    J[:3] += np.cross(d, J_box[3:].T).T  # v_tool - v_box - w_box x d
    R = world_H_tool[:3, :3].T  # the axes of the target
    J = np.concatenate([R @ J[:3], R @ J[3:]])[: dyn.m]
    error, rate = dyn.error(state), J @ nu
    gains = dyn.stabilization
    rhs = -dyn.bias(state, nu) - gains[0] * error - gains[1] * rate
    KKT = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    solution = np.linalg.lstsq(KKT, np.concatenate([tau - h, rhs]), rcond=1e-12)[0]
    return J, solution[:nv], solution[nv:]


@pytest.mark.parametrize("floating", [False, True])
def test_dense_solution_in_states_with_other_grasps(floating):
    """The box on the table, in the hand of a, and in that of b."""
    rng = np.random.default_rng(5)
    cell = two_arms(floating=floating)
    free = posed(cell, rng)
    grasp = cell.grip(free, "box", "a.tool")
    dyn = held(cell, grasp, "point", stabilization=(2.0, 3.0), joint_dynamics=True)
    states = [free, grasp, cell.grip(free, "box", "b.tool")]
    for state in states:
        nu, tau = rng.normal(size=(2, dyn.nv))
        nu_dot, forces, residual = dyn.forward_dynamics(state, nu, tau)
        J, *solution = dense_solution(cell, dyn, state, nu, tau)
        assert_close(dyn.jacobian(state), J, 1e-13, scale=1.0)
        agree((nu_dot, forces), tuple(solution))
        assert np.abs(residual).max() < 1e-12 * np.abs(nu_dot).max()
    assert not forces.any()  # both frames of the contact are on one body


def test_bias_is_the_derivative_of_the_velocity(cell, state, dyn, motion):
    nu, h = motion[0], 1e-6
    rates = [dyn.jacobian(dyn.set_q(state, dyn.get_q(state) + step * nu)) @ nu for step in (-h, h)]
    assert_close(dyn.bias(state, nu), (rates[1] - rates[0]) / (2 * h), 1e-8)


def test_floating_robot_has_the_coordinates_of_its_device():
    """Derivatives with respect to the pose of the base, by differences of states."""
    cell = two_arms(floating=True)
    state = cell.grip(posed(cell, np.random.default_rng(6)), "box", "a.tool")
    dyn = cell.constrained({"b.tool": "point"}, devices=["a", "b"], stabilization=1.0)
    rng = np.random.default_rng(7)
    nu, tau = rng.normal(size=(2, dyn.nv))
    kd, h = lw.KinDyn(arm(), floating=True), 1e-6
    a = cell.device("a")
    derivatives = dyn.forward_dynamics_derivatives(state, nu, tau)
    for k in range(10):
        step = h * np.eye(10)[k]
        ends = [a.set_q(state, kd.integrate(a.get_q(state), sign * step, 1.0)) for sign in (-1, 1)]
        before, after = (dyn.forward_dynamics(end, nu, tau).nu_dot for end in ends)
        assert_close(derivatives.q[:, k], (after - before) / (2 * h), 1e-6, scale=100.0)
    after = dyn.step(state, nu, tau, 1e-3)
    a_q = kd.integrate(a.get_q(state), after.nu[:10], 1e-3)
    assert_close(a.get_q(after.state), a_q, 1e-12)


def test_object_that_two_arms_hold_may_be_free_or_carried(cell, state, dyn, motion):
    free = cell.with_device(lw.FreeDevice("box", "WORLD", "box"))
    on_table = free.release(free.upgrade(state), "box")
    grips = [
        lw.Contact(
            f"{name}.tool",
            reference="box",
            target=free.frame_H_frame("box", f"{name}.tool", on_table),
        )
        for name in ("a", "b")
    ]
    three = free.constrained(grips, devices=["a", "b", "box"])
    arms = dyn.project_velocity(state, motion[0])
    J = cell.dynamics("a").jacobian("box", state)
    nu = np.concatenate([arms, J @ arms[:4]])
    tau = np.concatenate([motion[1], np.zeros(6)])
    assert np.abs(three.jacobian(on_table) @ nu).max() < 1e-12
    carried = held(cell, state).forward_dynamics(state, arms, motion[1])
    separate = three.forward_dynamics(on_table, nu, tau)
    assert_close(separate.nu_dot[:8], carried.nu_dot, 1e-10)
    assert_close(separate.forces[three.rows["b.tool"]], carried.forces, 1e-10)


def test_regrasp_changes_the_system_and_compiles_nothing(cell, state, dyn, motion):
    """One object serves all grasps of the same hand, and of other targets."""
    nu, tau = motion
    before = dyn.forward_dynamics(state, nu, tau)
    again = cell.set_pose(state, "box", lw.Pose((0.05, 0.1, 0.0), (0.3, 0.0, 0.1)))
    agree(dyn.forward_dynamics(again, nu, tau), held_at(cell, state, again, nu, tau))
    assert dyn.kindyn(again) is dyn.kindyn(state)
    closed = held(cell, again, actuated=["a", "b.l0"], stabilization=5.0)
    assert closed.kindyn(again) is dyn.kindyn(state)
    assert np.abs(closed.error(again)).max() < 1e-14 < np.abs(dyn.error(again)).max()
    on_link = cell.grip(state, "box", "a.l1")
    assert dyn.kindyn(on_link) is not dyn.kindyn(state)
    agree(dyn.forward_dynamics(on_link, nu, tau), held_at(cell, state, on_link, nu, tau))
    agree(dyn.forward_dynamics(state, nu, tau), before)


def held_at(cell, grasp, state, nu, tau):
    """A new object with the target of a grasp, in another state."""
    return held(cell, grasp, stabilization=5.0).forward_dynamics(state, nu, tau)


def test_batches_are_rows(cell, state, point_dyn, motion):
    dyn = point_dyn
    rng = np.random.default_rng(8)
    nu, tau = motion
    states = dyn.set_q(state, dyn.get_q(state) + 0.1 * rng.normal(size=(2, 3, 8)))
    result = dyn.forward_dynamics(states, nu, tau, threads=1)
    flat = [states[index] for index in np.ndindex(*states.batch_shape)]
    rows = [dyn.forward_dynamics(one, nu, tau) for one in flat]
    for k, array in enumerate(result):
        agree(array, np.reshape([row[k] for row in rows], array.shape))
    out = tuple(np.empty_like(array) for array in result)
    again = dyn.forward_dynamics(states, nu, tau, out=out)
    assert all(one is other for one, other in zip(again, out, strict=True))
    agree(out, result)
    nu_dot = dyn.inverse_dynamics(states, nu, np.broadcast_to(tau, (2, 3, 8)))
    assert nu_dot.torques.shape == (2, 3, 5)
    wrench = {"b.tool": rng.normal(size=(2, 3, 6))}
    after = dyn.forward_dynamics(states, nu, tau, wrenches=wrench).nu_dot
    one = {"b.tool": wrench["b.tool"][0, 2]}
    agree(after[0, 2], dyn.forward_dynamics(states[0, 2], nu, tau, wrenches=one).nu_dot)
    assert dyn.error(states[:0]).shape == (0, 3, 3)


def test_rows_of_a_batch_are_of_one_robot(cell, state, point_dyn, motion):
    """A released box changes the robot only if a contact is with the box."""
    mixed = lw.State.stack([state, cell.release(state, "box")])
    with pytest.raises(lw.ArgumentError, match="attached to different links"):
        point_dyn.forward_dynamics(mixed, *motion)
    with pytest.raises(lw.ArgumentError, match="attached to different links"):
        point_dyn.parameters(mixed)
    dyn = cell.constrained(["b.tool"])
    for k in range(2):
        expected = dyn.forward_dynamics(mixed[k], *motion).nu_dot
        agree(dyn.forward_dynamics(mixed, *motion).nu_dot[k], expected)


def test_projections_and_independent_velocities(cell, state, point_dyn, motion):
    dyn = point_dyn
    away = dyn.set_q(state, dyn.get_q(state) + 0.02)
    states = lw.State.stack([away, state])
    closed = dyn.project_configuration(states)
    assert np.abs(dyn.error(closed)).max() < 1e-10
    assert np.array_equal(closed.parents, states.parents)
    assert dyn.get_q(closed[1]) == pytest.approx(dyn.get_q(state), abs=1e-12)
    partly = dyn.project_configuration(away, fixed=["a.l0"])
    assert dyn.get_q(partly)[0] == dyn.get_q(away)[0]
    G, J = dyn.independent_velocities(state), dyn.jacobian(state)
    assert G.shape == (8, 5)
    assert np.abs(J @ G).max() < 1e-12
    nu = dyn.project_velocity(state, motion[0])
    energy = dyn.kinetic_energy(state, nu)
    nu_i = np.linalg.lstsq(G, nu)[0]
    assert nu_i @ dyn.mass_matrix(state) @ nu_i / 2 == pytest.approx(energy, rel=1e-12)
    with pytest.raises(lw.ValueRangeError, match=r"b\.tool"):
        dyn.project_configuration(away, fixed=["a", "b"])


def test_locked_joints_and_objects_in_between():
    """A contact of a lid on the box in the hand; the arm b is locked where it is."""
    cell = two_arms().with_frame(
        "lid", "box", lw.Pose((0.0, 0.0, 0.2)), movable=True, attachable=True, inertia=BOX
    )
    rng = np.random.default_rng(9)
    state = cell.grip(posed(cell, rng), "box", "a.tool")
    state = cell.set_pose(state, "lid", lw.Pose((0.1, 0.2, 0.3), (0.1, 0.2, 0.3)))
    dyn = cell.constrained([lw.Contact("lid", "point", reference="b.tool")], devices=["a"])
    one = cell.dynamics("a")
    nu, tau = rng.normal(size=(2, 4))
    nu_dot, forces, _ = dyn.forward_dynamics(state, nu, tau)
    R = cell.world_H_frame("b.tool", state)[:3, :3]
    J = R.T @ one.jacobian("lid", state)[:3]
    assert_close(dyn.jacobian(state), J, 1e-13)
    left = one.mass_matrix(state) @ nu_dot + one.bias_force(state, nu)
    assert_close(left, tau + J.T @ forces, 1e-12)


def test_inertias_of_frames_of_a_robot_can_be_changed(cell, state):
    """The dynamics of one device and those of all have the inertias of the frames."""
    heavy, rng = lw.solid_box(5.0, (0.1, 0.2, 0.3)), np.random.default_rng(10)
    changed = cell.with_changed("a.l1", inertia=heavy).with_changed("a.tool", inertia=BOX)
    nu, tau = rng.normal(size=(2, 4))
    one = changed.dynamics("a").forward_dynamics(state, nu, tau)
    both = changed.constrained(devices=["a"]).forward_dynamics(state, nu, tau).nu_dot
    pose = as_pose(cell.frame_H_frame("a.tool", "box", state))
    model = arm().with_inertia("l1", heavy).with_payload("tool", BOX)
    kd = lw.KinDyn(model.with_payload("tool", moved(BOX, pose)), floating=False)
    expected = kd.forward_dynamics(cell.device("a").get_q(state), nu, tau)
    assert_close(one, expected, 1e-12)
    assert_close(both, expected, 1e-12)


def test_rolling_contact_has_the_radius_of_the_frame():
    ball = lw.Shape(geometry=lw.Sphere(0.1))
    cell = lw.WorkCell("floor").with_frame(
        "ball", movable=True, collisions=[ball], inertia=lw.solid_sphere(1.0, 0.1)
    )
    cell = cell.with_device(lw.FreeDevice("ball", "WORLD", "ball"))
    dyn = cell.constrained({"ball": "rolling"}, devices=["ball"])
    rolling = np.array([0.3, 0.0, 0.0, 0.0, 3.0, 0.0])  # v = w x r
    assert np.abs(dyn.jacobian(cell.state()) @ rolling).max() < 1e-15


def test_pickling_and_repr(dyn, state, motion):
    again = pickle.loads(pickle.dumps(dyn))
    agree(again.forward_dynamics(state, *motion), dyn.forward_dynamics(state, *motion))
    assert (again.actuated, again.stabilization) == (dyn.actuated, dyn.stabilization)
    assert repr(again) == "<ConstrainedCellDynamics of a, b in 'two arms': contacts b.tool>"


def test_forces_of_a_contact_are_a_wrench_on_its_frame(cell, state):
    """In place of the contact, the wrench and its opposite have the same effect."""
    rng = np.random.default_rng(11)
    dyn, free = held(cell, state), cell.constrained()
    nu, tau = rng.normal(size=(2, dyn.nv))
    nu_dot, forces, _ = dyn.forward_dynamics(state, nu, tau)
    wrench = dyn.forces_of("b.tool", state, forces)
    arm = cell.world_H_frame("b.tool", state)[:3, 3] - cell.world_H_frame("box", state)[:3, 3]
    opposite = -np.concatenate([wrench[:3], wrench[3:] + np.cross(arm, wrench[:3])])
    wrenches = {"b.tool": wrench, "box": opposite}
    assert_close(free.forward_dynamics(state, nu, tau, wrenches=wrenches).nu_dot, nu_dot, 1e-10)
    with pytest.raises(lw.NameNotFoundError, match=r"b\.tool"):
        dyn.forces_of("box", state, forces)


BAD_CONTACTS = [
    (["a.tol"], lw.NameNotFoundError, r"a\.tool"),
    ([lw.Contact("a.tool", reference="bx")], lw.NameNotFoundError, "box"),
    (["a.tool", lw.Contact("a.tool", "point")], lw.ArgumentError, "twice"),
    ({"a.tool": "rolling"}, lw.ArgumentError, "radius"),
    ("a.tool", lw.ArgumentError, "contacts"),
]


@pytest.mark.parametrize(("contacts", "error", "text"), BAD_CONTACTS)
def test_bad_contacts(cell, contacts, error, text):
    with pytest.raises(error, match=text):
        cell.constrained(contacts)


BAD_OPTIONS = [
    ({"actuated": ["a.l9"]}, lw.NameNotFoundError, r"a\.l"),
    ({"actuated": ["a.j0"]}, lw.NameNotFoundError, "joint frame or device"),
    ({"devices": ["a"], "actuated": ["b"]}, lw.NameNotFoundError, "'b'"),
    ({"devices": ["c"]}, lw.NameNotFoundError, "'c'"),
    ({"devices": []}, lw.ArgumentError, "at least one"),
    ({"devices": "a"}, lw.ArgumentError, "list of names of devices"),
    ({"actuated": "a"}, lw.ArgumentError, "joint frames or devices"),
    ({"carriers": ["a.tol"]}, lw.NameNotFoundError, r"a\.tool"),
    ({"stabilization": -1.0}, lw.ArgumentError, "stabilization"),
    ({"gravity": (0.0, 1.0)}, lw.ArgumentError, "gravity"),
]


@pytest.mark.parametrize(("options", "error", "text"), BAD_OPTIONS)
def test_bad_options(cell, options, error, text):
    with pytest.raises(error, match=text):
        cell.constrained(**options)


def test_bad_arguments(cell, state, dyn, motion):
    nu, tau = motion
    with pytest.raises(lw.ArgumentError, match="actuated"):
        cell.constrained().inverse_dynamics(state, nu, tau)
    with pytest.raises(lw.NameNotFoundError, match="bx"):
        dyn.forward_dynamics(state, nu, tau, wrenches={"bx": np.zeros(6)})
    with pytest.raises(lw.StateError):
        dyn.error(two_arms().with_frame("more").state())
    with pytest.raises(lw.ShapeError):
        dyn.forward_dynamics(state, nu[:3], tau)
    with pytest.raises(lw.ShapeError):
        dyn.forward_dynamics(lw.State.stack([state, state]), np.zeros((3, 8)), tau)
    cart = lw.WorkCell("cart").with_frame("cart", movable=True)
    cart = cart.with_joint("left", "revolute", "cart").with_joint("right", "revolute", "cart")
    cart = cart.with_device(lw.MobileDevice("cart", "cart", left="left", right="right"))
    with pytest.raises(lw.ArgumentError, match="cart"):
        cart.constrained(devices=["cart"])
    with pytest.raises(lw.ArgumentError, match="devices"):
        cart.constrained()


def test_joints_that_depend_on_joints_outside_of_the_robot_move_with_their_leader():
    """An attachable joint is locked, with a warning; one that depends on it follows the arm."""
    cell = lw.WorkCell("coupled").with_robot("arm", lw.load("arm"), end="tool")
    leader = cell.device("arm").joint_names[0]
    mass = {"inertia": lw.solid_box(1.0, (0.1, 0.2, 0.3)), "axis": (0, 1, 0)}
    half = lw.Mimic(joint=leader, multiplier=0.5)
    cell = cell.with_joint("dial", "revolute", "arm.tool", depends=half, attachable=True)
    chained = lw.Mimic(joint="dial", multiplier=4.0)
    cell = cell.with_joint("lid", "revolute", "arm.tool", depends=chained, **mass)
    direct = cell.with_changed("lid", depends=lw.Mimic(joint=leader, multiplier=2.0))
    with pytest.warns(lw.LinkworkWarning, match=r"'coupled'.*dial"):
        dynamics = [one.constrained(devices=["arm"]) for one in (cell, direct)]
    masses = [one.mass_matrix(one.cell.state()) for one in dynamics]
    assert_close(masses[0], masses[1], 1e-12)
