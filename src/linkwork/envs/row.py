"""What the functions of an environment see: one environment, as traced values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from linkwork.engine.cached_property import cached_property
from linkwork.envs.random import RandomNumbers
from linkwork.errors import ArgumentError, nearest
from linkwork.simulation.core import Forward, SimulationState


@dataclass(frozen=True)
class Row:
    """One environment. The entries of its memory are attributes, too."""

    x: SimulationState
    action: Any  # (n,) the last action, clipped to its range
    last_action: Any  # (n,) the action before
    steps: Any  # () since the last reset
    random: RandomNumbers
    memory: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the simulation, by name
    make_forward: Callable[[Row], Forward] | None = None

    @property
    def q(self) -> Any:
        """The configuration (nq,)."""
        return self.x.q

    @property
    def nu(self) -> Any:
        """The velocity (nv,), mixed: that of the base is in world axes."""
        return self.x.nu

    @property
    def activation(self) -> Any:
        """The activations of the actuators that have one."""
        return self.x.activation

    @cached_property
    def forward(self) -> Forward:
        """What acts in this state: contact forces, distances, sensors.

        Forces and accelerations solve the contacts once more; distances cost little.
        """
        if self.make_forward is None:
            raise ArgumentError("forward: it is not known when an environment is reset")
        return self.make_forward(self)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.memory:
            return self.memory[name]
        known = [*self.memory, *(one for one in dir(self) if not one.startswith("_"))]
        hint = "" if name.startswith("_") else f"; {nearest(name, known)}"
        raise AttributeError(f"an environment has no {name!r}{hint}")
