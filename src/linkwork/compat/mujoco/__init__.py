"""MuJoCo's view of a robot: its models read, and its vectors and matrices converted exactly.

    kd = kindyn_from_mjmodel(mj_model)
    conventions = Conventions(kd, mj_model)
    data.qpos[:], data.qvel[:] = conventions.qpos(q), conventions.qvel(q, nu)

MuJoCo's gravity is 9.81 m/s^2 unless the file says otherwise, linkwork's is 9.80665 m/s^2;
`kindyn_from_mjmodel` takes over what the model says.
"""

from linkwork.compat.mujoco.conventions import Conventions as Conventions
from linkwork.compat.mujoco.read import kindyn_from_mjmodel as kindyn_from_mjmodel
from linkwork.compat.mujoco.read import model_from_mjmodel as model_from_mjmodel
