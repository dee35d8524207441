"""A simulation that runs at the speed of a clock, and can be stopped, reset and pushed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ShapeError, ValueRangeError
from linkwork.simulation.core import SimulationState
from linkwork.simulation.simulation import Simulation

LONGEST = 0.1  # simulated at once [s]: a simulation slower than the clock falls behind

Control: TypeAlias = ArrayLike | Callable[[SimulationState], ArrayLike]


class LiveSimulation:
    """One robot and its state."""

    def __init__(
        self,
        sim: Simulation,
        x: SimulationState | None = None,
        control: Control | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start at a state, stopped.

        Args:
            sim: of the robot.
            x: the state, of one row.
            control: (n_controls,), or a function of the state; zeros by default.
            clock: returns the time [s].
        """
        self.sim, self.x = sim, sim.place_on_ground(sim.state()) if x is None else x
        if self.x.q.shape != (sim.nq,):
            raise ShapeError(f"x: expected one state, q of shape ({sim.nq},), got {self.x.q.shape}")
        self._control: Control = np.zeros(sim.n_controls) if control is None else control
        self._start, self._clock = self.x, clock
        self._last: float | None = None  # clock reading up to which it is simulated
        self.time, self.speed = 0.0, 1.0

    @property
    def running(self) -> bool:
        """Whether the time advances."""
        return self._last is not None

    def start(self) -> None:
        """Run."""
        self._last = self._clock()

    def stop(self) -> None:
        """Stop in the current state."""
        self._last = None

    def reset(self) -> None:
        """Return to the start."""
        self.x, self.time = self._start, 0.0

    def control(self) -> Array:
        """Return the controls in the current state."""
        u = self._control(self.x) if callable(self._control) else self._control
        return np.asarray(u, dtype=float)

    def step(self) -> None:
        """Take one step."""
        after = self.sim.step(self.x, self.control())
        if not (np.isfinite(after.q).all() and np.isfinite(after.nu).all()):
            raise ValueRangeError(f"the simulation diverged after {self.time:.3g} s; reset it")
        self.x, self.time = after, self.time + self.sim.dt

    def advance(self) -> None:
        """Take the steps up to now."""
        if self._last is None:
            return
        now = self._clock()
        due = (now - self._last) * self.speed
        for _ in range(int(min(due, LONGEST) / self.sim.dt)):
            self.step()
        rest = due % self.sim.dt if due < LONGEST else 0.0
        self._last = now - rest / self.speed

    def push(self, frame: str, impulse: ArrayLike) -> None:
        """Hit the origin of a frame with an impulse (3,) [N s] along the axes of the world."""
        kd, q = self.sim.kd, self.x.q
        M = kd.mass_matrix(q)
        for one in self.sim.scene.joints:
            axes = range(*kd.layout.nu[one.joint].indices(kd.nv))
            M[axes, axes] += one.armature
        change = np.linalg.solve(M, kd.jacobian(frame, q)[:3].T @ np.asarray(impulse, float))
        self.x = self.x._replace(nu=self.x.nu + change)
