"""Poses of frames in each other and in the world, and gripping an object."""

from linkwork.compat.robwork import *


def fwdKinematics(device, frame, mframe, state):
    # pose of one frame in another
    fTmf = Kinematics.frameTframe(frame, mframe, state)
    # pose of a frame in the world
    wTmf = Kinematics.worldTframe(mframe, state)
    # together they define the pose of the first frame in the world
    wTf = wTmf * inverse(fTmf)
    # an attachable frame can be gripped: it is then attached to the end of the device
    if Kinematics.isDAF(mframe):
        Kinematics.gripFrame(mframe, device.getEnd(), state)
    return wTf


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("pick_and_place")
    state = wc.getDefaultState()
    cube = wc.findMovableFrame("cube")
    before = Kinematics.worldTframe(cube, state)
    wTf = fwdKinematics(wc.findDevice("arm"), wc.findFrame("tray"), cube, state)
    print("tray at", wTf.P())
    print("cube at", Kinematics.worldTframe(cube, state).P(), "on", cube.getParent(state).getName())
    assert Kinematics.worldTframe(cube, state).equal(before, 1e-12)
