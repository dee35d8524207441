"""Factories of models, as `adam.model` has them: a robot that is read, whose joints are not chosen.

    factory = URDFModelFactory("robot.urdf", SpatialMath())
    model = Model.build(factory, joints_name_list=["hip", "knee"])

`math` is taken as adam takes it, and kept: a model holds numbers, whatever array package is used.
"""

from __future__ import annotations

from typing import Any

from linkwork.compat.adam.model.model import AdamModel
from linkwork.compat.adam.parts import AdamJoint, AdamLink
from linkwork.compat.adam.read import is_mujoco_model, read_description
from linkwork.errors import model_error, shown


class ModelFactory:
    """The links, frames and joints of a robot."""

    math: Any
    found: AdamModel
    """The robot; none of its joints are actuated yet."""

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.found.name

    def get_joints(self) -> list[AdamJoint]:
        """All joints."""
        return list(self.found.joints.values())

    def get_links(self) -> list[AdamLink]:
        """All links but the frames."""
        return list(self.found.links.values())

    def get_frames(self) -> list[AdamLink]:
        """All frames."""
        return list(self.found.frames.values())


class URDFModelFactory(ModelFactory):
    """The parts of a robot from the path or text of a URDF."""

    def __init__(self, path: Any, math: Any) -> None:
        if is_mujoco_model(path):
            text = "path: expected the path or text of a URDF"
            raise model_error(f"{text}, got {shown(path)}; use MujocoModelFactory")
        self.math = math
        self.found = read_description(path)


class MujocoModelFactory(ModelFactory):
    """The parts of a robot from a `mujoco.MjModel`."""

    def __init__(self, mj_model: Any, math: Any) -> None:
        if not is_mujoco_model(mj_model):
            raise model_error(f"mj_model: expected a mujoco.MjModel, got {shown(mj_model)}")
        self.math = math
        self.found = read_description(mj_model)


def build_model_factory(description: Any, math: Any) -> ModelFactory:
    """The factory for the path or text of a URDF, or for a `mujoco.MjModel`."""
    kind = MujocoModelFactory if is_mujoco_model(description) else URDFModelFactory
    return kind(description, math)
