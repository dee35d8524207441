"""Draw the pictures of the pages, with linkwork and matplotlib.

python tools/draw_pictures.py [NAME ...]

Numbers in the pictures are computed: nothing is drawn by hand but boxes and arrows.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
from pictures_solids import faces_of, paint, projected
from pictures_sources import record
from pictures_theme import Theme, draw_both
from pictures_theory import closest, contact, frames, loop, spheres

import linkwork as lw

ROBOTS = {
    "quadruped": {
        "FL_hip_pitch": 0.6, "FR_hip_pitch": 0.75, "RL_hip_pitch": 0.75, "RR_hip_pitch": 0.6,
        "FL_knee": -1.2, "FR_knee": -1.4, "RL_knee": -1.4, "RR_knee": -1.2,
    },
    "humanoid": {"l_knee": 0.35, "r_knee": 0.2, "l_hip_pitch": -0.3, "r_hip_pitch": -0.1},
    "arm": {"shoulder_yaw": 0.5, "shoulder_pitch": 0.5, "elbow_pitch": 1.3, "wrist_pitch": 0.5},
}  # fmt: skip


def robots(theme: Theme):
    """The three larger bundled robots, side by side."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(9, 3.6), width_ratios=[1.25, 1, 1])
    for panel, (name, posture) in zip(panels, ROBOTS.items(), strict=True):
        kd = lw.KinDyn(lw.robots.load(name), floating=True)
        known = {joint: value for joint, value in posture.items() if joint in kd.joint_names}
        paint(panel, faces_of(kd, kd.q(known)), azimuth=-52, elevation=18)
        panel.set_anchor("S")  # feet and captions of all robots stand on one line each
        across = panel.get_position().x0 + panel.get_position().width / 2
        figure.text(across, 0.02, f"{name}, {len(kd.joint_names)} joints", fontsize=9, ha="center")
    return figure


def graph(theme: Theme):
    """The quadruped's links as a graph, seen from its trunk and from a foot."""
    import matplotlib.pyplot as plt

    model = lw.robots.load("quadruped")
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.1))
    for panel, base in zip(panels, ("trunk", "FL_foot"), strict=True):
        tree = lw.KinDyn(model, base=base).tree
        names = [
            next(n for n in links if not n.startswith(("imu", "camera"))) for links in tree.links
        ]
        at = _tree_layout(list(tree.parents))
        for body, parent in enumerate(tree.parents):
            if parent >= 0:
                panel.plot(
                    *zip(at[parent], at[body], strict=True), color=theme.faint, lw=1.4, zorder=1
                )
        for body, (x, y) in enumerate(at):
            colour = theme.orange if body == 0 else theme.blue
            panel.plot(x, y, "o", color=colour, ms=9 if body == 0 else 6, zorder=2)
            label = names[body].replace("_shank", "_foot") if body else base
            panel.annotate(
                label, (x, y), (9, 0), textcoords="offset points",
                ha="left", va="center", fontsize=7.5, color=theme.text,
            )  # fmt: skip
        panel.set_title(f'KinDyn(model, base="{base}")', fontsize=10, family="monospace", y=1.06)
        panel.margins(0.16, 0.12)
        panel.axis("off")
    return figure


def _tree_layout(parents: list[int]) -> list[tuple[float, float]]:
    """Leaves side by side, parents above the middle of their children."""
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(parents):
        children.setdefault(parent, []).append(body)
    at: list[tuple[float, float]] = [(0.0, 0.0)] * len(parents)
    next_leaf = 0.0

    def place(body: int, depth: int) -> float:
        nonlocal next_leaf
        below = [place(child, depth + 1) for child in children.get(body, [])]
        if not below:
            next_leaf += 1.0
        x = float(np.mean(below)) if below else next_leaf
        at[body] = (x, -float(depth))
        return x

    place(0, 0)
    return at


def representations(theme: Theme):
    """Where the six numbers of a velocity are taken, in three panels."""
    import matplotlib.pyplot as plt

    angle, origin = 0.6, np.array([1.7, 1.0])
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    titles = {
        "mixed": ("velocity of the frame's origin,", "along the world's axes"),
        "body": ("velocity of the frame's origin,", "along the frame's own axes"),
        "inertial": ("velocity of the body's point at", "the world's origin, world's axes"),
    }
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 2.9))
    spin, o_dot = 0.6, np.array([1.15, 0.45])
    for panel, (name, words) in zip(panels, titles.items(), strict=True):
        _axes_of(panel, theme, np.zeros(2), np.eye(2), "world", strong=name != "body")
        _axes_of(panel, theme, origin, R, "frame", strong=name == "body")
        panel.annotate(
            "",
            origin - 0.06 * origin,
            0.06 * origin,
            arrowprops={"arrowstyle": "-", "ls": ":", "color": theme.faint},
        )
        point = np.zeros(2) if name == "inertial" else origin
        at_point = o_dot - spin * np.array([-origin[1], origin[0]]) if name == "inertial" else o_dot
        axes = R if name == "body" else np.eye(2)
        for k, colour in enumerate((theme.red, theme.green)):
            step = axes[:, k] * (axes[:, k] @ at_point)
            start = point if k == 0 else point + axes[:, 0] * (axes[:, 0] @ at_point)
            panel.plot(*zip(start, start + step, strict=True), color=colour, lw=2.2, alpha=0.9)
        panel.annotate(
            "",
            point + at_point,
            point,
            arrowprops={"arrowstyle": "-|>", "color": theme.orange, "lw": 2.4},
        )
        panel.plot(*point, "o", color=theme.orange, ms=5)
        panel.set_title(f'"{name}"', family="monospace", fontsize=11, color=theme.text)
        panel.text(
            0.5,
            -0.08,
            "\n".join(words),
            transform=panel.transAxes,
            ha="center",
            va="top",
            fontsize=9,
        )
        panel.set_xlim(-0.6, 3.1)
        panel.set_ylim(-0.75, 2.0)
        panel.set_aspect("equal")
        panel.axis("off")
    return figure


def _axes_of(panel, theme: Theme, at, R, name: str, *, strong: bool) -> None:
    for k, label in enumerate("xy"):
        end = at + R[:, k] * 0.75
        colour = theme.text if strong else theme.faint
        panel.annotate(
            "",
            end,
            at,
            arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.6 if strong else 1.0},
        )
        panel.text(*(at + R[:, k] * 0.9), label, color=colour, fontsize=8, ha="center", va="center")
    panel.text(
        *(at + R @ np.array([-0.28, -0.3])),
        name,
        color=theme.blue,
        fontsize=9,
        ha="center",
        va="center",
    )


def vectors(theme: Theme):
    """The entries of q and nu of the quadruped, from its layout."""
    import matplotlib.pyplot as plt

    kd = lw.KinDyn(lw.robots.load("quadruped"))
    legs = [(name, theme.green) for name in ("FL leg", "FR leg", "RL leg", "RR leg")]
    rows = {
        f"q ({kd.nq})": [("position", theme.blue, "xyz"), ("quaternion", theme.orange, "wxyz")],
        f"nu ({kd.nv})": [("linear", theme.blue, "xyz"), ("angular", theme.orange, "xyz")],
    }
    figure, axes = plt.subplots(figsize=(9.2, 2.3))
    for row, (label, base) in enumerate(rows.items()):
        y, x = -1.7 * row, 0.0
        axes.text(-0.4, y + 0.5, label, ha="right", va="center", family="monospace", fontsize=11)
        parts = [*base, *[(name, colour, "   ") for name, colour in legs]]
        for name, colour, letters in parts:
            for letter in letters:
                axes.add_patch(plt.Rectangle((x, y), 0.92, 1, color=colour, alpha=0.28, lw=0))
                axes.text(x + 0.46, y + 0.5, letter, ha="center", va="center", fontsize=9)
                x += 1
            axes.text(x - len(letters) / 2, y + 1.1, name, ha="center", va="bottom", fontsize=8)
    axes.set_xlim(-2.6, 19.2)
    axes.set_ylim(-1.9, 1.7)
    axes.axis("off")
    return figure


def energy(theme: Theme):
    """Energy error of a double pendulum, two integrators, as on the page about simulation."""
    import matplotlib.pyplot as plt

    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=False)
    dt, zero = 0.001, np.zeros(kd.nv)

    @lw.compile(q=kd.nq, nu=kd.nv)
    def euler(q, nu):
        nu = nu + dt * kd.forward_dynamics(q, nu, zero)
        return kd.integrate(q, nu, dt), nu

    @lw.compile(q=kd.nq, nu=kd.nv)
    def rk4(q, nu):
        v1, a1 = nu, kd.forward_dynamics(q, nu, zero)
        v2 = nu + dt / 2 * a1
        a2 = kd.forward_dynamics(kd.integrate(q, v1, dt / 2), v2, zero)
        v3 = nu + dt / 2 * a2
        a3 = kd.forward_dynamics(kd.integrate(q, v2, dt / 2), v3, zero)
        v4 = nu + dt * a3
        a4 = kd.forward_dynamics(kd.integrate(q, v3, dt), v4, zero)
        v, a = (v1 + 2 * v2 + 2 * v3 + v4) / 6, (a1 + 2 * a2 + 2 * a3 + a4) / 6
        return kd.integrate(q, v, dt), nu + dt * a

    figure, axes = plt.subplots(figsize=(8.4, 2.9))
    for name, step, colour in (
        ("semi-implicit Euler", euler, theme.orange),
        ("RK4", rk4, theme.blue),
    ):
        q, nu = lw.rollout(step, (np.array([1.2, 0.4]), zero), steps=5000)
        total = kd.kinetic_energy(q, nu) + kd.potential_energy(q)
        axes.semilogy(
            np.arange(5001)[1:] * dt, np.abs(total - total[0])[1:], color=colour, label=name, lw=1.1
        )
    axes.set_xlabel("time [s]")
    axes.set_ylabel("energy error [J]")
    axes.set_ylim(1e-14, 3)
    axes.grid(axis="y", color=theme.faint, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, labelcolor=theme.text, loc="lower right")
    return figure


def workspace(theme: Theme):
    """Where the tool of the arm is in 200,000 random configurations, and the arm."""
    import matplotlib.pyplot as plt

    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    Q = kd.random(200_000, seed=0)
    points = kd.transform("tool", Q)[:, :3, 3]
    colours = "Blues" if not theme.ending else "Blues_r"
    figure, axes = plt.subplots(figsize=(5.6, 4.2))
    near = np.abs(points[:, 1]) < 0.15
    flat = projected(points[near], azimuth=-90, elevation=0)
    counts, x, y = np.histogram2d(*flat.T, bins=110)
    shown = np.ma.masked_where(counts == 0, counts).T
    strength = np.sqrt(shown)
    least = -0.35 * strength.max() if not theme.ending else 0.0  # the palest blue is too pale
    axes.pcolormesh(x, y, strength, cmap=colours, shading="flat", rasterized=True, vmin=least)
    faces = faces_of(kd, kd.q(shoulder_pitch=0.5, elbow_pitch=1.3, wrist_pitch=0.4))
    paint(axes, faces, azimuth=-90, elevation=4)
    axes.axis("on")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("z [m]")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def pipeline(theme: Theme):
    """The way from a file to machine code, with the numbers of the pendulum."""
    import matplotlib.pyplot as plt

    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    program = kd.inverse_dynamics.program
    stages = [
        ("URDF file", f"{len(kd.model.links)} links"),
        ("Model", "frozen data"),
        ("skeleton", f"{len(kd.tree.links)} bodies, 1 joint"),
        ("program", f"{program.n_ops} operations, 1 sine"),
    ]
    ends = [("machine code", "LLVM, SIMD"), ("C99", "lw.export"), ("NumPy", "where no code runs")]
    figure, axes = plt.subplots(figsize=(9.4, 2.6))
    at = [(2.35 * k, 0.0) for k in range(4)] + [(9.6, 1.05), (9.6, 0.0), (9.6, -1.05)]
    for k, ((name, note), (x, y)) in enumerate(zip([*stages, *ends], at, strict=True)):
        edge = theme.orange if k == 3 else theme.blue if k < 3 else theme.green
        box = {"boxstyle": "round,pad=0.12", "fc": theme.fill, "ec": edge, "lw": 1.3}
        axes.add_patch(plt.matplotlib.patches.FancyBboxPatch((x - 0.8, y - 0.28), 1.6, 0.56, **box))
        axes.text(x, y + 0.1, name, ha="center", va="center", fontsize=9.5, weight="bold")
        axes.text(x, y - 0.17, note, ha="center", va="center", fontsize=7.5)
    arrow = {"arrowstyle": "-|>", "color": theme.faint, "lw": 1.3}
    for (a, _), (b, _) in pairwise(at[:4]):
        axes.annotate("", (b - 0.95, 0), (a + 0.95, 0), arrowprops=arrow)
    for x, y in at[4:]:
        axes.annotate("", (x - 0.95, y), (at[3][0] + 0.95, 0), arrowprops=arrow)
    axes.text(3.52, 0.45, "base", ha="center", fontsize=8, color=theme.faint)
    axes.text(5.87, 0.45, "tracing", ha="center", fontsize=8, color=theme.faint)
    axes.set_xlim(-1.1, 10.7)
    axes.set_ylim(-1.5, 1.5)
    axes.axis("off")
    return figure


PICTURES = {
    "robots": (robots, {"suffix": "png", "dpi": 200}),
    "graph": (graph, {}),
    "representations": (representations, {}),
    "vectors": (vectors, {}),
    "energy": (energy, {}),
    "workspace": (workspace, {"suffix": "png", "dpi": 140}),
    "pipeline": (pipeline, {}),
    "frames": (frames, {}),
    "loop": (loop, {}),
    "contact": (contact, {}),
    "closest": (closest, {}),
    "spheres": (spheres, {"suffix": "png", "dpi": 140}),
}


def main(names: list[str]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    for name in names or PICTURES:
        draw, options = PICTURES[name]
        draw_both(name, draw, **options)
        record(name)


if __name__ == "__main__":
    main(sys.argv[1:])
