"""Whether a frame can be attached to other frames: then it has no permanent parent."""

from linkwork.compat.robwork import *


def isDaf(frame):
    return frame.getParent() is None


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("pick_and_place")
    for name in ("table", "arm.tcp", "cube", "can"):
        frame = wc.findFrame(name)
        print(name, "can" if isDaf(frame) else "cannot", "be attached")
        assert isDaf(frame) == Kinematics.isDAF(frame)
