"""Playing a trajectory: a clock that can be stopped and set. Knows no page."""

from __future__ import annotations

import time
from collections.abc import Callable

from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn
from linkwork.viewer.trajectories import Trajectory


class Player:
    """A trajectory and the time at which it is."""

    def __init__(
        self, kd: KinDyn, trajectory: Trajectory, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kd, self.trajectory, self._clock = kd, trajectory, clock
        self.time, self.speed, self.loop = 0.0, 1.0, True
        self._last: float | None = None  # what the clock showed when time was advanced

    @property
    def playing(self) -> bool:
        """Whether the time advances."""
        return self._last is not None

    def start(self) -> None:
        """Play on; from the start if it is at its end."""
        if self.time >= self.trajectory.duration:
            self.time = 0.0
        self._last = self._clock()

    def stop(self) -> None:
        """Stand still."""
        self._last = None

    def seek(self, moment: float) -> None:
        """Go to a time after the first sample [s]."""
        self.time = min(max(float(moment), 0.0), self.trajectory.duration)

    def advance(self) -> None:
        """Let the time go on to now."""
        if self._last is None:
            return
        now = self._clock()
        self.time += (now - self._last) * self.speed
        self._last = now
        duration = self.trajectory.duration
        if self.time < duration:
            return
        if self.loop and duration > 0:
            self.time %= duration
        else:
            self.time = duration
            self.stop()

    def state(self) -> tuple[Array, Array]:
        """q and nu now."""
        return self.trajectory.at(self._kd, self.time)
