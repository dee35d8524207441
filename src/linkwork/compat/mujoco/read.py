"""Reading compiled MuJoCo models as robots."""

from __future__ import annotations

from typing import Any

from linkwork.errors import warn_of
from linkwork.io.mjcf.elements import gravity_of
from linkwork.io.mjcf.model import floating_body, read_mjmodel
from linkwork.io.mjcf.package import MjModel, Names, need_mjmodel
from linkwork.kindyn import KinDyn
from linkwork.model.check import check
from linkwork.model.model import Model


def model_from_mjmodel(mj_model: MjModel, *, mimic: bool = True, constraints: bool = True) -> Model:
    """Read a compiled MuJoCo model.

    Args:
        mj_model: a `mujoco.MjModel`.
        mimic: whether linear joint equalities define dependent joints; if not, these are free.
        constraints: whether other equalities become constraints of the robot. The functions
            `mj_fullM`, `mj_rne` and `qfrc_bias` of MuJoCo ignore them.

    Returns:
        The robot. Its root is the one top-level body if that is free, else a link `world`. Poses
        of meshes ignore `refpos` and `refquat`, which a compiled model lacks; `load` reads them.

    Raises:
        ModelError: there is no body except the world.

    Warns:
        LinkworkWarning: once, with all parts that affect the motion and are not supported.
    """
    return read_and_warn(mj_model, mimic=mimic, constraints=constraints)


def kindyn_from_mjmodel(
    mj_model: MjModel, *, mimic: bool = True, constraints: bool = True, **options: Any
) -> KinDyn:
    """Kinematics and dynamics of a MuJoCo model, with its gravity and its base.

    Args:
        mj_model: a `mujoco.MjModel`.
        mimic: whether linear joint equalities define dependent joints; if not, these are free.
        constraints: whether other equalities become constraints, which `forward_dynamics`
            includes; with False, all functions are those of the tree of bodies.
        options: further options of `KinDyn`, such as `representation`.

    Raises:
        ModelError: there is no body except the world.

    Warns:
        LinkworkWarning: once, with all parts that affect the motion and are not supported.
    """
    model = read_and_warn(mj_model, mimic=mimic, constraints=constraints)
    floating = floating_body(mj_model) is not None
    all_options: dict[str, Any] = {"floating": floating, "gravity": gravity_of(mj_model), **options}
    return KinDyn(model, **all_options)


def read_and_warn(
    mj_model: MjModel, *, mimic: bool, constraints: bool = True, names: Names | None = None
) -> Model:
    """Read a model and warn of findings; `names` replaces the names of its parts."""
    need_mjmodel(mj_model)
    model, left_out = read_mjmodel(mj_model, mimic=mimic, constraints=constraints, names=names)
    warn_of([f for f in (*left_out, *check(model)) if f.severity == "warning"])
    return model
