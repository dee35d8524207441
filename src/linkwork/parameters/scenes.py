"""Descriptions of parameters that only simulations have: of contacts, actuators and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from linkwork.model.model import Model
from linkwork.model.numbers import settle, text
from linkwork.parameters.descriptions import Claims, Entry, Parameter, Values
from linkwork.parameters.variation import Variation

INVERSE_WEIGHTS = "inverse_weights"


class SceneParameter(Parameter):
    """A parameter of `lw.Simulation`, which knows its value in the scene."""

    part: ClassVar[str] = ""  # what `of` is the name of

    @property
    def of(self) -> str | None:
        """The name of the part that it belongs to, if it belongs to one."""
        return None

    def claims(self, model: Model) -> Claims:
        return {}


@dataclass(frozen=True)
class FrictionMultiplier(SceneParameter):
    """A factor of the sliding friction of a contact of a simulation, or of all; 1 in the model.

    Args:
        contact: the name of a pair in `sim.scene.contacts`; None for all contacts.
    """

    part = "contact"
    contact: str | None = None

    @property
    def of(self) -> str | None:
        return self.contact

    def entries(self, model: Model) -> tuple[Entry, ...]:
        suffix = "" if self.contact is None else f".{self.contact}"
        return (Entry(f"friction_multiplier{suffix}", (1.0,), "factor of sliding friction"),)

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.frictions.append((self.contact, values[0][0]))


@dataclass(frozen=True)
class ActuatorGains(SceneParameter):
    """Gain and bias of an actuator of a simulation: g0, g1, g2, b0, b1, b2.

    With l = gear theta, its rate v, and the control or activation u, the force is

        (g0 + g1 l + g2 v) u + b0 + b1 l + b2 v

    A motor has the gain g0 alone; position control has g0 = kp, b1 = -kp and b2 = -kv.
    """

    part = "actuator"
    actuator: str

    def __post_init__(self) -> None:
        settle(self, actuator=text(self.actuator, "actuator"))

    @property
    def of(self) -> str | None:
        return self.actuator

    def entries(self, model: Model) -> tuple[Entry, ...]:
        return (Entry(f"actuator_gains.{self.actuator}", (0.0,) * 6, "gain (3), bias (3)"),)

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.actuators[self.actuator] = values[0]


@dataclass(frozen=True)
class Ground(SceneParameter):
    """Height of the ground of a simulation at the origin of the world [m]; 0 in the model.

    Args:
        tilt: whether its rise per length along x and y are inputs too.
    """

    tilt: bool = False

    def entries(self, model: Model) -> tuple[Entry, ...]:
        height = Entry("ground_height", (0.0,), "[m] above that of the scene")
        tilt = Entry("ground_tilt", (0.0, 0.0), "rise per length along x and y")
        return (height, tilt) if self.tilt else (height,)

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.ground.extend(x for group in values for x in group)


@dataclass(frozen=True)
class InverseWeights(SceneParameter):
    """How easily bodies and joints of a simulation move, which scales the softness of contacts.

    Simulations add it to parameters that change masses, and compute its values from them.
    """

    def entries(self, model: Model) -> tuple[Entry, ...]:
        return (Entry(INVERSE_WEIGHTS, (), "of bodies and joints; computed from the others"),)

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.inverse_weights.extend(values[0])
