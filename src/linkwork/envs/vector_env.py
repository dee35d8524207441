"""`VectorEnv`: thousands of equal environments of a simulation, as gymnasium defines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import thread_number
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.envs.random import uniform
from linkwork.envs.transition import (
    DIVERGED,
    FLAGS,
    OBSERVATIONS,
    REWARD,
    STATE_NAMES,
    TERMINATED,
    TERMS,
    TRUNCATED,
    Carry,
    Function,
    Functions,
    Transition,
    unpacked,
)
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.model.numbers import instance
from linkwork.simulation.core import SimulationState
from linkwork.simulation.simulation import Simulation

Observation = Any  # an array, or a dictionary of arrays


class VectorEnv(gymnasium.vector.VectorEnv[Observation, Array, Array]):
    """Many equal environments of one simulation; a step of all of them is one compiled call.

    The functions are plain Python. Each takes a `linkwork.envs.Row`, which is one environment, and
    is traced once; `docs/envs.md` describes them.

        def observe(row):
            return np.concatenate([row.q, row.nu, row.target])

        def reward(row):
            return {"near": -abs(row.q[0] - row.target[0]), "effort": -0.1 * abs(row.action[0])}

        def reset(row):
            return {"q": row.random.uniform(-1, 1, 2), "target": row.random.uniform(-1, 1, 1)}

        env = lw.VectorEnv(sim, observe=observe, reward=reward, reset=reset, num_envs=4096)

    Args:
        sim: the simulation; its dtype is the precision of all computations.
        observe: the observations: an array, or a dictionary of arrays.
        reward: the reward, or a dictionary of its terms, whose sum it is.
        terminate: a condition that ends an episode, such as a fall.
        reset: the start of an episode: a dictionary of `q`, `nu`, `activation`, and of the entries
            of the memory, which get their names and shapes here; and `parameters`, a dictionary of
            parameters of the simulation. What it does not return is that of `sim.state()`.
        control: the controls of the simulation, at each of its steps; by default the action.
        memory: what the memory is after a step; a dictionary. Entries that it does not return stay
            as they are. It may also return `nu`, for pushes.
        action_range: the lowest and the highest action; actions beyond are clipped. By default,
            the ranges of the actuators; with `control`, one number from -1 to 1 for each actuator.
        substeps: steps of the simulation in one step of the environment.
        max_steps: steps after which an episode is truncated; None for never.
        num_envs: how many environments.
        autoreset_mode: "SameStep", "NextStep" or "Disabled", or a member of
            `gymnasium.vector.AutoresetMode`.
        on_nan: what happens to a row whose state, observation or reward is not finite: "reset" ends
            its episode with a reward of 0, "raise" raises an error.
        threads: the number of threads; by default, all cores. Results do not depend on it.
        copy: whether each step returns new arrays. If not, the next step overwrites them.
        render_mode: "human" to show the first environment on a web page.
        gradient: whether `step` takes actions as a tensor of PyTorch, and returns tensors with
            gradients through all steps since the last `reset`, `restore` or `detach`.
    """

    def __init__(
        self,
        sim: Simulation,
        *,
        observe: Function,
        reward: Function,
        terminate: Function | None = None,
        reset: Function | None = None,
        control: Function | None = None,
        memory: Function | None = None,
        action_range: tuple[ArrayLike, ArrayLike] | None = None,
        substeps: int = 4,
        max_steps: int | None = 1000,
        num_envs: int = 4096,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        on_nan: Literal["reset", "raise"] = "reset",
        threads: int | None = None,
        copy: bool = True,
        render_mode: str | None = None,
        gradient: bool = False,
    ) -> None:
        self.sim = instance(sim, Simulation, "sim")
        self.num_envs = _count("num_envs", num_envs)
        self.substeps = _count("substeps", substeps)
        self.max_steps = None if max_steps is None else _count("max_steps", max_steps)
        self.threads, self.copy = thread_number(threads), copy or gradient
        self.render_mode = render_mode
        if render_mode not in (None, "human"):
            raise ArgumentError(f'render_mode: expected "human" or None, got {shown(render_mode)}')
        if on_nan not in ("reset", "raise"):
            raise ArgumentError(f'on_nan: expected "reset" or "raise", got {shown(on_nan)}')
        self.on_nan = on_nan
        mode = _autoreset(autoreset_mode)
        self.metadata = {
            "autoreset_mode": mode,
            "render_modes": ["human"],
            "render_fps": round(1.0 / self.dt),
        }
        low, high = _bounds(sim, action_range, has_control=control is not None)
        self._transition = Transition(
            sim,
            Functions(
                observe=observe,
                reward=reward,
                terminate=terminate,
                reset=reset,
                control=control,
                memory=memory,
            ),
            bounds=(low, high),
            substeps=self.substeps,
            max_steps=np.inf if self.max_steps is None else self.max_steps,
            autoreset=mode.name.lower(),
            repairs=on_nan == "reset",
        )
        groups: dict[str, gymnasium.Space[Any]] = {
            name: gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
            for name, shape in self._transition.observations.items()
        }
        self._has_groups = list(groups) != ["observe"]
        self.single_observation_space = (
            gymnasium.spaces.Dict(groups) if self._has_groups else groups["observe"]
        )
        self.single_action_space = gymnasium.spaces.Box(
            low.astype(np.float32), high.astype(np.float32), dtype=np.float32
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._allocate()
        self._gradient = None
        if gradient:
            from linkwork.envs.gradient import GradientStep

            self._gradient = GradientStep(self.kernel, len(groups))

    @property
    def dt(self) -> float:
        """The time of one step of the environment [s]."""
        return self.sim.dt * self.substeps

    @property
    def kernel(self) -> Kernel:
        """The compiled step of one environment, with its inputs and derivatives."""
        return self._transition.step

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the terms of the reward."""
        return self._transition.terms

    @property
    def x(self) -> SimulationState:
        """The states of all environments, as arrays that the next step overwrites."""
        return SimulationState(*self._state[: len(STATE_NAMES)])

    @property
    def memory(self) -> dict[str, Array]:
        """The memory of all environments by name: views that may be written to."""
        return self._entries("memory", self._transition.memory)

    @property
    def parameters(self) -> dict[str, Array]:
        """The parameters of the simulation in all environments by name, as views."""
        return self._entries("parameters", self._transition.parameters)

    @property
    def episode_steps(self) -> Array:
        """The number of steps in the episode of each environment: (num_envs,)."""
        return self._state[Carry._fields.index("steps")].astype(np.int64)

    @episode_steps.setter
    def episode_steps(self, value: ArrayLike) -> None:
        self._state[Carry._fields.index("steps")][:] = value

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: determines all random numbers from now on. None continues with those of before.
            options: `reset_mask`, the environments to reset: (num_envs,) of bool; by default all.
        """
        super().reset(seed=seed)
        rows = self._masked(options)
        self._cut()
        if seed is not None or not self._was_reset:
            self._keys[rows] = self.np_random.integers(2**63)
            self._episodes[rows] = -1
        self._episodes[rows] += 1
        started = self._transition.start(self._uniform(rows, 0), threads=self.threads)
        n = len(Carry._fields)
        for array, values in zip(self._state, started[:n], strict=False):
            array[rows] = values
        for array in self._state[n:]:
            array[rows] = 0.0
        for array, values in zip(self._observations, started[n:], strict=True):
            array[rows] = values
        self._prepare_starts(rows)
        self._was_reset = True
        return self._observed(), {}

    def step(self, actions: Array) -> tuple[Observation, Array, Array, Array, dict[str, Any]]:
        """Take a step with an action for each environment: (num_envs, n).

        The dictionary that is returned last has the `terms` of the reward. If an episode ends,
        `final_info` has the `return`, the `steps` and the sums of the `terms` of the episodes, in
        the rows of the mask `_final_info`; with the autoreset SameStep, `final_obs` has the last
        observations, before the reset.
        """
        if self.closed:
            raise ClosedEnvironmentError("step: the environments are closed")
        if not self._was_reset:
            raise ResetNeeded("step: call reset() first")
        given = np.asarray(actions) if self._gradient is None else actions
        if np.shape(given) != self.action_space.shape:
            text = f"actions: expected shape {self.action_space.shape}, got {np.shape(given)}"
            raise ShapeError(f"{text}; one row for each environment")
        before, done = self._state[Carry._fields.index("steps")], self._state[-1] > 0.5
        self._compute(self._uniform(slice(None), before + 1, self._transition.n_random), given)
        if self.on_nan == "raise" and (self._outputs[FLAGS][:, DIVERGED] > 0.5).any():
            raise self._not_finite()
        self._state, self._next = self._next, self._state
        if self._gradient is not None:
            self._gradient.accept()
        terms, flags = self._outputs[TERMS], self._outputs[FLAGS]
        terminated, truncated = flags[:, TERMINATED] > 0.5, flags[:, TRUNCATED] > 0.5
        ended = terminated | truncated
        info: dict[str, Any] = {
            "terms": {name: terms[:, k].copy() for k, name in enumerate(self.terms)}
        }
        if (flags[:, DIVERGED] > 0.5).any():
            info["diverged"] = flags[:, DIVERGED] > 0.5
        if ended.any():
            sums = self._state[-2].copy()
            info["final_info"] = {
                "return": sums.sum(axis=1),
                "steps": before.astype(np.int64) + 1,
                "terms": {name: sums[:, k] for k, name in enumerate(self.terms)},
            }
            info["_final_info"] = ended
        mode, restarted = self.metadata["autoreset_mode"], done
        if mode is AutoresetMode.SAME_STEP:
            restarted = ended
            if ended.any():
                final = self._outputs[OBSERVATIONS + len(self._observations) :]
                info["final_obs"] = self._grouped([part.astype(np.float32) for part in final])
                info["_final_obs"] = ended
        if mode is not AutoresetMode.DISABLED and restarted.any():
            self._episodes[restarted] += 1
            self._prepare_starts(restarted)
        for array, values in zip(self._observations, self._outputs[OBSERVATIONS:], strict=False):
            array[...] = values
        self._rewards[:] = self._outputs[REWARD]
        if self._gradient is not None:
            return self._gradient.results(self._grouped, terminated, truncated, info)
        rewards = self._rewards.copy() if self.copy else self._rewards
        return self._observed(), rewards, terminated, truncated, info

    def detach(self) -> Observation:
        """Forget how the states were computed, with `gradient=True`; return the observations.

        Gradients of later results end here. `reset` and `restore` do the same.
        """
        if self._gradient is None:
            raise ArgumentError("detach: the environments have no gradients; pass gradient=True")
        self._cut()
        return self._observed()

    def save(self) -> dict[str, Any]:
        """Return a copy of the state of all environments, for `restore`."""
        return {
            "state": [array.copy() for array in self._state],
            "observations": [array.copy() for array in self._observations],
            "keys": self._keys.copy(),
            "episodes": self._episodes.copy(),
        }

    def restore(self, saved: Mapping[str, Any]) -> Observation:
        """Continue from a state that `save` returned; returns its observations."""
        shapes = [array.shape for array in saved["state"]]
        if shapes != [array.shape for array in self._state]:
            raise ArgumentError("restore: it was saved by other environments")
        self._cut()
        for array, values in zip(self._state, saved["state"], strict=True):
            array[...] = values
        for array, values in zip(self._observations, saved["observations"], strict=True):
            array[...] = values
        self._keys[:], self._episodes[:] = saved["keys"], saved["episodes"]
        self._prepare_starts(slice(None))
        self._was_reset = True
        return self._observed()

    def render(self) -> None:
        """Show the first environment in the viewer."""
        if self.render_mode == "human":
            self._viewer.show(self.x.q[0])

    def close_extras(self, **kwargs: Any) -> None:
        """Close the viewer."""
        if "_viewer" in self.__dict__:
            self._viewer.close()

    @cached_property
    def _viewer(self) -> Any:
        from linkwork.viewer.viewer import view

        return view(self.sim.kd, open_browser=True)

    def _allocate(self) -> None:
        n, dtype, transition = self.num_envs, self.sim.dtype, self._transition
        ports = self.kernel.signature.outputs
        arrays = [np.zeros((n, *port.shape), dtype) for port in ports]
        count = len(Carry._fields) + 2  # with the sums of the terms, and whether it has ended
        self._state, self._outputs = tuple(arrays[:count]), tuple(arrays[count:])
        self._next = tuple(np.zeros_like(array) for array in self._state)
        self._observations = [
            np.zeros((n, *shape), np.float32) for shape in transition.observations.values()
        ]
        self._rewards = np.zeros(n, np.float32)
        self._keys, self._episodes = np.zeros(n, np.uint64), np.zeros(n, np.int64)
        self._start_random = np.zeros((n, transition.n_start), dtype)
        self._was_reset = False

    def _entries(self, field: str, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        return unpacked(self._state[Carry._fields.index(field)], shapes)

    def _masked(self, options: dict[str, Any] | None) -> Any:
        mask = None if options is None else instance(options, dict, "options").get("reset_mask")
        if mask is None:
            return slice(None)
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            text = f"reset_mask: expected shape ({self.num_envs},) of bool"
            raise ShapeError(f"{text}, got {mask.shape} of {mask.dtype}")
        if not self._was_reset and not mask.all():
            raise ResetNeeded("reset_mask: the first reset is one of all environments")
        return mask

    def _uniform(self, rows: Any, steps: ArrayLike, n: int | None = None) -> Array:
        """Return random numbers of some rows; by default those of a start."""
        n = self._transition.n_start if n is None else n
        numbers = np.arange(self.num_envs)[rows]
        steps = np.broadcast_to(steps, numbers.shape)
        values = uniform(self._keys[rows], numbers, self._episodes[rows], steps, n)
        return values.astype(self.sim.dtype, copy=False)

    def _prepare_starts(self, rows: Any) -> None:
        """Draw the random numbers with which some rows start again."""
        self._episodes[rows] += 1
        self._start_random[rows] = self._uniform(rows, 0)
        self._episodes[rows] -= 1

    def _grouped(self, arrays: Sequence[Any]) -> Observation:
        if not self._has_groups:
            return arrays[0]
        return dict(zip(self._transition.observations, arrays, strict=True))

    def _observed(self) -> Observation:
        arrays = [array.copy() for array in self._observations] if self.copy else self._observations
        if self._gradient is not None:
            arrays = self._gradient.tensors(arrays)
        return self._grouped(arrays)

    def _compute(self, random: Array, actions: Any) -> None:
        """Compute the next state and the other outputs of a step."""
        if self._gradient is not None:
            results = self._gradient(random, self._start_random.copy(), actions)
            n = len(self._state)
            self._next, self._outputs = results[:n], results[n:]
        else:
            inputs = (*self._state, random, self._start_random, actions)
            self.kernel(*inputs, out=(*self._next, *self._outputs), threads=self.threads)

    def _cut(self) -> None:
        """Start another graph of PyTorch, whose first states are copies."""
        if self._gradient is not None:
            self._state = tuple(array.copy() for array in self._state)
            self._gradient.start(self._state)

    def _not_finite(self) -> ValueRangeError:
        """Build the error for rows that diverged, which names the first row and what diverged."""
        mask = self._outputs[FLAGS][:, DIVERGED] > 0.5
        row = int(np.argmax(mask))
        names = [*Carry._fields, "sums", "done"]
        parts = {name: array[row] for name, array in zip(names, self._next, strict=True)}
        parts |= {
            f"reward {name!r}": v
            for name, v in zip(self.terms, self._outputs[TERMS][row], strict=True)
        }
        final = self._outputs[-len(self._observations) :]
        groups = zip(self._transition.observations, final, strict=True)
        parts |= {f"observation {name!r}": array[row] for name, array in groups}
        wrong = [name for name, part in parts.items() if not np.isfinite(part).all()]
        text = f"environment {row}: not finite: {', '.join(wrong) or 'its state is too large'}"
        error = ValueRangeError(f"{text} ({int(mask.sum())} of {self.num_envs} environments)")
        error.mask = mask
        return error


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ArgumentError(f"{name}: expected a positive integer, got {shown(value)}")
    return int(value)


def _autoreset(mode: Any) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        modes = ", ".join(repr(one.value) for one in AutoresetMode)
        raise ArgumentError(f"autoreset_mode: expected {modes}, got {shown(mode)}") from None


def _bounds(
    sim: Simulation, action_range: tuple[ArrayLike, ArrayLike] | None, *, has_control: bool
) -> tuple[Array, Array]:
    """Return the lowest and the highest action."""
    if action_range is None:
        ranges = [one.control_range for one in sim.scene.actuators]
        ranges = [(-1.0, 1.0)] * len(ranges) if has_control else ranges
        low, high = np.array(ranges, np.float64).reshape(-1, 2).T
    else:
        try:
            low, high = (as_array(one, "action_range").astype(np.float64) for one in action_range)
        except (TypeError, ValueError):
            text = f"action_range: expected (low, high), got {shown(action_range)}"
            raise ArgumentError(text) from None
        if low.ndim == high.ndim == 0:
            low = np.broadcast_to(low, (sim.n_controls,))
        low, high = np.broadcast_arrays(low, high)
    if low.ndim != 1 or not (low < high).all():
        raise ArgumentError("action_range: the lowest action must be below the highest")
    return low.copy(), high.copy()
