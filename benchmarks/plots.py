"""The plots: all libraries side by side, cost as work grows, and the figures over time.

python benchmarks/plots.py [RESULTS.json]          # the history, and the results of a run if named
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from functions import SHORT, TITLES
from history import Line, grouped

COLORS = {
    "linkwork": "#0b6e4f",
    "linkwork, batch": "#6cc4a1",
    "pin": "#c8553d",
    "idyntree": "#e0a030",
    "mujoco": "#4a6fa5",
    "adam numpy": "#8d7fbd",
    "adam casadi": "#b99ac9",
    "adam jax": "#a0758a",
    "adam torch": "#777777",
}
DARK_COLORS = COLORS | {
    "linkwork": "#2bb98a",
    "linkwork, batch": "#b5f0d8",
    "pin": "#e8765c",
    "mujoco": "#7aa2dd",
    "adam torch": "#a9a9a9",
}
_DARK_TEXT = "#d5d8df"
# The end of the file's name, the colors of libraries, and those of everything else.
THEMES: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    ("", COLORS, {"grid.color": "#dddddd"}),
    (
        "_dark",
        DARK_COLORS,
        {
            "figure.facecolor": "#1e2129",  # the background of the pages
            "axes.facecolor": "#1e2129",
            "savefig.facecolor": "#1e2129",
            "grid.color": "#3a3f4b",
            **dict.fromkeys(
                ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
                _DARK_TEXT,
            ),
        },
    ),
)
MARKERS = {"linkwork": "o", "linkwork, batch": "D", "pin": "s"}
BATCH = "linkwork, batch"
_JOINTS = {
    "title": "Chains of joints on a floating base, one thread",
    "axis": "joints",
    "rotation": 0,
    "lines": {
        "pin": ("pin", "pin"),
        "one": ("linkwork, one call", "linkwork"),
        "batch": ("linkwork, per row of a batch", BATCH),
    },
}
_ROWS = {
    "title": "Batches of talos_reduced, one thread",
    "axis": "rows of a batch",
    "rotation": 45,
    "lines": {
        "pin": ("pin, one call per row", "pin"),
        "fresh": ("linkwork, fresh output", "linkwork"),
        "batch": ("linkwork, out= reused", BATCH),
    },
}


def draw(sections: dict[str, Any], history: list[Line], folder: Path) -> list[Path]:
    """Draw the sections that were measured, and the history, into a folder.

    Draws nothing without matplotlib.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("Agg")
    drawn: list[Path] = []
    for ending, colors, parameters in THEMES:
        style = {"font.size": 9, "axes.titlesize": 10, "figure.dpi": 150} | parameters
        with mpl.rc_context(style):
            drawn += _draw(sections, folder, ending, colors)
            if history:
                drawn.append(_history(history, folder / f"history{ending}.png"))
    return drawn


def _draw(
    sections: dict[str, Any], folder: Path, ending: str, colors: dict[str, str]
) -> list[Path]:
    """The figures in one theme."""
    drawn: list[Path] = []
    if "peers" in sections:
        drawn.append(_speed(sections["peers"]["data"], folder / f"speed{ending}.png", colors))
    if "growth" in sections:
        data = sections["growth"]["data"]
        for grows, what, name in (("joints", _JOINTS, "joints"), ("rows", _ROWS, "batch")):
            rows = [row for row in data if row["grows"] == grows]
            drawn.append(_growth(rows, what, folder / f"growth_{name}{ending}.png", colors))
    return drawn


def _speed(data: list[dict[str, Any]], path: Path, colors: dict[str, str]) -> Path:
    """A panel for each function; in it, robots from left to right and a bar for each library."""
    import matplotlib.pyplot as plt

    functions = [name for name in TITLES if any(row["function"] == name for row in data)]
    robots = list(dict.fromkeys(row["robot"] for row in data))
    names = [name for name in colors if any(row["library"] == name for row in data)]
    least = min(row["seconds"] for row in data) * 1e6
    figure, panels = plt.subplots(2, 3, figsize=(11, 6.4), sharex=True, sharey=True)
    for panel, function in zip(panels.flat, functions, strict=True):
        for index, name in enumerate(names):
            times = {
                row["robot"]: row["seconds"] * 1e6
                for row in data
                if row["function"] == function and row["library"] == name
            }
            shift = (index - (len(names) - 1) / 2) * 0.82 / len(names)
            positions = [robots.index(robot) + shift for robot in times]
            panel.bar(positions, list(times.values()), width=0.78 / len(names), color=colors[name])
        panel.set_title(TITLES[function])
        panel.set_xticks(range(len(robots)), [robot.replace("_", "\n") for robot in robots])
        panel.tick_params(axis="x", length=0)
        _log_scale(panel)
    panels[0, 0].set_ylim(bottom=least / 2)
    for panel in panels[:, 0]:
        panel.set_ylabel("microseconds")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colors[name]) for name in names]
    labels = [f"{name} of 4,096" if name == BATCH else name for name in names]
    figure.suptitle("Time of one evaluation from Python, one thread (lower is better)", fontsize=11)
    figure.legend(
        handles,
        labels,
        loc="upper center",
        ncols=-(-len(names) // 2),
        frameon=False,
        bbox_to_anchor=(0.5, 0.97),
    )
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    return _saved(figure, path)


def _growth(
    data: list[dict[str, Any]], what: dict[str, Any], path: Path, colors: dict[str, str]
) -> Path:
    """A panel for each function, a line for each way."""
    import matplotlib.pyplot as plt

    functions = list(dict.fromkeys(row["function"] for row in data))
    figure, panels = plt.subplots(1, len(functions), figsize=(11, 3.9), sharey=True)
    for panel, function in zip(panels, functions, strict=True):
        rows = [row for row in data if row["function"] == function]
        ticks = [row["n"] for row in rows]
        for key, (label, name) in what["lines"].items():
            style = {"color": colors[name], "marker": MARKERS[name], "markersize": 4}
            panel.plot(ticks, [row[key] * 1e6 for row in rows], label=label, **style)
        panel.set_xscale("log", base=2)
        panel.set_xticks(ticks, [f"{n:,}" for n in ticks], rotation=what["rotation"])
        panel.set_xlabel(what["axis"])
        panel.set_title(TITLES[function])
        _log_scale(panel)
        panel.minorticks_off()
    panels[0].set_ylabel("microseconds per evaluation")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.suptitle(what["title"], fontsize=11)
    figure.legend(
        handles,
        labels,
        loc="upper center",
        ncols=len(labels),
        frameon=False,
        bbox_to_anchor=(0.5, 0.95),
    )
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    return _saved(figure, path)


def _history(lines: list[Line], path: Path) -> Path:
    """Times faster than Pinocchio in the same run, from measurement to measurement."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 3.9), sharey=True)
    sections = (("single", "method", "one call"), ("batch", "out", "per row of a batch of 4,096"))
    for panel, (section, key, title) in zip(panels, sections, strict=True):
        runs: dict[tuple[str, str], list[Line]] = {}
        for line in lines:
            if line.section == section and line.robot == "talos_reduced":
                runs.setdefault((line.date, line.commit), []).append(line)
        rows = [grouped(run) for run in runs.values()]
        for function in SHORT:
            points = [
                (index, row["pin"] / row[key])
                for index, run in enumerate(rows)
                if (row := run.get(("talos_reduced", function)))
            ]
            if points:
                panel.plot(*zip(*points, strict=True), marker="o", label=SHORT[function])
        panel.set_xticks(range(len(runs)), [f"{date}\n{commit}" for date, commit in runs])
        panel.set_title(title)
        panel.margins(x=0.1)
        _log_scale(panel)
    panels[0].set_ylabel("times faster than Pinocchio")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.suptitle("linkwork and Pinocchio on talos_reduced, from Python, one thread", fontsize=11)
    figure.legend(
        handles,
        labels,
        loc="upper center",
        ncols=len(labels),
        frameon=False,
        bbox_to_anchor=(0.5, 0.95),
    )
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    return _saved(figure, path)


def _log_scale(panel: Any) -> None:
    """Powers of ten as plain numbers."""
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    panel.grid(axis="y", which="major", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _saved(figure: Any, path: Path) -> Path:
    import matplotlib.pyplot as plt

    figure.savefig(path)
    plt.close(figure)
    return path


if __name__ == "__main__":
    import json
    import sys

    from history import read

    sections = {}
    for name in sys.argv[1:]:
        sections |= json.loads(Path(name).read_text(encoding="utf-8"))["sections"]
    draw(sections, read(), Path(__file__).parents[1] / "docs" / "images")
