"""World poses of many frames in one state."""

from linkwork.compat.robwork import *


def worldTransforms(frames, state):
    fk = FKTable(state)

    result = Transform3DdVector()
    for frame in frames:
        result.push_back(fk.get(frame))
    return result


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("pick_and_place")
    frames = wc.findMovableFrames()
    for frame, wTf in zip(frames, worldTransforms(frames, wc.getDefaultState()), strict=True):
        print(frame.getName(), "at", wTf.P())
