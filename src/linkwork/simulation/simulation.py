"""`Simulation`: a robot on the ground, with MuJoCo's contact physics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import inf
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, as_array, batch_of
from linkwork.errors import ArgumentError, ShapeError, name_not_found, shown, warn_once
from linkwork.kindyn import KinDyn
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.inputs import PARAMETERS
from linkwork.model.model import Model
from linkwork.model.numbers import as_floats, finite, number
from linkwork.parameters.descriptions import Parameter
from linkwork.simulation.constraints.solver import Settings
from linkwork.simulation.contacts import n_slots, problem_of
from linkwork.simulation.core import (
    STATE,
    Linearization,
    SimulationCore,
    SimulationState,
    StateKernel,
)
from linkwork.simulation.forces import has_activation
from linkwork.simulation.ground import scene_on_ground
from linkwork.simulation.scene import INITIAL, Keyframe, Scene
from linkwork.spatial.source import quat

STEEP = 0.1  # vertical part of the normals of walls, on which no robot is placed


class Simulation(SimulationCore):
    """Robots on fixed ground, in steps: contacts with friction, actuators, limits.

    The physics is that of MuJoCo: the same soft, convex contact problem, so that MJCF files mean
    the same and states can be compared one by one. A step is a compiled function of one state,
    for any number of rows, with exact derivatives.

    A simulation is immutable and has no state: `sim.step(x, u)` returns the next states.

        sim = lw.Simulation("go2.xml")
        x = sim.state("home", batch=4096)
        x = sim.step(x, sim.control("home"))

    Args:
        source: path or text of an MJCF file, a `mujoco.MjModel`, a `Model` or a `KinDyn`.
        scene: ground, contacts, actuators and options of a `Model`; replaces the next four.
        ground: True if the collision shapes of a `Model` touch the plane z = 0, or the names of the
            links whose shapes do. Each shape takes time, also to compile.
        dt: time step [s] of a `Model`.
        friction: coefficient of the contacts of a `Model`.
        servos: stiffness [N m/rad] and damping [N m s/rad] of position servos, which the joints of
            a `Model` have in place of motors: controls are positions.
        base, floating: of a `Model`, as `KinDyn` takes them.
        iterations: most Newton steps of the solver in one time step.
        touchdown_gradient: distance [m] from which contacts act in derivatives, though they do not
            touch yet: optimization with gradients then finds contacts. 0 for exact derivatives.
        tolerance: of the solver: norm of the gradient over the trace of the mass matrix.
        dtype: numpy.float64 or numpy.float32.
        check: whether to reject input that is not finite, and results that diverge.
        parameters: `lw.parameters` that are inputs of steps instead of constants, as of `KinDyn`.
        strict: whether contacts, sensors and other parts of the file that a simulation leaves out
            are errors. If not, a warning names them, and `sim.ignored` lists them.
    """

    def __init__(
        self,
        source: str | bytes | PathLike[str] | Model | KinDyn | Any,
        *,
        scene: Scene | None = None,
        ground: bool | Iterable[str] = False,
        dt: float | None = None,
        friction: float | None = None,
        servos: tuple[float, float] | None = None,
        base: str | None = None,
        floating: bool | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        touchdown_gradient: float = 0.0,
        dtype: Any = np.float64,
        check: bool = False,
        parameters: Iterable[Parameter] = (),
        strict: bool = False,
    ) -> None:
        given = {
            "ground": None if ground is False else ground,
            "dt": dt,
            "friction": friction,
            "servos": servos,
            "base": base,
        }
        used = [
            name for name, value in {**given, "floating": floating}.items() if value is not None
        ]
        if isinstance(source, KinDynCore):
            base, floating = source.base, source.floating
            source = source.model
        if isinstance(source, Model):
            model = source
            if scene is None:
                model, scene = scene_on_ground(
                    model,
                    ground=ground,
                    dt=dt,
                    friction=friction,
                    servos=servos,
                    base=base,
                    floating=floating,
                )
        else:
            from linkwork.simulation.mjcf.read import read_simulation

            if used or scene is not None:
                name = used[0] if used else "scene"
                raise ArgumentError(f"{name}: the file has it; it is an option of a Model")
            model, scene = read_simulation(source, strict=strict)
        scene = _supported(model, scene, strict=strict)
        defaults = Settings()
        settings = Settings(
            iterations=defaults.iterations if iterations is None else _count(iterations),
            tolerance=_not_negative(
                defaults.tolerance if tolerance is None else tolerance, "tolerance"
            ),
            touchdown_gradient=_not_negative(touchdown_gradient, "touchdown_gradient"),
        )
        super().__init__(
            model,
            scene=scene,
            settings=settings,
            dtype=dtype,
            check=check,
            parameters=parameters,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options with which `Simulation(sim.model, **options)` creates an equal object."""
        return {
            "scene": self.scene,
            "iterations": self.settings.iterations,
            "tolerance": self.settings.tolerance,
            "touchdown_gradient": self.settings.touchdown_gradient,
            "dtype": self.dtype,
            "check": self.check,
            "parameters": self._descriptions,
        }

    def __repr__(self) -> str:
        """Show the sizes of states, contacts and controls."""
        sizes = f"nq={self.nq}, nv={self.nv}, {len(self.contacts)} contacts"
        return f"<Simulation of {self.model.name!r}: {sizes}, {self.n_controls} controls>"

    @cached_property
    def kd(self) -> KinDyn:
        """Kinematics and dynamics of the robot, without the ground."""
        return KinDyn(
            self.model,
            self.base,
            floating=self.floating,
            gravity=self.scene.options.gravity,
            dtype=self.dtype,
        )

    @property
    def step(self) -> StateKernel:
        """The kernel of a time step: `step(x, u)` or `step(*x, u)` returns the next state.

        It takes states and controls with any batch axes, and has everything that kernels have:
        `out=`, `threads=`, `vjp`, `jvp`, `jacobian`. Derivatives are those of the solution, not of
        the iterations of the solver. `lw.rollout(sim.step, x, controls)` takes many steps.
        """
        return self._of("step", ())  # pyright: ignore[reportReturnType]

    @property
    def forward(self) -> StateKernel:
        """The kernel of what acts in a state: `forward(x, u)` returns a `Forward`."""
        return self._of("forward", ())  # pyright: ignore[reportReturnType]

    def rollout(
        self,
        x: SimulationState,
        controls: ArrayLike,
        parameters: ArrayLike | None = None,
        **options: Any,
    ) -> SimulationState:
        """Take many steps, in C: `lw.rollout(sim.step, x, controls)`.

        Args:
            x: the states at the start.
            controls: (..., steps, n_controls).
            parameters: (..., n) if the simulation has any; by default the values of the model.
            options: of `lw.rollout`, such as `threads`.

        Returns:
            the states before and after each step: (..., steps + 1, n).
        """
        from linkwork.engine.kernel.rollout import rollout

        params = self._parameters_of_call(parameters)
        start = tuple(self._state(x))
        return SimulationState(*rollout(self.step, start, controls, params=params, **options))

    def _parameters_of_call(self, parameters: ArrayLike | None) -> dict[str, ArrayLike]:
        if parameters is None and not self._descriptions:
            return {}
        return {PARAMETERS: self.parameter_values() if parameters is None else parameters}

    def linearize(
        self, x: SimulationState, u: ArrayLike, parameters: ArrayLike | None = None
    ) -> Linearization:
        """Return the derivatives of a step in the tangent space of q, and in nu and activation.

        With dx = (dq, dnu, da), where dq is a tangent as `kd.integrate` takes it,

            dx after the step = A dx + B du
        """
        inputs = ("q", "nu", "activation", "control")
        x, given = self._state(x), self._parameters_of_call(parameters).values()
        after = self.step(*x, u, *given)
        jacobians = iter(self.step.jacobian(*inputs)(*x, u, *given))
        rows = [[np.asarray(next(jacobians)) for _ in inputs] for _ in STATE[:3]]
        E, E_T = self.kd.velocity_kinematics(x.q), self.kd.velocity_kinematics_inverse(after.q)
        rows[0] = [E_T @ block for block in rows[0]]
        for row in rows:
            row[0] = row[0] @ E
        A = np.concatenate([np.concatenate(row[:3], axis=-1) for row in rows], axis=-2)
        return Linearization(A, np.concatenate([row[3] for row in rows], axis=-2))

    @property
    def controls(self) -> tuple[str, ...]:
        """The names of the controls, one for each actuator."""
        return tuple(one.name for one in self.scene.actuators)

    @property
    def n_controls(self) -> int:
        """The number of controls."""
        return len(self.scene.actuators)

    @property
    def contacts(self) -> tuple[str, ...]:
        """The names of the contact slots: the pair, and a number if it has several."""
        names: list[str] = []
        for pair in self.scene.contacts:
            n = n_slots(pair)
            names += [pair.name] if n == 1 else [f"{pair.name}:{k}" for k in range(n)]
        return tuple(names)

    @property
    def sensors(self) -> Mapping[str, slice]:
        """Where the values of each sensor are in `forward(x, u).sensors`, by its name."""
        ends = list(accumulate(one.size for one in self.scene.sensors))
        return {
            one.name: slice(end - one.size, end)
            for one, end in zip(self.scene.sensors, ends, strict=True)
        }

    @property
    def ignored(self) -> tuple[str, ...]:
        """What the file has and the simulation leaves out."""
        return self.scene.ignored

    @property
    def dt(self) -> float:
        """The time step [s]."""
        return self.scene.options.timestep

    def state(
        self,
        keyframe: str | None = None,
        *,
        q: ArrayLike | None = None,
        nu: ArrayLike | None = None,
        activation: ArrayLike | None = None,
        qpos: ArrayLike | None = None,
        qvel: ArrayLike | None = None,
        batch: int | tuple[int, ...] | None = None,
    ) -> SimulationState:
        """Return states: at rest in the pose of the file, or neutral, unless something is given.

        Args:
            keyframe: the name of a keyframe of the file, or of a configuration of the model.
            q, nu: configurations and velocities; they replace those of the keyframe.
            activation: of the actuators that have one.
            qpos, qvel: the same in MuJoCo's convention.
            batch: batch axes in addition, all with the same state.
        """
        key = self._keyframe(keyframe)
        if qpos is not None:
            q = _only(q, "q", self._q_of(qpos))
        if q is None:
            q = key.q or self.layout.neutral()
        positions = self._checked("q", q, self.nq)
        if qvel is not None:
            nu = _only(nu, "nu", self._nu_of(positions, qvel))
        n = sum(map(has_activation, self.scene.actuators))
        velocities = self._checked("nu", key.nu or np.zeros(self.nv) if nu is None else nu, self.nv)
        states = self._checked(
            "activation", key.activation or np.zeros(n) if activation is None else activation, n
        )
        parts = (positions, velocities, states, np.zeros(self.nv, self.dtype))
        return _of_one_batch(parts, () if batch is None else _axes(batch))

    def place_on_ground(
        self, x: SimulationState, clearance: float = 0.0, parameters: ArrayLike | None = None
    ) -> SimulationState:
        """Lift or lower floating robots until their lowest contact is above the ground.

        Args:
            x: states; also of robots that are below the ground.
            clearance: of the lowest contact [m].
            parameters: (..., n) if the simulation has any; by default the values of the model.
        """
        if not (self.floating and self.contacts):
            return x
        x, given = self._state(x), self._parameters_of_call(parameters).values()
        height = finite(clearance, "clearance")
        now = self.forward(*x, np.zeros(self.n_controls), *given)
        upward = np.abs(now.contact_frames[..., 2, 0])  # entries of normals
        rise = (height - now.distances) / np.maximum(upward, STEEP)
        rise = np.where(upward > STEEP, rise, -np.inf)
        q = np.array(x.q)
        q[..., 2] += np.nan_to_num(rise.max(axis=-1), neginf=0.0)
        return x._replace(q=q)

    def control(self, keyframe: str) -> Array:
        """Return the controls (n_controls,) of a keyframe."""
        key = self._keyframe(keyframe)
        return self._checked("control", key.control or np.zeros(self.n_controls), self.n_controls)

    def qpos(self, x: SimulationState) -> Array:
        """Return q in MuJoCo's convention."""
        return self._state(x).q + self._references

    def qvel(self, x: SimulationState) -> Array:
        """Return nu in MuJoCo's convention: the angular velocity of the base is in its own axes."""
        x = self._state(x)
        return self._turned(x.q, x.nu, to_mujoco=True)

    def to_mjcf(self, path: str | PathLike[str] | None = None) -> str:
        """Return the simulation as MJCF, for MuJoCo: robot, ground, contacts, actuators, options.

        Args:
            path: the file to write in addition.
        """
        from linkwork.simulation.mjcf.write import write_simulation

        return write_simulation(self.model, self.scene, path)

    def _state(self, x: Any) -> SimulationState:
        """Check states; return arrays with the same batch axes."""
        if not isinstance(x, tuple) or len(parts := tuple(x)) != len(STATE):  # pyright: ignore
            raise ArgumentError(f"x: expected a SimulationState, got {shown(x)}")
        sizes = (self.nq, self.nv, sum(map(has_activation, self.scene.actuators)), self.nv)
        names = (one.name for one in STATE)
        return _of_one_batch([self._checked(*one) for one in zip(names, parts, sizes, strict=True)])

    def _q_of(self, qpos: ArrayLike) -> Array:
        return self._checked("qpos", qpos, self.nq) - self._references

    def _nu_of(self, q: Array, qvel: ArrayLike) -> Array:
        return self._turned(q, self._checked("qvel", qvel, self.nv), to_mujoco=False)

    def _turned(self, q: Array, rates: Array, *, to_mujoco: bool) -> Array:
        """Convert the angular velocity of the base: in MuJoCo, it is in its own axes."""
        axes = np.broadcast_shapes(q.shape[:-1], rates.shape[:-1])
        rates = np.broadcast_to(rates, (*axes, self.nv)).copy()
        if self.floating:
            R = quat.to_rotation(q[..., self.layout.base_wxyz])
            turned = "ji" if to_mujoco else "ij"
            rates[..., 3:6] = np.einsum(f"...{turned},...j->...i", R, rates[..., 3:6])
        return rates

    @cached_property
    def _references(self) -> Array:
        """(nq,) qpos - q."""
        offsets = np.zeros(self.nq, self.dtype)
        for name, value in self.scene.references:
            offsets[self.layout.q[name]] = value
        return offsets

    def _keyframe(self, name: str | None) -> Keyframe:
        keyframes = {key.name: key for key in self.scene.keyframes}
        if name is None:
            return keyframes.get(INITIAL, Keyframe(name=""))
        if not isinstance(name, str):
            raise ArgumentError(f"keyframe: expected a name, got {shown(name)}")
        if name in keyframes:
            return keyframes[name]
        named = {one.name for one in self.model.configurations}
        if name in named:
            return Keyframe(name=name, q=tuple(self.kd.q(name).tolist()))
        raise name_not_found("keyframe", name, [*keyframes, *named])

    def _checked(self, name: str, value: ArrayLike, size: int) -> Array:
        array = as_array(as_floats(value, name), name).astype(self.dtype, copy=False)
        if array.ndim < 1 or array.shape[-1] != size:
            raise ShapeError(f"{name}: expected shape (..., {size}), got {array.shape}")
        return array


def _supported(model: Model, scene: Scene, *, strict: bool) -> Scene:
    """Return the scene without the contacts that cannot be computed, which a warning names."""
    from dataclasses import replace

    problems = {pair.name: text for pair in scene.contacts if (text := problem_of(pair))}
    if problems:
        texts = tuple(f"contact {name!r}: {text}" for name, text in problems.items())
        if strict:
            raise ArgumentError(f"{model.name}: {'; '.join(texts)}")
        kept = tuple(pair for pair in scene.contacts if pair.name not in problems)
        scene = replace(scene, contacts=kept, ignored=(*scene.ignored, *texts))
    if scene.ignored:
        first = "; ".join(scene.ignored[:3])
        more = f" and {len(scene.ignored) - 3} more" if len(scene.ignored) > 3 else ""
        text = f"{model.name}: the simulation leaves out {first}{more}; `sim.ignored` lists them"
        warn_once(f"ignored of {model.name}: {scene.ignored}", text)
    return scene


def _axes(batch: Any) -> tuple[int, ...]:
    """Batch axes from their sizes, or from one size."""
    axes = batch if isinstance(batch, tuple) else (batch,)
    if any(isinstance(n, bool) or not isinstance(n, Integral) or int(n) < 0 for n in axes):
        raise ArgumentError(f"batch: expected a number of rows or a tuple, got {shown(batch)}")
    return axes


def _of_one_batch(parts: Sequence[Array], axes: tuple[int, ...] = ()) -> SimulationState:
    """States whose parts have the same batch axes, and some in addition."""
    common = batch_of([one.name for one in STATE], [part.shape[-1:] for part in parts], parts)
    shapes = [(*axes, *common, part.shape[-1]) for part in parts]
    full = [np.broadcast_to(*one).copy() for one in zip(parts, shapes, strict=True)]
    return SimulationState(*full)


def _only(other: Any, name: str, value: Array) -> Array:
    if other is not None:
        raise ArgumentError(f"{name}: it is given twice, also in MuJoCo's convention")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(f"iterations: expected a positive integer, got {shown(value)}")
    return value


def _not_negative(value: Any, name: str) -> float:
    if not 0.0 <= (checked := number(value, name)) < inf:
        raise ArgumentError(f"{name}: expected a number of at least 0, got {shown(value)}")
    return checked
