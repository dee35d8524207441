"""Pictures of the tutorial in which a quadruped learns to walk.

python tools/pictures_walk.py [walk] [walk_learning]

`walk` is a stride of the robot with its stored policy; `walk_learning` is drawn from what
`examples/24_train_quadruped.py --log` has written.
"""

from __future__ import annotations

import csv
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pictures_solids import faces_of, paint
from pictures_sources import record
from pictures_theme import Theme, draw_both

from linkwork.envs import quadruped

ROOT = Path(__file__).resolve().parents[1]
START = 100  # steps of a walk before the picture
MOMENTS = (0, 2, 4, 6)  # steps of a stride
APART = 0.72  # distance of the robots in the picture [m]
COMMANDS = ("0.5", "1.0")  # [m/s]


def walk(theme: Theme) -> Any:
    """Four moments of a stride at 1 m/s, side by side."""
    import matplotlib.pyplot as plt

    example = runpy.run_path(str(ROOT / "examples" / "24_train_quadruped.py"))
    agent = example["Agent"].load(ROOT / "examples" / "quadruped_policy.npz")
    env, _ = example["started"]("quadruped", 1, np.array([1.0, 0.0, 0.0]))
    kd = quadruped.simulation().kd
    observations = np.zeros((1, 48), np.float32)
    faces = []
    for k in range(START + max(MOMENTS) + 1):
        observations, *_ = env.step(agent.act(observations))
        if k - START in MOMENTS:
            q = env.x.q[0].copy()
            q[:2] = APART * MOMENTS.index(k - START), 0.0  # where it has its place in the picture
            faces += faces_of(kd, q)
    figure, panel = plt.subplots(figsize=(9.4, 2.6))
    paint(panel, faces, azimuth=-90, elevation=4)
    left, right, *_ = panel.axis()
    panel.plot([left, right], [0.0, 0.0], color=theme.faint, lw=1.2, zorder=1)
    return figure


def learning(theme: Theme) -> Any:
    """Rewards, and speeds for two commands, of both robots while they learn."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(9.4, 2.7), layout="constrained")
    colors = {"quadruped": theme.blue, "go2": theme.orange}
    for name, color in colors.items():
        with (ROOT / "tools" / "learning" / f"{name}.csv").open() as file:
            rows = [
                {key: float(value) for key, value in row.items()} for row in csv.DictReader(file)
            ]
        millions = np.array([row["steps"] / 1e6 for row in rows])
        panels[0].plot(millions, [row["reward"] for row in rows], color=color, label=name)
        for panel, command in zip(panels[1:], COMMANDS, strict=True):
            speeds = np.array([row[f"speed at {command}"] for row in rows])
            falls = np.array([row[f"falls at {command}"] for row in rows])
            panel.plot(millions, speeds, color=color, lw=1.2)
            for some, filled in ((falls == 0, color), (falls > 0, "none")):
                panel.plot(millions[some], speeds[some], "o", ms=4, mec=color, mfc=filled)
    panels[0].set_title("mean reward of a step", fontsize=10)
    panels[0].legend(frameon=False, labelcolor=theme.text, loc="lower right")
    for panel, command in zip(panels[1:], COMMANDS, strict=True):
        panel.axhline(float(command), color=theme.faint, lw=1, ls="--")
        panel.set_ylim(-0.05, 1.15)
        panel.set_title(f"speed for a command of {command} m/s", fontsize=10)
    for panel in panels:
        panel.set_xlabel("million steps")
        panel.spines[["top", "right"]].set_visible(False)
    return figure


PICTURES = {
    "walk": (walk, {"suffix": "png", "dpi": 160}),
    "walk_learning": (learning, {}),
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
