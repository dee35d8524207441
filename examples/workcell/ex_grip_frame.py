"""Gripping by hand: the item keeps its place in the world and sits on the gripper from then on."""

from linkwork.compat.robwork import *


def gripMovableFrame(item, gripper, state):
    # the pose of the item in the gripper comes first, while the item is where it was
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
