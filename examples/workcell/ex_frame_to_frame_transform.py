"""Pose of one frame in another."""

from linkwork.compat.robwork import *


def frameToFrameTransform(a, b, state):
    fk = FKRange(a, b, state)
    return fk.get(state)


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("two_arms")
    state = wc.getDefaultState()
    a, b = wc.findFrame("left.TCP"), wc.findFrame("right.TCP")
    print("position of the right hand in the left hand:", frameToFrameTransform(a, b, state).P())
