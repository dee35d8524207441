"""Properties of a device: frames, poses, degrees of freedom, configuration."""

from linkwork.compat.robwork import *


def fwdKinematicsDevice(sdevice, mframe, state):
    # base frame of the device
    base = sdevice.getBase()
    # end frame of the device
    end = sdevice.getEnd()
    # pose of the end in the base
    bTe = sdevice.baseTend(state)
    # or of any frame
    bTmf = sdevice.baseTframe(mframe, state)
    # its name
    sdevicename = sdevice.getName()
    # its degrees of freedom
    dof = sdevice.getDOF()
    # set all joints to zero, in this state
    sdevice.setQ(Q(dof, 0.0), state)
    return base, end, bTe, bTmf, sdevicename, dof


if __name__ == "__main__":
    wc = WorkCellLoaderFactory.load("two_arms")
    state = wc.getDefaultState()
    left = wc.findSerialDevice("left")
    base, end, bTe, bTmf, name, dof = fwdKinematicsDevice(left, wc.findMovableFrame("bar"), state)
    print(f"{name}: {dof} joints from {base.getName()} to {end.getName()}")
    print("positions in its base: end", bTe.P(), "bar", bTmf.P())
    print("q is", left.getQ(state), "and the Jacobian has", left.baseJend(state).size2(), "columns")
