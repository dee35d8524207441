"""`lw.view`: robots or a workcell on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, shown
from linkwork.kindyn import KinDyn
from linkwork.model.model import Model
from linkwork.viewer.cell import ViewedCell
from linkwork.viewer.extent import drawn_points
from linkwork.viewer.meshes import check_trimesh
from linkwork.viewer.parts import drawing_of
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.server import LOCAL, viser_package
from linkwork.viewer.viewer import Viewer
from linkwork.workcell.cell import WorkCell
from linkwork.workcell.state import State

Robot: TypeAlias = Model | KinDyn
BETWEEN = 0.35  # robots that stand in a row, in widths of the widest


def view(
    *things: Robot | Mapping[str, Robot] | WorkCell,
    state: State | None = None,
    host: str = LOCAL,
    port: int | None = None,
    open_browser: bool = False,
    dark: bool = False,
) -> Viewer:
    """Show robots or a workcell on a web page.

        viewer = lw.view(model)
        viewer.show(q)

    Args:
        things: a robot as `Model` or `KinDyn`, or several, or robots by name, or one `WorkCell`.
            Robots at the origin are put side by side. The base of a `Model` is fixed, that of a
            `KinDyn` is what it says.
        state: of the workcell; its default state if not given.
        host: the address to listen at. Only this machine can see the page, unless it is another
            one, such as "0.0.0.0".
        port: to listen on; 0 for any that is free; if not given, 8080 or the next that is free.
        open_browser: whether to open the page in a browser.
        dark: whether the page is dark at first.

    Returns:
        the viewer; its `url` is the address of the page. The page lives until `close()` or the end
        of the program.

    Raises:
        MissingPackageError: viser or trimesh is not installed.
        SourceError: the port is taken.
    """
    viser_package()
    check_trimesh()
    cells = [thing for thing in things if isinstance(thing, WorkCell)]
    if cells:
        if len(things) > 1:
            raise ArgumentError("a workcell is shown alone; place the robots in it")
        viewed = ViewedCell(cells[0], state)
        viewer = Viewer(list(viewed.robots.values()), viewed, host=host, port=port, dark=dark)
    else:
        if state is not None:
            raise ArgumentError("state: is for a workcell; `viewer.show(q)` moves a robot")
        viewer = Viewer(_robots(things), host=host, port=port, dark=dark)
    if open_browser:
        viewer.open()
    return viewer


def _robots(things: tuple[Any, ...]) -> list[ViewedRobot]:
    found: list[ViewedRobot] = []
    for thing in things:
        named = thing if isinstance(thing, Mapping) else {None: thing}
        for name, robot in named.items():
            if not isinstance(robot, (Model, KinDyn)):
                hint = "; lw.load reads a file" if isinstance(robot, str) else ""
                wanted = "a Model, a KinDyn or a WorkCell"
                raise ArgumentError(f"view: expected {wanted}, got {shown(robot)}{hint}")
            found.append(ViewedRobot(robot, name))
    if not found:
        raise ArgumentError("view: name at least one robot or a workcell")
    _tell_apart(found)
    if len(found) > 1:
        _spread(found)
    return found


def _tell_apart(robots: list[ViewedRobot]) -> None:
    """Give robots of one name numbers."""
    taken: set[str] = set()
    for robot in robots:
        name, k = robot.name, 2
        while robot.name in taken:
            robot.name, k = f"{name} {k}", k + 1
        taken.add(robot.name)


def _spread(robots: list[ViewedRobot]) -> None:
    """Put robots that all stand at the origin side by side along y, on the ground."""
    at_origin = [robot for robot in robots if not robot.q[:3].any()]
    if len(at_origin) < 2:
        return
    bounds: list[tuple[Array, Array]] = []
    for robot in at_origin:
        points = drawn_points(drawing_of(robot.kd.model), robot.frame_names, robot.poses())
        bounds.append((points.min(axis=0), points.max(axis=0)))
    gap = BETWEEN * max(float(high[1] - low[1]) for low, high in bounds)
    left = 0.0
    for robot, (low, high) in zip(at_origin, bounds, strict=True):
        robot.q[1] = left - low[1]
        robot.q[2] = -low[2]
        left += float(high[1] - low[1]) + gap
    for robot in at_origin:
        robot.q[1] -= (left - gap) / 2
