"""The table of what simulations compute, and the kernels of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError, listed
from linkwork.kindyn.checks import ResultCheck, unexplained
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.inputs import INPUTS, Input
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.programs import MOST_UNROLLED
from linkwork.kindyn.quantities import Quantity, with_context
from linkwork.kindyn.requests import KernelRequest
from linkwork.mechanics.problem import Problem
from linkwork.model.model import Model
from linkwork.parameters.descriptions import Parameter
from linkwork.parameters.scenes import INVERSE_WEIGHTS
from linkwork.parameters.table import ParameterTable, described
from linkwork.parameters.variation import Variation
from linkwork.simulation import dynamics
from linkwork.simulation.constraints.solver import Settings
from linkwork.simulation.constraints.weights import computed, packed, unpacked, weights_of
from linkwork.simulation.contacts import n_slots
from linkwork.simulation.forces import has_activation
from linkwork.simulation.moment import SimulationProblem
from linkwork.simulation.scene import Scene
from linkwork.simulation.variation import (
    ground_placement,
    nominal_values,
    varied_scene,
    with_inverse_weights,
)
from linkwork.spatial.blocks import scalars


class SimulationState(NamedTuple):
    """States of a simulation, one in each row: the first arguments of a step, and its result."""

    q: Array  # (..., nq)
    nu: Array  # (..., nv) in the mixed representation
    activation: Array  # (..., n) of the actuators that have one
    acceleration: Array  # (..., nv) of the last step, from which the next one starts to search


class Forward(NamedTuple):
    """What acts in a state."""

    nu_dot: Array  # (..., nv) acceleration
    contact_forces: Array  # (..., contacts, 6) in the frame of each contact, as `mj_contactForce`
    distances: Array  # (..., contacts) between the surfaces; negative if they overlap [m]
    active: Array  # (..., contacts) 1 for contacts that may push, else 0
    residual: Array  # (...) of the solver: norm of the gradient over the trace of M
    sensors: Array  # (..., n) values of all sensors; `sim.sensors` has the slice of each
    contact_frames: Array  # (..., contacts, 4, 4) poses in the world, midway between the surfaces


class Linearization(NamedTuple):
    """Derivatives of a step, in tangent coordinates."""

    A: Array  # (..., 2 nv + activations, 2 nv + activations)
    B: Array  # (..., 2 nv + activations, n_controls)


def _n_activations(problem: Any) -> int:
    return sum(map(has_activation, problem.scene.actuators))


def _n_controls(problem: Any) -> int:
    return len(problem.scene.actuators)


def _n_contacts(problem: Any) -> int:
    return sum(map(n_slots, problem.scene.contacts))


def _n_readings(problem: Any) -> int:
    return sum(one.size for one in problem.scene.sensors)


def _input(name: str, count: Callable[[Any], int], what: str, description: str) -> Input:
    return Input(
        name,
        lambda problem: (count(problem),),
        lambda problem: {},
        lambda problem: f"{name} has {count(problem)} entries, {what}",
        description,
    )


STATE = (
    INPUTS["q"],
    INPUTS["nu"],
    _input("activation", _n_activations, "one for each actuator with dynamics", "activations"),
    replace(INPUTS["nu_dot"], name="acceleration"),
)
CONTROL = _input("control", _n_controls, "one for each actuator", "controls of the actuators")
STEP = Quantity(
    "step",
    (*STATE, CONTROL),
    (("nq",), ("nv",), (_n_activations,), ("nv",)),
    with_context(dynamics.step),
    result=SimulationState,
)
FORWARD = Quantity(
    "forward",
    (*STATE, CONTROL),
    (
        ("nv",),
        (_n_contacts, 6),
        (_n_contacts,),
        (_n_contacts,),
        (),
        (_n_readings,),
        (_n_contacts, 4, 4),
    ),
    with_context(dynamics.forward),
    result=Forward,
)


def _reject_divergence(kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """Raise an error that names the first row that is not finite although its inputs are."""
    rows = np.flatnonzero(unexplained(inputs, outputs))
    if len(rows):
        where = f" in row {rows[0]} of {len(outputs[0])}" if len(outputs[0]) > 1 else ""
        text = "the result is not finite: velocities, controls or contact forces are too large"
        raise ValueRangeError(f"{kernel.signature.name}: {text}{where}")


class StateKernel(QuantityKernel[Any]):
    """A kernel whose first arguments are a state; it also takes a `SimulationState` for them."""

    def _call(self, *args: Any, parameters: Any = None, **named: Any) -> Any:
        if args and isinstance(args[0], SimulationState):
            args = (*args[0], *args[1:])
        return super()._call(*args, parameters=parameters, **named)

    def _result_check(self) -> ResultCheck | None:
        return super()._result_check() or (_reject_divergence if self.robot.check else None)


class SimulationCore(KinDynCore):
    """The robot, its scene, and the kernels; `Simulation` has the arguments."""

    scene: Scene
    settings: Settings

    _FURTHER_QUANTITIES: ClassVar[tuple[Quantity, ...]] = (STEP, FORWARD)
    _WARMED_FIRST = ("step",)

    def __init__(
        self,
        model: Model,
        *,
        scene: Scene,
        settings: Settings,
        dtype: Any,
        check: bool,
        parameters: Iterable[Parameter] = (),
    ) -> None:
        self.__dict__.update(scene=scene, settings=settings)
        super().__init__(
            model,
            scene.base,
            floating=scene.floating,
            representation="mixed",
            gravity=scene.options.gravity,
            dtype=dtype,
            check=check,
            parameters=parameters,
        )
        free = [one.name for one in model.joints if one.motion_kind.nv > 3]
        if free:
            text = f"{model.name}: a simulation has at most one free body, its base"
            raise ArgumentError(f"{text}; it has the free joints {listed(free)}")
        if len(model.joints) > MOST_UNROLLED:
            text = f"{model.name}: {len(model.joints)} joints are too many for a simulation"
            raise ArgumentError(f"{text}; at most {MOST_UNROLLED} are compiled")

    @cached_property
    def problem(self) -> Problem:
        """The robot and its scene, as algorithms take them."""
        first = SimulationProblem(self.tree, self.layout, scene=self.scene)
        armature = dynamics.armature_of(first)
        weights = weights_of(first.skeleton, self.scene, armature, self._zero)
        is_single = self.dtype is np.float32
        return replace(first, weights=weights, settings=self.settings, single=is_single)

    @property
    def _zero(self) -> list[float]:
        """The configuration of inverse weights, as in MuJoCo, whatever the limits."""
        return self.layout.zero().tolist()

    @cached_property
    def parameters(self) -> ParameterTable:
        """The parameters that are inputs of steps: slices by name."""
        problem: Any = self.problem
        weights = packed(problem.weights, self.scene, self.layout)
        nominal = nominal_values(self.model, self.scene, map(float, weights))
        chosen = with_inverse_weights(described(self._descriptions), self.scene)
        return ParameterTable(self.model, chosen, nominal)

    def parameter_values(self, values: Mapping[str, ArrayLike] | None = None) -> Array:
        """The parameters that are inputs of steps, in one vector.

        The inverse weights of bodies and joints, which scale the softness of contacts, are computed
        here from masses, poses and armatures, as `mj_setConst` does it; a step takes them as they
        are.

        Args:
            values: other numbers by the names in `sim.parameters`, each (..., size).

        Returns:
            (..., n) what a call with `parameters=` takes.
        """
        vector = self.parameters.vector(values)
        if values and INVERSE_WEIGHTS in self.parameters and INVERSE_WEIGHTS not in values:
            varied = self._varied(self.parameters.variation(scalars(vector)))
            armature = dynamics.armature_of(varied)
            weights = computed(varied.skeleton, self.scene, armature, self._zero, vector.shape[:-1])
            vector[..., self.parameters[INVERSE_WEIGHTS]] = weights
        return vector.astype(self.dtype)

    def _varied(self, variation: Variation) -> SimulationProblem:
        problem: Any = super()._varied(variation)  # a `SimulationProblem`
        numbers = variation.inverse_weights
        return replace(
            problem,
            scene=varied_scene(self.scene, variation),
            ground=ground_placement(variation),
            weights=unpacked(numbers, self.scene, self.layout) if numbers else problem.weights,
        )

    def _new_kernel(self, request: KernelRequest) -> StateKernel:
        return StateKernel(self, request)

    def _robot_digest(self) -> str:
        return f"{super()._robot_digest()} {self.scene!r} {self.settings!r} {self.dtype.__name__}"
