"""A model of the adam view as a model of iDynTree, by way of URDF."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from linkwork.compat.adam.model.model import AdamModel
from linkwork.errors import MissingPackageError, model_error
from linkwork.io.urdf.writer import dump_urdf


def to_idyntree_model(model: AdamModel) -> Any:
    """An `idyntree.bindings.Model` in which the actuated joints move, in their order.

    Raises:
        MissingPackageError: iDynTree is not installed.
        ModelError: iDynTree does not take the robot.
    """
    try:
        bindings = import_module("idyntree.bindings")
    except ImportError as error:
        text = "to_idyntree_model needs the package idyntree: pip install idyntree"
        raise MissingPackageError(f"{text} ({error})") from error
    loader = bindings.ModelLoader()
    text = dump_urdf(model.source)
    if not loader.loadReducedModelFromString(text, model.actuated_joints):
        raise model_error(f"iDynTree does not take robot {model.name!r}")
    return loader.model().copy()
