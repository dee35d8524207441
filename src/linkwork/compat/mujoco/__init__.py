"""MuJoCo models as robots, and exact conversion of MuJoCo's vectors and matrices.

    kd = kindyn_from_mjmodel(mj_model)
    conventions = Conventions(kd, mj_model)
    data.qpos[:], data.qvel[:] = conventions.qpos(q), conventions.qvel(q, nu)

The default gravity of MuJoCo is 9.81 m/s^2, that of linkwork 9.80665 m/s^2; `kindyn_from_mjmodel`
uses the gravity of the model.
"""

from linkwork.compat.mujoco.conventions import Conventions as Conventions
from linkwork.compat.mujoco.read import kindyn_from_mjmodel as kindyn_from_mjmodel
from linkwork.compat.mujoco.read import model_from_mjmodel as model_from_mjmodel
