"""A beam held by two arms: the grasp closes a loop, and the arms can share the load and squeeze.

python examples/19_two_arm_grasp.py

The beam is attached to the left hand. The right hand holds it through a contact that keeps the pose
of the grasp, so there are six constraint forces. Where all joints have actuators, they are free to
choose: any of them can be added to the torques without changing the motion.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw

MASS, LENGTH, HEIGHT = 2.0, 0.5, 0.35  # of the beam [kg, m], and where it is held [m]
SIDES = {"left": 1.0, "right": -1.0}
SQUEEZE = 20.0  # [N]


def arm() -> lw.Model:
    """Return an arm with fixed fingers."""
    model = lw.robots.load("arm")
    return model.reduced([joint.name for joint in model.joints if joint.kind == "revolute"])


def cell() -> lw.WorkCell:
    """Return a cell with two arms and a beam between them."""
    work = lw.WorkCell("two arms")
    for name, side in SIDES.items():
        work = work.with_robot(name, arm(), parent_H_base=lw.Pose((0, 0.4 * side, 0)), end="tool")
    both = lw.CompositeDevice("both", "WORLD", "left.tool", tuple(SIDES), ("right.tool",))
    work = work.with_device(both)
    beam = lw.solid_box(MASS, (0.05, LENGTH, 0.05))
    pose = lw.Pose((0.5, 0.0, HEIGHT))
    return work.with_frame("beam", "WORLD", pose, movable=True, attachable=True, inertia=beam)


def grasped(work: lw.WorkCell) -> lw.State:
    """Return a state in which both hands are at the ends of the beam, which the left one grips."""
    q = lw.KinDyn(arm(), floating=False).q(shoulder_pitch=0.6, elbow_pitch=1.2)
    state = work.state({"left": q, "right": q})
    down = (np.pi, 0.0, 0.0)
    targets = {
        f"{name}.tool": lw.Pose((0.5, side * LENGTH / 2, HEIGHT), down)
        for name, side in SIDES.items()
    }
    return work.grip(work.ik(state, targets, tolerance=1e-9).state, "beam", "left.tool")


def main() -> dict[str, np.ndarray]:
    """Compute accelerations, shared torques and squeeze forces of the grasp."""
    work = cell()
    state = grasped(work)
    dyn = work.dynamics("both")
    joints, q = dyn.device.joint_names, dyn.device.get_q(state)
    load = dyn.parameters(state)  # of the beam in the left hand
    # The right hand keeps the pose at the left one, and so at the beam, that it has now.
    target = lw.Pose.from_matrix(work.frame_H_frame("left.tool", "right.tool", state))
    hand = lw.Contact("right.tool", "pose", reference="left.tool", target=target)
    arms = dyn.kd.constrained([hand], actuated=joints)
    J, at_rest = arms.jacobian(q, parameters=load), np.zeros(arms.nv)
    print(f"{arms.nv} joints, {arms.m} constraint equations, {arms.nv - arms.m} degrees of freedom")

    # Holding still: by default the constraint forces are zero, so the left arm carries the beam.
    alone = arms.inverse_dynamics(q, at_rest, at_rest, parameters=load).torques
    world_R_hand = work.fk(state)["right.tool"][:3, :3]
    weight = np.array([0.0, 0.0, -MASS * 9.80665])
    forces = {
        "left arm alone": np.zeros(3),
        "both arms": weight / 2,
        "both, squeezing": weight / 2 + [0.0, -SQUEEZE, 0.0],  # the beam presses the hand outward
    }
    results: dict[str, np.ndarray] = {}
    for name, force in forces.items():
        on_hand = np.concatenate([world_R_hand.T @ force, np.zeros(3)])  # in the axes of the hand
        torques = alone - J.T @ on_hand
        nu_dot, reaction, _ = arms.forward_dynamics(q, at_rest, torques, parameters=load)
        is_still, is_chosen = np.abs(nu_dot).max() < 1e-9, np.allclose(reaction, on_hand)
        print(f"{name + ':':16} shoulders {torques[1]:+.2f} and {torques[8]:+.2f} N m;", end=" ")
        print(f"at rest: {is_still}, forces as chosen: {is_chosen}")
        results |= {name: torques, f"forces {name}": reaction, f"nu_dot {name}": nu_dot}

    # A joint without power: now the right arm has to carry part of the left one, through the beam.
    shoulder = work.device("left").joint_names[1]
    weak = dyn.kd.constrained([hand], actuated=[name for name in joints if name != shoulder])
    torques, reaction, residual = weak.inverse_dynamics(q, at_rest, at_rest, parameters=load)
    force = weak.forces_of("right.tool", q, reaction, parameters=load)[2]
    print(f"no torque at the left shoulder: the vertical force on the right hand is {force:.1f} N,")
    is_held = np.abs(residual).max() < 1e-9
    print(f"the right shoulder has {torques[7]:+.2f} N m; at rest: {is_held}")
    results |= {"weak": torques, "weak residual": residual}

    # Lifting: accelerations that keep the loop closed, and move the beam up.
    J_beam = dyn.device.base_J_frame("beam", state)
    up = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    nu_dot = np.linalg.lstsq(np.concatenate([J, J_beam]), np.concatenate([np.zeros(6), up]))[0]
    lift = arms.inverse_dynamics(q, at_rest, nu_dot, parameters=load).torques
    achieved = J_beam @ arms.forward_dynamics(q, at_rest, lift, parameters=load).nu_dot
    print("acceleration of the beam, lifted by both:", np.round(achieved, 6) + 0.0)
    results["lift"] = achieved
    return results


if __name__ == "__main__":
    main()
