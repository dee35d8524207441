"""The tree of frames of a workcell, with the position of each frame in the world."""

from linkwork.compat.robwork import *


def printKinematicTree(frame, state, parentTransform, level):
    transform = parentTransform * frame.getTransform(state)

    for i in range(level):
        print(" ", end="")

    print(frame.getName() + " at " + str(transform.P()))

    for child in frame.getChildren(state):
        printKinematicTree(child, state, transform, level + 1)


def printDefaultWorkCellStructure(workcell):
    print(workcell)
    printKinematicTree(
        workcell.getWorldFrame(), workcell.getDefaultState(), Transform3Dd.identity(), 0
    )


if __name__ == "__main__":
    printDefaultWorkCellStructure(WorkCellLoaderFactory.load("mobile_manipulator"))
