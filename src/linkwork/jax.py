"""The functions of a robot, and any other kernel, for arrays of JAX: `pip install linkwork[jax]`."""

from linkwork.bridges.jax import TARGET as TARGET
from linkwork.bridges.jax import KinDyn as KinDyn
from linkwork.bridges.jax import wrap as wrap
