"""What a simulation is computed for, and what is known of it at one state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.problem import Problem
from linkwork.parameters.variation import Placement
from linkwork.simulation.constraints.rows import ContactRow
from linkwork.simulation.constraints.solver import Settings
from linkwork.simulation.constraints.weights import Weights
from linkwork.simulation.contacts import Touch
from linkwork.simulation.forces import Actuation
from linkwork.simulation.scene import Scene
from linkwork.simulation.world import State, World
from linkwork.spatial.blocks import IDENTITY, ZERO, Scalar, Vec, as_vec


@dataclass(frozen=True, eq=False)
class SimulationProblem(Problem):
    """A robot and its scene."""

    scene: Scene = field(default_factory=Scene)
    weights: Weights = field(default_factory=lambda: Weights({}, {}))
    settings: Settings = field(default_factory=Settings)
    ground: Placement = (IDENTITY, ZERO)  # pose of the ground in the world if it is an input

    @property
    def gravity(self) -> Vec:
        """The acceleration of free fall."""
        return as_vec(self.scene.options.gravity)


@dataclass(frozen=True)
class Moment:
    """The simulation at one state: contacts, forces, and accelerations."""

    problem: SimulationProblem
    state: State
    world: World
    touches: tuple[Touch, ...]
    contacts: tuple[ContactRow, ...]  # one for each of `touches`
    actuators: Actuation
    armature: DynamicsByIndex
    M: list[list[Scalar]]
    nu_dot: list[Scalar]
    residual: Scalar
    constrained: Sequence[Scalar]  # J^T f of all rows

    @property
    def contact_forces(self) -> list[list[Scalar]]:
        """(contacts, 6) forces and moments in the frame of each contact, as `mj_contactForce`."""
        motions = self.world.motions(self.nu_dot)
        forces: list[list[Scalar]] = []
        for row in self.contacts:
            own = row.force(row.residual(motions[row.body]))
            forces.append([*own, *[0.0] * (6 - len(own))])
        return forces
