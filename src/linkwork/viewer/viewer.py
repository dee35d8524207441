"""The viewer: robots or a workcell on a page, moved from the page or by a program."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, name_not_found, warn
from linkwork.model.layout import BASE_NQ
from linkwork.viewer.camera import Camera
from linkwork.viewer.cell import ViewedCell
from linkwork.viewer.cell_stage import CellStage
from linkwork.viewer.colors import COM, TRACE, Rgb
from linkwork.viewer.extent import extent_of
from linkwork.viewer.host import Host
from linkwork.viewer.marks import Trace, add_arrow
from linkwork.viewer.panel import choose_robot
from linkwork.viewer.parts import drawing_of
from linkwork.viewer.redraw import RedrawThread
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.server import LOCAL, open_server
from linkwork.viewer.stage import RobotStage
from linkwork.viewer.theme import apply_theme
from linkwork.viewer.trajectories import read_trajectory, trajectory
from linkwork.workcell.state import State

CHART_PERIOD = 0.1  # between two drawings of charts and traces [s]
ANYWHERE = ("0.0.0.0", "::")  # addresses that mean all of a machine


class Viewer:
    """A page with robots on it. `lw.view` makes one.

    All methods may be called from any thread. In a notebook, a viewer that is the last value of a
    cell shows its page there.
    """

    def __init__(
        self,
        robots: Sequence[ViewedRobot],
        cell: ViewedCell | None = None,
        *,
        host: str = LOCAL,
        port: int | None = None,
        dark: bool = False,
    ) -> None:
        """Open the page; `lw.view` documents the arguments."""
        title = cell.cell.name if cell else ", ".join(robot.name for robot in robots)
        drawings = [drawing_of(robot.kd.model) for robot in robots]  # before anything is opened
        self._server = open_server(host, port, title)
        self._address = host
        self._closed = False
        self._redraw: RedrawThread | None = None
        self._failures: set[str] = set()  # of drawing, reported already
        self._traces: list[Trace] = []
        self._changed: set[str | None] = set()  # robots that have moved; None for the workcell
        self._late: set[str | None] = set()  # robots whose charts are still to be drawn
        self._charts_at = 0.0  # when they were drawn last
        self._host = Host(self._server, self._moved)
        with self._host.lock:
            self._theme = self._server.gui.add_checkbox("Dark", bool(dark))
            self._theme.on_update(lambda _: self._apply_theme())
            self._cell = CellStage(self._host, cell) if cell else None
            self._extent = self._cell.extent() if self._cell else extent_of(robots, drawings)
            self._stages = {
                robot.name: RobotStage(self._host, robot, drawing, self._extent, own=cell is None)
                for robot, drawing in zip(robots, drawings, strict=True)
            }
            choose_robot(self._server, {n: s.panel.folder for n, s in self._stages.items()})
            self._grid: Any = None
            self._apply_theme()
            self._changed.update(self._stages, [None] if cell else [])
            self._draw()  # charts follow from the thread: they take kernels of their own
            self._host.camera = Camera(self._server, self._extent)
        self._redraw = RedrawThread(self._tick, self._report_failure)
        self._redraw.wake()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"at {self.url}"
        return f"<Viewer of {', '.join(self._stages) or 'nothing'} {state}>"

    def _repr_html_(self) -> str:
        """The page inside a notebook."""
        return (
            f'<iframe src="{escape(self.url)}" width="100%" height="600"'
            ' style="border:0" title="linkwork viewer"></iframe>'
        )

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # Where it is.

    @property
    def url(self) -> str:
        """The address of the page."""
        name = "localhost" if self._address in ANYWHERE else self._address
        shown_name = f"[{name}]" if ":" in name else name
        return f"http://{shown_name}:{self._server.get_port()}"

    @property
    def server(self) -> Any:
        """The `viser.ViserServer`, to add more to the scene or the controls."""
        return self._server

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots; in a workcell, of its devices with joints."""
        return tuple(self._stages)

    def open(self) -> None:
        """Open the page in a browser."""
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Wait until the viewer is closed or the program is interrupted (Ctrl-C)."""
        while not self._closed:
            time.sleep(0.2)

    def close(self) -> None:
        """Close the page and end its threads."""
        if not self._closed:
            self._closed = True
            if self._redraw:
                self._redraw.close()
            with redirect_stdout(StringIO()):  # it says that it has stopped
                self._server.stop()

    # Showing states.

    def show(
        self,
        q: ArrayLike | Mapping[str, ArrayLike] | State,
        nu: ArrayLike | None = None,
        *,
        robot: str | None = None,
    ) -> None:
        """Show a configuration; as often as you like, from your own loop.

        Args:
            q: (nq,) with the base, or the joints alone; by the name of the robot, if there are
                several; or a `State` of the workcell.
            nu: the velocity that belongs to it, with or without the base; zero if not given.
            robot: which one; not needed if there is only one.
        """
        if self._cell is None and not isinstance(q, (State, Mapping)):
            self._stage(robot).show(q, nu)  # without the lock: a loop does not wait for drawing
            return
        with self._host.lock:
            if isinstance(q, State):
                if self._cell is None:
                    raise ArgumentError("a State is of a workcell, and this viewer shows none")
                self._cell.viewed.set_state(q)
                self._moved(self._cell)
            elif isinstance(q, Mapping):
                given: Mapping[str, Any] = q
                for name, own in given.items():
                    self._stage(name).show(own)
            else:
                self._stage(robot).show(q, nu)

    def q(self, robot: str | None = None) -> Array:
        """(nq,) where a robot is now; without its base if that is fixed."""
        with self._host.lock:
            viewed = self._stage(robot).robot
            return (viewed.q[BASE_NQ:] if viewed.fixed else viewed.q).copy()

    @property
    def state(self) -> State:
        """The state of the workcell now."""
        if self._cell is None:
            raise ArgumentError("this viewer shows robots and no workcell")
        return self._cell.viewed.state

    def grip(self, frame: str, gripper: str) -> None:
        """In a workcell, let a frame be carried by another from where it is."""
        with self._host.lock:
            cell = self._need_cell()
            cell.viewed.grip(frame, gripper)
            self._moved(cell)

    def release(self, frame: str) -> None:
        """In a workcell, let a gripped frame stay where it is."""
        with self._host.lock:
            cell = self._need_cell()
            cell.viewed.release(frame)
            self._moved(cell)

    def play(
        self,
        source: str | PathLike[str] | ArrayLike,
        times: ArrayLike | None = None,
        *,
        robot: str | None = None,
        start: bool = True,
    ) -> None:
        """Play a trajectory; the page has a slider for its time.

        Args:
            source: a .npy or .csv file, or an array (n, nq), with or without the base.
            times: (n,) of an array [s]; every 1/50 s if not given.
            robot: which one; not needed if there is only one.
            start: whether to play at once; else it stands at its start.
        """
        with self._host.lock:
            stage = self._stage(robot)
            kd = stage.robot.kd
            if isinstance(source, (str, PathLike)):
                if times is not None:
                    raise ArgumentError("times: a file has its own; they are for arrays")
                found = read_trajectory(kd, source)
            else:
                found = trajectory(kd, source, times)
            stage.load(found)
            stage.play(start)

    # What is drawn.

    def look(
        self,
        *,
        com: bool | None = None,
        inertias: bool | None = None,
        torques: bool | None = None,
        opacity: float | None = None,
        robot: str | None = None,
    ) -> None:
        """Show or hide what the tab `Look` offers; what is not given stays as it is."""
        with self._host.lock:
            panel = self._stage(robot).panel
            wanted = {"com": com, "inertias": inertias, "torques": torques, "opacity": opacity}
            for name, value in wanted.items():
                if value is not None:
                    panel.looks[name].value = value

    def frames(self, *names: str, visible: bool = True, robot: str | None = None) -> None:
        """Show or hide triads of frames."""
        with self._host.lock:
            stage = self._stage(robot)
            for name in names:
                stage.robot.kd.model.frame_index(name)
                stage.panel.triads[name].value = visible

    def inspect(
        self, frame: str | None, *, manipulability: bool = False, robot: str | None = None
    ) -> None:
        """Show pose, velocity and Jacobian of a frame, and its manipulability ellipsoid."""
        with self._host.lock:
            stage = self._stage(robot)
            if frame is not None:
                stage.robot.kd.model.frame_index(frame)
            stage.panel.ellipsoid.value = manipulability
            stage.panel.frame.value = "(none)" if frame is None else frame

    def drag(self, frame: str | None, *, robot: str | None = None) -> None:
        """Give a frame handles by which it can be dragged; None takes them away."""
        with self._host.lock:
            stage = self._stage(robot)
            if frame is not None:
                stage.robot.kd.model.frame_index(frame)
            stage.drag_frame(frame)

    def trace(
        self, frame: str, *, robot: str | None = None, length: int = 2000, color: Rgb = TRACE
    ) -> Trace:
        """Draw the way that a frame takes from now on.

        Args:
            frame: whose origin.
            robot: which one; not needed if there is only one.
            length: how many points are kept, 2 or more.
            color: red, green, blue, each 0 to 255.

        Returns:
            the trace: `points` are (n, 3), `clear()` begins anew, `remove()` ends it.
        """
        with self._host.lock:
            made = Trace(self._server, self._stage(robot).robot, frame, length, color)
            made.add()
            self._traces.append(made)
            return made

    def arrow(
        self,
        name: str,
        start: ArrayLike,
        vector: ArrayLike,
        *,
        color: Rgb = COM,
        radius: float = 0.01,
    ) -> Any:
        """Draw an arrow, such as a force; another of the same name takes its place.

        Args:
            name: of the arrow.
            start: (3,) its start in the world [m].
            vector: (3,) from its start to its tip [m].
            color: red, green, blue, each 0 to 255.
            radius: of its shaft [m].

        Returns:
            its node in the scene; `remove()` takes it away.
        """
        with self._host.lock:
            return add_arrow(self._server, name, start, vector, color=color, radius=radius)

    # Inside.

    def _stage(self, name: str | None) -> RobotStage:
        if name is None:
            if len(self._stages) == 1:
                return next(iter(self._stages.values()))
            told = f"say which robot: {', '.join(self._stages)}"
            raise ArgumentError(told if self._stages else "there is no robot")
        if not isinstance(name, str) or name not in self._stages:
            raise name_not_found("robot", name, self._stages)
        return self._stages[name]

    def _need_cell(self) -> CellStage:
        if self._cell is None:
            raise ArgumentError("this viewer shows robots and no workcell")
        return self._cell

    def _moved(self, stage: RobotStage | CellStage) -> None:
        """Something has moved: remember it, and have it drawn."""
        own = stage.robot.name if isinstance(stage, RobotStage) else None
        if self._cell is not None and own is not None:
            self._cell.viewed.take(own)
        self._changed.add(own)
        for trace in self._traces:
            if self._cell is not None or trace.robot.name == own:
                trace.add()
        if self._redraw:
            self._redraw.wake()

    def _tick(self) -> bool:
        """Advance trajectories and draw what has changed; whether to come again."""
        with self._host.lock:
            if self._closed:
                return False
            going = True in [stage.tick() for stage in self._stages.values()]
            self._draw()
            late = time.monotonic() - self._charts_at
            if late < CHART_PERIOD:
                return True
            return self._draw_charts() or going

    def _report_failure(self, error: Exception) -> None:
        """Warn once about each failure of drawing, in the program and on the page."""
        text = f"{type(error).__name__}: {error}"
        if self._closed or text in self._failures:
            return
        self._failures.add(text)
        message = f"the viewer could not draw ({text}); it goes on with the next change"
        warn(message)
        self._host.notify(message)

    def _draw(self) -> None:
        """Draw all that has moved."""
        names = set(self._changed)
        self._changed -= names  # what moves meanwhile is drawn next time
        self._late |= names
        if self._cell is not None and names:
            self._cell.draw()
            names = set(self._stages)
        for name in names - {None}:
            self._stages[str(name)].draw()

    def _draw_charts(self) -> bool:
        """Draw charts and traces of what has moved since they were drawn; whether there was any."""
        names, self._late = self._late, set()
        if self._cell is not None and names:
            names = set(self._stages)
        for name in names - {None}:
            self._stages[str(name)].draw_charts()
        for trace in self._traces:
            trace.draw()
        self._charts_at = time.monotonic()
        return bool(names)

    def flush(self) -> None:
        """Draw all that has changed now, instead of within a few hundredths of a second."""
        with self._host.lock:
            self._draw()
            self._draw_charts()
        self._server.flush()

    def _apply_theme(self) -> None:
        self._grid = apply_theme(self._server, dark=bool(self._theme.value), extent=self._extent)
