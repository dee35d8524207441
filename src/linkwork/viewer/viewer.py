"""The viewer: robots or a workcell on a web page, moved from the page or by a program."""

from __future__ import annotations

import atexit
import sys
import time
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from html import escape
from importlib.util import find_spec
from io import StringIO
from os import PathLike
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from linkwork.collision.obstacles import Obstacles
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, name_not_found, shown, warn
from linkwork.kindyn import KinDyn
from linkwork.model.geometry import Shape
from linkwork.model.layout import BASE_NQ
from linkwork.model.model import Model
from linkwork.simulation.core import SimulationState
from linkwork.simulation.simulation import Simulation
from linkwork.viewer.cell import CellController, ViewedCell
from linkwork.viewer.drawing import COM, OBSTACLE, TRACE, Rgb, drawing_of, viewer_package
from linkwork.viewer.live import Control, LiveSimulation
from linkwork.viewer.overlays import Trace, add_arrow, add_ground, add_obstacles
from linkwork.viewer.panel import NONE, choose_robot
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.robot_controller import RobotController
from linkwork.viewer.scene import Camera, apply_theme, drawn_points, extent_of
from linkwork.viewer.server import LOCAL, RedrawThread, ViewerContext, open_server
from linkwork.viewer.trajectories import read_trajectory, simulated, trajectory
from linkwork.workcell.state.state import State
from linkwork.workcell.workcell import WorkCell

CHART_PERIOD = 0.1  # between two updates of charts and traces [s]
Robot: TypeAlias = Model | KinDyn | Simulation
GAP = 0.35  # between robots that stand in a row, in widths of the widest
ANY_ADDRESS = ("0.0.0.0", "::")


class Viewer:
    """A page with robots. `lw.view` creates one.

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
        self._obstacles: list[Any] = []  # nodes of the scene
        self._failures: set[str] = set()  # of drawing, reported already
        self._traces: list[Trace] = []
        self._moved_names: set[str | None] = set()  # robots to draw; None for the workcell
        self._charts_due: set[str | None] = set()  # robots whose charts are still to be drawn
        self._charts_drawn_at = 0.0
        self._context = ViewerContext(self._server, self._moved)
        with self._context.lock:
            self._theme = self._server.gui.add_checkbox("Dark", bool(dark))
            self._theme.on_update(lambda _: self._apply_theme())
            self._cell = CellController(self._context, cell) if cell else None
            self._extent = self._cell.extent() if self._cell else extent_of(robots, drawings)
            self._robots = {
                robot.name: RobotController(
                    self._context, robot, drawing, self._extent, in_cell=cell is not None
                )
                for robot, drawing in zip(robots, drawings, strict=True)
            }
            for robot in robots:
                add_ground(self._server, robot, self._extent)
            choose_robot(self._server, {n: c.panel.folder for n, c in self._robots.items()})
            self._apply_theme()
            self._moved_names.update(self._robots, [None] if cell else [])
            self._draw()  # the thread draws the charts, whose kernels are compiled first
            self._context.include = Camera(self._server, self._extent).include
        self._redraw = RedrawThread(self._tick, self._report_failure)
        self._redraw.wake()
        self._seen = False  # by a browser, or by a program that waits for one
        self._server.on_client_connect(self._connected)
        atexit.register(self._end)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"at {self.url}"
        return f"<Viewer of {', '.join(self._robots) or 'nothing'} {state}>"

    def _repr_html_(self) -> str:
        """Return the page inside a notebook."""
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
        name = "localhost" if self._address in ANY_ADDRESS else self._address
        shown_name = f"[{name}]" if ":" in name else name
        return f"http://{shown_name}:{self._server.get_port()}"

    @property
    def server(self) -> Any:
        """The `viser.ViserServer`, to add more to the scene or the controls."""
        return self._server

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots; in a workcell, of its devices with joints."""
        return tuple(self._robots)

    def open(self) -> None:
        """Open the page in a browser."""
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Wait until the viewer is closed or the program is interrupted (Ctrl-C).

        The page lives as long as the program: without this, a script ends, and with it the page.
        """
        self._seen = True
        while not self._closed:
            time.sleep(0.2)

    def close(self) -> None:
        """Close the page and end its threads."""
        if not self._closed:
            self._closed = True
            atexit.unregister(self._end)
            if self._redraw:
                self._redraw.close()
            with redirect_stdout(StringIO()):  # it prints that it has stopped
                self._server.stop()

    # Showing states.

    def show(
        self,
        q: ArrayLike | Mapping[str, ArrayLike] | State,
        nu: ArrayLike | None = None,
        *,
        robot: str | None = None,
    ) -> None:
        """Show a configuration; may be called at any rate, such as in a control loop.

        Args:
            q: (nq,) with the base, or the joints alone; by the name of the robot, if there are
                several; or a `State` of the workcell.
            nu: the velocity, with or without the base; zero by default.
            robot: which one; not needed if there is only one.
        """
        if self._cell is None and not isinstance(q, (State, Mapping)):
            self._controller(robot).show(q, nu)  # without the lock: a loop does not wait for it
            return
        with self._context.lock:
            if isinstance(q, State):
                self._change_cell("set_state", q)
            elif isinstance(q, Mapping):
                configurations: Mapping[str, Any] = q
                for name, configuration in configurations.items():
                    self._controller(name).show(configuration)
            else:
                self._controller(robot).show(q, nu)

    def q(self, robot: str | None = None) -> Array:
        """Return the configuration of a robot now, (nq,); without its base if that is fixed."""
        with self._context.lock:
            viewed = self._controller(robot).robot
            return (viewed.q[BASE_NQ:] if viewed.fixed else viewed.q).copy()

    @property
    def state(self) -> State:
        """The state of the workcell now."""
        return self._cell_controller().viewed.state

    def grip(self, frame: str, gripper: str) -> None:
        """In a workcell, attach a frame to another one, without moving it."""
        with self._context.lock:
            self._change_cell("grip", frame, gripper)

    def release(self, frame: str) -> None:
        """In a workcell, detach a gripped frame, where it is."""
        with self._context.lock:
            self._change_cell("release", frame)

    def play(
        self,
        source: str | PathLike[str] | ArrayLike | SimulationState,
        times: ArrayLike | None = None,
        *,
        controls: ArrayLike | None = None,
        robot: str | None = None,
        start: bool = True,
    ) -> None:
        """Play a trajectory; the page has a slider for its time.

        Args:
            source: a .npy or .csv file, or an array (n, nq), with or without the base; or the
                states (n, ...) of a simulation.
            times: (n,) of an array [s]; by default every 1/50 s, of states every time step.
            controls: (n - 1, n_controls) or (n_controls,) of the simulation, for its forces.
            robot: which one; not needed if there is only one.
            start: whether to play at once; else it stands at its start.
        """
        with self._context.lock:
            controller = self._controller(robot)
            kd, sim = controller.robot.kd, controller.robot.simulation
            if isinstance(source, SimulationState):
                if sim is None:
                    raise ArgumentError("play: states of a simulation need lw.view(sim)")
                controller.load(simulated(kd, sim, source, times, controls))
            elif isinstance(source, (str, PathLike)):
                if times is not None:
                    raise ArgumentError(
                        "times: expected with arrays only; a file contains its times"
                    )
                controller.load(read_trajectory(kd, source))
            else:
                controller.load(trajectory(kd, source, times))
            controller.play(start)

    def simulate(
        self,
        x: SimulationState | None = None,
        control: Control | None = None,
        *,
        robot: str | None = None,
        start: bool = True,
    ) -> None:
        """Run the simulation of `lw.view(sim)` at the speed of the clock.

        The tab `Simulate` stops, steps and resets it, and pushes the robot.

        Args:
            x: the state at the start, of one row; by default `sim.state()`, on the ground.
            control: (n_controls,), or a function of the `SimulationState`; zeros by default.
            robot: which one; not needed if there is only one.
            start: whether to run at once.
        """
        controller = self._controller(robot)
        sim = controller.robot.simulation
        if sim is None:
            raise ArgumentError("simulate: it is for simulations, as in lw.view(sim)")
        live = LiveSimulation(sim, x, control)
        sim.step(live.x, live.control())  # compiles, before the page waits for it
        with self._context.lock:
            controller.load_live(live)
            controller.run(start)

    # What is drawn.

    def look(
        self,
        *,
        com: bool | None = None,
        inertias: bool | None = None,
        torques: bool | None = None,
        loops: bool | None = None,
        collisions: bool | None = None,
        contacts: bool | None = None,
        opacity: float | None = None,
        robot: str | None = None,
    ) -> None:
        """Set the options of the tab `Look`; options that are None do not change."""
        with self._context.lock:
            panel = self._controller(robot).panel
            looks = {"com": com, "inertias": inertias, "torques": torques}
            looks |= {"loops": loops, "collisions": collisions, "contacts": contacts}
            looks |= {"opacity": opacity}
            for name, value in looks.items():
                # without loops, collision shapes or a simulation, there is no option
                if value is not None and name in panel.looks:
                    panel.looks[name].value = value

    def frames(self, *names: str, visible: bool = True, robot: str | None = None) -> None:
        """Show or hide triads of frames."""
        with self._context.lock:
            for name in names:
                self._controller(robot, name).panel.triads[name].value = visible

    def inspect(
        self, frame: str | None, *, manipulability: bool = False, robot: str | None = None
    ) -> None:
        """Show pose, velocity and singular values of a frame, and its manipulability ellipsoid."""
        with self._context.lock:
            panel = self._controller(robot, frame).panel
            panel.ellipsoid.value = manipulability
            panel.frame.value = NONE if frame is None else frame

    def drag(self, frame: str | None, *, robot: str | None = None) -> None:
        """Give a frame handles by which it can be dragged; None takes them away."""
        with self._context.lock:
            self._controller(robot, frame).drag_frame(frame)

    def trace(
        self, frame: str, *, robot: str | None = None, length: int = 2000, color: Rgb = TRACE
    ) -> Trace:
        """Draw the path of a frame from now on.

        Args:
            frame: whose origin.
            robot: which one; not needed if there is only one.
            length: how many points are kept, 2 or more.
            color: red, green, blue, each 0 to 255.

        Returns:
            the trace: `points` are (n, 3), `clear()` begins anew, `remove()` ends it.
        """
        with self._context.lock:
            trace = Trace(self._server, self._controller(robot).robot, frame, length, color)
            trace.add()
            self._traces.append(trace)
            return trace

    def arrow(
        self,
        name: str,
        start: ArrayLike,
        vector: ArrayLike,
        *,
        color: Rgb = COM,
        radius: float = 0.01,
    ) -> Any:
        """Draw an arrow, such as a force; it replaces an arrow of the same name.

        Args:
            name: of the arrow.
            start: (3,) its start in the world [m].
            vector: (3,) from its start to its tip [m].
            color: red, green, blue, each 0 to 255.
            radius: of its shaft [m].

        Returns:
            its node in the scene; `remove()` takes it away.
        """
        with self._context.lock:
            return add_arrow(self._server, name, start, vector, color=color, radius=radius)

    def obstacles(self, obstacles: Obstacles | Iterable[Shape], *, color: Rgb = OBSTACLE) -> None:
        """Draw obstacles, as `lw.plan`, `lw.ik` and `CollisionModel` take them.

        They replace the obstacles of an earlier call; `()` removes them.

        Args:
            obstacles: `Obstacles` without batch axes, or shapes whose poses are those in the world.
            color: red, green, blue, each 0 to 255.
        """
        with self._context.lock, self._server.atomic():
            nodes, self._obstacles = self._obstacles, []
            for handle in nodes:
                handle.remove()
            self._obstacles = add_obstacles(self._server, obstacles, self._extent, color)

    # Inside.

    def _connected(self, _client: object) -> None:
        self._seen = True

    def _end(self) -> None:
        """Close the page when the program ends, and explain it if nobody could see the page."""
        if not self._seen and not hasattr(sys, "ps1"):
            hint = "`viewer.wait()` at the end of the script keeps it open until Ctrl-C"
            warn(f"the program ends, and nobody has opened the viewer at {self.url}; {hint}")
        self.close()

    def _controller(self, name: str | None, frame: str | None = None) -> RobotController:
        """Return the controller of a robot; raise if there is no such robot, or no such frame."""
        if name is None and len(self._robots) != 1:
            names = ", ".join(self._robots)
            raise ArgumentError(f"name the robot: {names}" if names else "there is no robot")
        name = next(iter(self._robots)) if name is None else name
        if not isinstance(name, str) or name not in self._robots:
            raise name_not_found("robot", name, self._robots)
        if frame is not None:
            self._robots[name].robot.kd.model.frame_index(frame)
        return self._robots[name]

    def _change_cell(self, method: str, *arguments: Any) -> None:
        """Call a method of the workcell that is shown, and have the change drawn."""
        cell = self._cell_controller()
        getattr(cell.viewed, method)(*arguments)
        self._moved(cell)

    def _cell_controller(self) -> CellController:
        if self._cell is None:
            raise ArgumentError("this viewer shows robots and no workcell")
        return self._cell

    def _moved(self, controller: RobotController | CellController) -> None:
        """Record that something has moved, and have it drawn."""
        name = controller.robot.name if isinstance(controller, RobotController) else None
        if self._cell is not None and name is not None:
            self._cell.viewed.take(name)
        self._moved_names.add(name)
        for trace in self._traces:
            if self._cell is not None or trace.robot.name == name:
                trace.add()
        if self._redraw:
            self._redraw.wake()

    def _tick(self) -> bool:
        """Advance trajectories and draw changes; returns whether to run again."""
        with self._context.lock:
            if self._closed:
                return False
            playing = [controller.advance() for controller in self._robots.values()]
            self._draw()
            if time.monotonic() - self._charts_drawn_at < CHART_PERIOD:
                return True
            return self._draw_charts() or any(playing)

    def _report_failure(self, error: Exception) -> None:
        """Warn once about each failure of drawing, in the program and on the page."""
        text = f"{type(error).__name__}: {error}"
        if self._closed or text in self._failures:
            return
        self._failures.add(text)
        message = f"the viewer could not draw ({text}); it goes on with the next change"
        warn(message)
        self._context.notify(message)

    def _draw(self) -> None:
        """Draw everything that has moved."""
        names = set(self._moved_names)
        self._moved_names -= names  # later movements are drawn next time
        self._charts_due |= names
        if self._cell is not None and names:
            self._cell.draw()
        for controller in self._controllers_of(names):
            controller.draw()

    def _draw_charts(self) -> bool:
        """Draw charts and traces of robots that have moved; returns whether there were any."""
        names, self._charts_due = self._charts_due, set()
        for controller in self._controllers_of(names):
            controller.draw_charts()
        for trace in self._traces:
            trace.draw()
        self._charts_drawn_at = time.monotonic()
        return bool(names)

    def _controllers_of(self, names: set[str | None]) -> list[RobotController]:
        """Return the robots to draw: in a workcell all of them, if anything has moved."""
        if self._cell is not None and names:
            return list(self._robots.values())
        return [self._robots[name] for name in names if name is not None]

    def flush(self) -> None:
        """Draw everything that has changed now, instead of within a few hundredths of a second."""
        with self._context.lock:
            self._draw()
            self._draw_charts()
        self._server.flush()

    def _apply_theme(self) -> None:
        apply_theme(self._server, dark=bool(self._theme.value), extent=self._extent)


def view(
    *things: Robot | Mapping[str, Robot] | WorkCell,
    state: State | None = None,
    host: str = LOCAL,
    port: int | None = None,
    open_browser: bool = False,
    dark: bool = False,
) -> Viewer:
    """Show robots or a workcell on a web page.

        viewer = lw.view(model, open_browser=True)
        viewer.show(q)
        viewer.wait()  # at the end of a script, which would close the page

    Args:
        things: a robot as `Model`, `KinDyn` or `Simulation`, or several, or robots by name, or one
            `WorkCell`. Robots at the origin are put side by side. The base of a `Model` is fixed; a
            `KinDyn` states whether its base floats; a `Simulation` stands on its ground.
        state: of the workcell; by default, its default state.
        host: the address to listen at. Only this machine can see the page, unless it is another
            one, such as "0.0.0.0".
        port: to listen on; 0 for any free port; by default, 8080 or the next free port.
        open_browser: whether to open the page in a browser.
        dark: whether the page is dark at first.

    Returns:
        the viewer; its `url` is the address of the page. The page lives until `close()` or the end
        of the program: a script ends with `viewer.wait()`, a notebook needs nothing.

    Raises:
        MissingPackageError: viser or trimesh is not installed.
        SourceError: the port is in use.
    """
    viewer_package("viser")
    if find_spec("trimesh") is None:  # it is imported when a mesh is read, which takes a second
        viewer_package("trimesh")
    cells = [thing for thing in things if isinstance(thing, WorkCell)]
    if cells:
        if len(things) > 1:
            raise ArgumentError("a workcell is shown alone; place the robots in it")
        viewed = ViewedCell(cells[0], state)
        viewer = Viewer(list(viewed.robots.values()), viewed, host=host, port=port, dark=dark)
    else:
        if state is not None:
            raise ArgumentError("state: is for a workcell; `viewer.show(q)` moves a robot")
        viewer = Viewer(_viewed_robots(things), host=host, port=port, dark=dark)
    if open_browser:
        viewer.open()
    return viewer


def _viewed_robots(things: tuple[Any, ...]) -> list[ViewedRobot]:
    robots: list[ViewedRobot] = []
    for thing in things:
        named = thing if isinstance(thing, Mapping) else {None: thing}
        for name, robot in named.items():
            if not isinstance(robot, (Model, KinDyn, Simulation)):
                hint = "; lw.load reads a file" if isinstance(robot, str) else ""
                types = "a Model, a KinDyn, a Simulation or a WorkCell"
                raise ArgumentError(f"view: expected {types}, got {shown(robot)}{hint}")
            robots.append(ViewedRobot(robot, name))
    if not robots:
        raise ArgumentError("view: name at least one robot or a workcell")
    _make_names_unique(robots)
    _spread(robots)
    return robots


def _make_names_unique(robots: list[ViewedRobot]) -> None:
    """Add numbers to names that occur more than once."""
    names: set[str] = set()
    for robot in robots:
        name, k = robot.name, 2
        while robot.name in names:
            robot.name, k = f"{name} {k}", k + 1
        names.add(robot.name)


def _spread(robots: list[ViewedRobot]) -> None:
    """Place robots that all stand at the origin side by side along y, on the ground."""
    at_origin = [robot for robot in robots if not robot.q[:3].any()]
    if len(at_origin) < 2:
        return
    bounds: list[tuple[Array, Array]] = []
    for robot in at_origin:
        points = drawn_points(drawing_of(robot.kd.model), robot.frame_names, robot.poses())
        bounds.append((points.min(axis=0), points.max(axis=0)))
    gap = GAP * max(float(high[1] - low[1]) for low, high in bounds)
    left = 0.0
    for robot, (low, high) in zip(at_origin, bounds, strict=True):
        robot.q[1] = left - low[1]
        robot.q[2] = -low[2]
        left += float(high[1] - low[1]) + gap
    for robot in at_origin:
        robot.q[1] -= (left - gap) / 2
