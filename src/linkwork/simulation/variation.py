"""Numbers of a scene that are inputs: the scene with other values, and the values it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkwork.errors import name_not_found
from linkwork.model.model import Model
from linkwork.parameters.descriptions import (
    Gravity,
    JointDamping,
    JointFriction,
    Parameter,
)
from linkwork.parameters.scenes import INVERSE_WEIGHTS, InverseWeights, SceneParameter
from linkwork.parameters.variation import Placement, Variation
from linkwork.simulation.scene import ContactPair, DryFriction, JointForces, Scene
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Scalar, Vec


def with_inverse_weights(parameters: Iterable[Parameter], scene: Scene) -> tuple[Parameter, ...]:
    """Return descriptions of parameters, and of the inverse weights if they depend on them.

    Raises:
        NameNotFoundError: the scene has no such contact or actuator.
    """
    names = {
        "contact": [one.name for one in scene.contacts],
        "actuator": [one.name for one in scene.actuators],
    }
    described = tuple(parameters)
    for one in described:
        if isinstance(one, SceneParameter) and one.of not in (None, *names.get(one.part, ())):
            raise name_not_found(one.part, one.of, names[one.part])
    light = (SceneParameter, Gravity, JointDamping, JointFriction)
    has_masses = not all(isinstance(one, light) for one in described)
    return (
        (*described, InverseWeights())
        if has_masses and InverseWeights() not in described
        else described
    )


def nominal_values(
    model: Model, scene: Scene, weights: Iterable[float]
) -> dict[str, tuple[float, ...]]:
    """Return the values of parameters in a scene, by their names."""
    nominal = {"gravity": tuple(scene.options.gravity), INVERSE_WEIGHTS: tuple(weights)}
    forces, losses = scene.joint_forces(), {one.joint: one.loss for one in scene.frictions}
    for joint in model.joints:
        own = forces.get(joint.name, JointForces(joint=joint.name))
        nominal[f"damping.{joint.name}"] = (own.damping,)
        nominal[f"armature.{joint.name}"] = (own.armature,)
        nominal[f"friction.{joint.name}"] = (losses.get(joint.name, 0.0),)
    for one in scene.actuators:
        nominal[f"actuator_gains.{one.name}"] = (*one.gain, *one.bias)
    return nominal


def varied_scene(scene: Scene, variation: Variation) -> Scene:
    """Return a scene with scalars in place of numbers."""
    frictions = {one.joint: one for one in scene.frictions}
    joints = dict(scene.joint_forces())
    for (joint, what), value in variation.joint_dynamics.items():
        if what == "friction":
            own = frictions.get(joint, DryFriction(joint=joint, loss=0.0))
            frictions[joint] = replace(own, loss=value)
        else:
            joints[joint] = replace(joints.get(joint, JointForces(joint=joint)), **{what: value})
    actuators = tuple(
        replace(one, gain=tuple(gains[:3]), bias=tuple(gains[3:]))
        if (gains := variation.actuators.get(one.name))
        else one
        for one in scene.actuators
    )
    options = scene.options
    if variation.gravity:
        options = replace(options, gravity=variation.gravity[0])
    return replace(
        scene,
        options=options,
        contacts=tuple(_rubbed(pair, variation) for pair in scene.contacts),
        frictions=tuple(frictions.values()),
        joints=tuple(joints.values()),
        actuators=actuators,
    )


def ground_placement(variation: Variation) -> Placement:
    """Return how the ground is moved: raised, and tilted by the least rotation."""
    if not variation.ground:
        return IDENTITY, ZERO
    height, *tilt = variation.ground
    at = Vec(0.0, 0.0, height)
    if not tilt:
        return IDENTITY, at
    x, y = tilt
    norm = 1.0 / (1.0 + x * x + y * y) ** 0.5
    n = Vec(-(norm * x), -(norm * y), norm)
    share = 1.0 / (1.0 + norm)
    a, b, c = 1.0 - share * (n[0] * n[0]), -(share * (n[0] * n[1])), 1.0 - share * (n[1] * n[1])
    return Mat(Vec(a, b, n[0]), Vec(b, c, n[1]), Vec(-n[0], -n[1], norm)), at


def _rubbed(pair: ContactPair, variation: Variation) -> ContactPair:
    factor: Scalar = 1.0
    for name, value in variation.frictions:
        factor = value * factor if name in (None, pair.name) else factor
    slide, other, *more = pair.friction
    return replace(pair, friction=(factor * slide, factor * other, *more))
