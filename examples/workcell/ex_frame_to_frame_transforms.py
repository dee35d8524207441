"""Poses of one frame in another for many states with the same tree: one path for all."""

from linkwork.compat.robwork import *


def frameToFrameTransforms(a, b, tree_structure, states):
    fk = FKRange(a, b, tree_structure)

    result = Transform3DdVector()
    for state in states:
        result.push_back(fk.get(state))
    return result


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("two_arms")
    state = wc.getDefaultState()
    left = wc.findSerialDevice("left")
    states = []
    for k in range(5):
        states.append(state.copy())
        left.setQ(left.getQ(state) + Q([0.1 * k, 0, 0, 0, 0, 0]), states[k])
    table, hand = wc.findFrame("table"), left.getEnd()
    for aTb in frameToFrameTransforms(table, hand, state, states):
        print("position of the hand on the table:", aTb.P())
