"""Gripping in two steps: the item is attached to the gripper without moving in the world."""

from linkwork.compat.robwork import *


def gripMovableFrame(item, gripper, state):
    # compute the pose of the item in the gripper before attaching it
    fk = FKRange(gripper, item, state)
    transform = fk.get(state)

    item.setTransform(transform, state)
    item.attachTo(gripper, state)


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("pick_and_place")
    state = wc.getDefaultState()
    other = state.copy()
    item, gripper = wc.findMovableFrame("ball"), wc.findFrame("arm.tcp")
    gripMovableFrame(item, gripper, state)
    Kinematics.gripFrame(item, gripper, other)
    arm = wc.findDevice("arm")
    for one in (state, other):
        arm.setQ(arm.getQ(one) + Q([0.5, 0, 0, 0, 0, 0, 0]), one)
        print("the ball follows the arm to", item.wTf(one).P())
    assert item.wTf(state).equal(item.wTf(other), 1e-12)
