"""Figures of the pages about theory, loops, contacts and distances, computed with linkwork."""

from __future__ import annotations

import numpy as np
from pictures_solids import faces_of, paint, projected
from pictures_theme import Theme

import linkwork as lw

# Outlines of a foot that stands on its tip, and of one that stands on its sole.
OUTLINES = {
    "point": ((0, 0), (-0.2, 0.35), (-0.2, 1.2), (0.2, 1.2), (0.2, 0.35)),
    "pose": (
        *((-0.5, 0), (0.5, 0), (0.5, 0.22), (0.16, 0.22)),
        *((0.16, 1.2), (-0.16, 1.2), (-0.16, 0.22), (-0.5, 0.22)),
    ),
}


def _arrow(panel, start, end, color: str, width: float = 1.8, *, style: str = "-|>") -> None:
    panel.annotate("", end, start, arrowprops={"arrowstyle": style, "color": color, "lw": width})


def _axes(panel, theme: Theme, at, angle: float, size: float = 0.55) -> None:
    """The axes x and z of a frame in the plane."""
    for turn, label in ((0.0, "x"), (np.pi / 2, "z")):
        axis = np.array([np.cos(angle + turn), np.sin(angle + turn)])
        _arrow(panel, at, at + size * axis, theme.text, 1.3, style="->")
        panel.text(*(at + (size + 0.1) * axis), label, fontsize=8, ha="center", va="center")


def _finish(panel, x: tuple[float, float], y: tuple[float, float]) -> None:
    panel.set_xlim(*x)
    panel.set_ylim(*y)
    panel.set_aspect("equal")
    panel.axis("off")


def frames(theme: Theme):
    """A frame b in the world w: its pose, its velocity, and a wrench on it."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(9.4, 2.6))
    at, angle = np.array([1.6, 0.9]), 0.5
    titles = ("pose  $w\\_H\\_b$", "velocity  $[v;\\ \\omega]$", "wrench  $[f;\\ n]$")
    for panel, title in zip(panels, titles, strict=True):
        body = plt.matplotlib.patches.Ellipse(
            at, 1.5, 0.9, angle=np.degrees(angle), fc=theme.fill, ec=theme.faint, lw=1.0
        )
        panel.add_patch(body)
        _axes(panel, theme, np.zeros(2), 0.0)
        _axes(panel, theme, at, angle)
        panel.text(-0.2, -0.2, "w", color=theme.blue, fontsize=10)
        panel.text(*np.add(at, (-0.05, -0.26)), "b", color=theme.blue, fontsize=10)
        panel.set_title(title, fontsize=10, color=theme.text)
        _finish(panel, (-0.4, 2.9), (-0.45, 2.0))
    _arrow(panels[0], (0, 0), at, theme.orange)
    panels[0].text(0.75, 0.62, "o", color=theme.orange, fontsize=11)
    panels[0].text(2.1, 0.62, "R", color=theme.orange, fontsize=11)
    arc = {"arrowstyle": "-|>", "lw": 1.8, "connectionstyle": "arc3,rad=0.45"}
    for panel, force, letters, color in (
        (panels[1], (0.9, 0.25), ("v", "$\\omega$"), theme.orange),
        (panels[2], (0.3, 0.9), ("f", "n"), theme.green),
    ):
        _arrow(panel, at, at + force, color, 2.2)
        panel.text(*(at + 1.12 * np.array(force)), letters[0], color=color, fontsize=11)
        turn = {**arc, "color": color}
        panel.annotate("", np.add(at, (-0.55, 0.35)), np.add(at, (-0.1, -0.62)), arrowprops=turn)
        panel.text(*np.add(at, (-0.98, -0.1)), letters[1], color=color, fontsize=11)
    return figure


def four_bar() -> lw.Model:
    """The linkage of the page about closed loops."""
    b = lw.ModelBuilder("four_bar")
    b.add_link("ground", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for name in ("crank", "coupler", "rocker"):
        b.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    y = (0, 1, 0)
    b.add_joint("a", "revolute", "ground", "crank", axis=y)
    b.add_joint("b", "revolute", "crank", "coupler", axis=y, first_H_joint=lw.Pose((0.4, 0, 0)))
    b.add_joint("d", "revolute", "ground", "rocker", axis=y, first_H_joint=lw.Pose((0.7, 0, 0)))
    mounts = {"first_H_joint": lw.Pose((0.8, 0, 0)), "joint_H_second": lw.Pose((-0.6, 0, 0))}
    b.add_joint("c", "revolute", "coupler", "rocker", axis=y, **mounts)
    return b.build()


def loop(theme: Theme):
    """The four-bar linkage, closed, and as a tree with a cut joint."""
    import matplotlib.pyplot as plt

    kd = lw.KinDyn(four_bar(), floating=False)
    closed = lw.assemble(kd, kd.q(a=-1.1, b=0.9, d=-1.3), fixed=["a"]).q
    opened = np.add(closed, (0.0, -0.28, -0.2))
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 2.8))
    for panel, q, title in zip(
        panels, (closed, opened), ("closed: e(q) = 0", "spanning tree: c is cut"), strict=True
    ):

        def at(link, x, q=q):
            return (kd.transform(link, q) @ (x, 0, 0, 1))[[0, 2]]

        ends = {"crank": 0.4, "coupler": 0.8, "rocker": 0.6}
        for link, length in ends.items():
            line = np.stack([at(link, 0.0), at(link, length)])
            panel.plot(*line.T, color=theme.blue, lw=5, solid_capstyle="round", alpha=0.75)
            shift, side = ((0.0, 0.08), "center") if link == "coupler" else ((0.07, -0.03), "left")
            panel.text(*(line.mean(axis=0) + shift), link, fontsize=8, ha=side)
        ground = np.stack([at("crank", 0.0), at("rocker", 0.0)])
        panel.plot(*ground.T, color=theme.faint, lw=2, ls=":")
        joints = {"a": at("crank", 0.0), "b": at("coupler", 0.0), "d": at("rocker", 0.0)}
        for name, point in joints.items():
            panel.plot(*point, "o", color=theme.text, ms=6)
            panel.text(*np.add(point, (-0.1, 0.03)), name, fontsize=9)
        first, second = at("coupler", 0.8), at("rocker", 0.6)
        for point in (first, second):
            panel.plot(*point, "o", mfc="none", mec=theme.orange, ms=9, mew=1.8)
        if panel is panels[1]:
            _arrow(panel, first, second, theme.orange, 1.8)
            panel.text(*((first + second) / 2 + (0.04, 0.0)), "e", color=theme.orange, fontsize=11)
        else:
            panel.text(*np.add(first, (0.05, 0.05)), "c", color=theme.orange, fontsize=10)
        panel.set_title(title, fontsize=10, color=theme.text)
        _finish(panel, (-0.25, 1.35), (-0.25, 0.95))
    return figure


def contact(theme: Theme):
    """What the kinds of contacts keep, and the contact force."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(9.2, 2.5))
    kinds = {
        "point": "3 equations: the origin stays",
        "pose": "6 equations: the frame stays",
        "rolling": "3 equations: no slip below the center",
    }
    for panel, (kind, text) in zip(panels, kinds.items(), strict=True):
        panel.axhline(0.0, color=theme.faint, lw=1.5)
        panel.fill_between([-2, 2], -0.12, 0.0, color=theme.fill, lw=0)
        if kind == "rolling":
            center = np.array([0.0, 0.55])
            ball = plt.Circle(center, 0.55, fc=theme.fill, ec=theme.blue, lw=1.6)
            panel.add_patch(ball)
            arc = {"arrowstyle": "-|>", "color": theme.orange, "connectionstyle": "arc3,rad=-0.4"}
            panel.annotate("", (0.42, 1.05), (-0.42, 1.05), arrowprops=arc)
        else:
            center = np.zeros(2)
            tilt = 0.5 if kind == "point" else 0.0
            R = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
            corners = np.array(OUTLINES[kind]) @ R.T
            panel.add_patch(plt.Polygon(corners, fc=theme.fill, ec=theme.blue, lw=1.6))
        _arrow(panel, (0, 0), (0.22, 0.85), theme.green, 2.2)
        panel.text(0.3, 0.8, "f", color=theme.green, fontsize=11)
        panel.plot(*center, "o", color=theme.orange, ms=6)
        panel.set_title(f'"{kind}"', family="monospace", fontsize=10, color=theme.text)
        panel.text(0.0, -0.32, text, ha="center", va="top", fontsize=8.5)
        _finish(panel, (-1.25, 1.25), (-0.55, 1.4))
    return figure


def _capsule(ends: np.ndarray, radius: float) -> np.ndarray:
    """(n, 2) the outline of a capsule in the plane."""
    axis = ends[1] - ends[0]
    first = np.arctan2(axis[0], -axis[1])  # of the normal of the axis
    angles = first + np.linspace(0.0, 2 * np.pi, 81)
    circle = radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.concatenate([ends[0] + circle[:41], ends[1] + circle[40:]])


def closest(theme: Theme):
    """Closest points and normals of two capsules, apart and overlapping."""
    import matplotlib.pyplot as plt

    b = lw.ModelBuilder("two_arms")
    rod = [lw.Shape(lw.Capsule(0.07, 0.5), lw.Pose((0.0, 0.0, 0.25)))]
    b.add_link("table", inertia=lw.solid_box(10.0, (1.0, 1.0, 0.1)))
    for name, x in (("left", -0.4), ("right", 0.4)):
        b.add_link(f"{name}_arm", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.5)), collisions=rod)
        mount = lw.Pose((x, 0.0, 0.0))
        arm = f"{name}_arm"
        b.add_joint(name, "revolute", "table", arm, axis=(0.0, 1.0, 0.0), first_H_joint=mount)
    robot = lw.CollisionModel(b.build(), floating=False)
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 2.8))
    for panel, q in zip(panels, np.array([[0.45, -0.1], [0.95, -0.8]]), strict=True):
        for k, arm in enumerate(robot.links):
            ends = [(robot.kindyn.transform(arm, q) @ (0, 0, z, 1))[[0, 2]] for z in (0.0, 0.5)]
            color = theme.blue if k == 0 else theme.green
            outline = _capsule(np.array(ends), 0.07)
            panel.add_patch(plt.Polygon(outline, fc=color, ec=color, alpha=0.3, lw=1.4))
        first, second, normal = (np.asarray(x)[0][[0, 2]] for x in robot.witness_points(q))
        d = float(robot.distances(q)[0])
        panel.plot(*np.stack([first, second]).T, color=theme.orange, lw=1.6, ls=":")
        for point, label in ((first, "p1"), (second, "p2")):
            panel.plot(*point, "o", color=theme.orange, ms=5)
            shift = 0.09 * normal * (-1 if (label == "p1") == (d > 0) else 1)
            panel.text(
                *(point + shift), label, color=theme.orange, fontsize=9, ha="center", va="center"
            )
        start = np.array([0.0, -0.12]) + (second + first) / 2 * (1, 0)
        _arrow(panel, start, start + 0.2 * normal, theme.text, 1.6)
        panel.text(*(start + 0.25 * normal), "n", fontsize=10, ha="center", va="center")
        panel.set_title(f"d = {d:.3f} m", fontsize=10, color=theme.text)
        _finish(panel, (-0.65, 0.65), (-0.2, 0.66))
    return figure


def spheres(theme: Theme):
    """The arm and the spheres that cover its collision shapes."""
    import matplotlib.pyplot as plt

    model = lw.robots.load("arm")
    covered = lw.spherize(model, tolerance=0.03).model
    kd = lw.KinDyn(model, floating=False)
    q = kd.q(shoulder_yaw=0.3, shoulder_pitch=0.5, elbow_pitch=1.2, wrist_pitch=0.4)
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.4), sharex=True, sharey=True)
    paint(panels[0], faces_of(kd, q), azimuth=-60, elevation=15)
    count = 0
    for link in covered.links:
        H = kd.transform(link.name, q)
        for shape in link.collisions:
            center = (H @ shape.link_H_shape.matrix())[:3, 3]
            at = projected(center[None], azimuth=-60, elevation=15)[0]
            circle = plt.Circle(at, shape.geometry.radius, fc=theme.blue, ec=theme.blue)
            circle.set_alpha(0.22)
            panels[1].add_patch(circle)
            count += 1
    panels[0].set_title("the arm", fontsize=10, color=theme.text)
    panels[1].set_title(f"{count} spheres, tolerance 3 cm", fontsize=10, color=theme.text)
    for panel in panels:
        panel.set_aspect("equal")
        panel.autoscale_view()
        panel.axis("off")
    return figure
