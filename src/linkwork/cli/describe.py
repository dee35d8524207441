"""Commands that show robots: info, tree, check, compare, view; and lists: robots, conventions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.arguments import (
    File,
    Floating,
    Json,
    card_names,
    flag,
    is_cell,
    model_of_file,
    option,
    read_file,
    robot_and_cell_names,
)
from linkwork.cli.output import (
    branch_data,
    finding_data,
    json_data,
    model_data,
    print_findings,
    print_json,
    print_table,
    print_text,
    print_tree,
    summary_data,
    terminal,
)
from linkwork.errors import ArgumentError, count_findings, counted, escaped
from linkwork.io.formats import titles
from linkwork.io.named_robots import (
    BUNDLED,
    DESCRIPTIONS,
    EXAMPLES,
    described_robots,
    downloaded_robots,
    example_robots,
)
from linkwork.io.xml.documents import STANDARD_INPUT
from linkwork.model.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from linkwork.engine.symbolic.arrays import Array
    from linkwork.model.model import Model
    from linkwork.viewer import Viewer

TOLERANCE = 1e-9  # as in linkwork.model.describe, which imports NumPy
SAMPLES = 50  # random configurations in which `compare` compares the links
WIDTH = 79  # of lists of names

Card = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="a system, such as pinocchio; all if not given",
        autocompletion=card_names,
    ),
]


def info(
    file: File,
    *,
    as_json: Json = False,
    free_mimic: bool = flag("--free-mimic", "treat mimic joints as independent"),
) -> None:
    """Print links, joints and mass of a robot.

    linkwork info arm
    """
    from linkwork.model.describe import summary, tables

    model = model_of_file(file, mimic=not free_mimic)
    if as_json:
        print_json(model_data(model))
        return
    console = terminal()
    print_text(console, summary(model), "bold")
    for table in tables(model):
        if table.rows:
            console.print()
            print_table(console, table)


def tree(
    file: File,
    *,
    base: str | None = option("--base", "LINK", "draw the tree from this link"),
    as_json: Json = False,
) -> None:
    """Draw the tree of a robot, from any link.

    linkwork tree arm --base wrist
    """
    model = model_of_file(file)
    start = model.default_base if base is None else base
    model.link_index(start)
    if as_json:
        print_json(branch_data(model, start))
        return
    print_tree(terminal(), model, start)


def check(
    file: File, *, strict: bool = flag("--strict", "exit with 1 on warnings"), as_json: Json = False
) -> None:
    """Report errors and warnings of a file.

    Exits with 2 on errors, and with --strict also with 1 on warnings.

    linkwork check robot.urdf --strict
    """
    findings = read_file(file).findings
    if as_json:
        print_json([finding_data(finding) for finding in findings])
    else:
        console = terminal()
        name = STANDARD_INPUT if file == "-" else escaped(file)
        print_findings(console, findings)
        print_text(console, f"{name}: {count_findings(findings)}", "bold")
    severities = {finding.severity for finding in findings}
    code = 2 if "error" in severities else int(strict and "warning" in severities)
    raise typer.Exit(code)


def compare(
    file: File,
    second: File,
    *,
    tolerance: float = option(
        "--tolerance", None, "values that differ by less are equal", TOLERANCE
    ),
    as_json: Json = False,
) -> None:
    """Show differences between two robot files. Exits with 1 if there are any.

    linkwork compare robot.urdf robot.xml
    """
    from linkwork.model.describe import differences
    from linkwork.model.layout import Layout

    models = model_of_file(file), model_of_file(second)
    listed = differences(*models, tolerance)
    facts = {
        "mass": [model.total_mass for model in models],
        "degrees_of_freedom": [Layout(model, floating=False).nv for model in models],
        "largest_distance": _largest_distance(*models),
    }
    if as_json:
        print_json({**facts, "differences": [asdict(difference) for difference in listed]})
    else:
        console = terminal()
        for difference in listed:
            print_text(console, escaped(str(difference)))
        count = counted(len(listed), "difference") if listed else "no differences"
        print_text(console, count, "bold")
        _print_comparison(console, facts)
    if listed:
        raise typer.Exit(1)


def _print_comparison(console: Console, facts: dict[str, Any]) -> None:
    first, second = facts["mass"]
    change = f"{second - first:+.3g} kg"
    print_text(console, f"mass: {first:.9g} kg and {second:.9g} kg, {change}")
    distance = facts["largest_distance"]
    if distance is not None:
        text = f"{round(distance, 12):.3g} m apart at most, in {SAMPLES} random configurations"
        print_text(console, f"links of the same name: {text}")


def _largest_distance(first: Model, second: Model) -> float | None:
    """Return the largest distance of links of the same name, at the same positions of joints.

    None if the robots have no base or no links in common, or joints of different kinds.
    """
    import numpy as np

    from linkwork.kindyn import KinDyn

    links = [name for name in first.link_names if name in second.link_names]
    if not links or any(
        first.joint(name).kind != second.joint(name).kind
        for name in first.joint_names
        if name in second.joint_names
    ):
        return None
    robots = [KinDyn(model, links[0], floating=False) for model in (first, second)]
    shared = [name for name in robots[0].joint_names if name in robots[1].joint_names]
    random = robots[0].random(SAMPLES, seed=0)
    origins: list[Array] = []
    for robot in robots:
        q = robot.layout.zero() + np.zeros((SAMPLES, 1))
        for name in shared:
            q[:, robot.layout.q[name]] = random[:, robots[0].layout.q[name]]
        origins.append(robot.transforms(q, frames=links)[..., :3, 3])
    return float(np.linalg.norm(origins[0] - origins[1], axis=-1).max())


def robots(*, as_json: Json = False) -> None:
    """List the robots that have a name.

    Every command takes these names in place of a file.

    linkwork robots
    """
    from linkwork import robots as bundled
    from linkwork.model.describe import summary

    models = {name: bundled.load(name) for name in bundled.names()}
    if as_json:
        facts: list[dict[str, Any]] = [
            {"name": name, "package": BUNDLED, "file": str(bundled.path(name))}
            | summary_data(model)
            for name, model in models.items()
        ]
        facts += [
            {"name": name, "package": EXAMPLES, "file": str(path)}
            for name, path in example_robots().items()
        ]
        facts += [
            {"name": name, "package": DESCRIPTIONS, "file": None} for name in described_robots()
        ]
        print_json(facts)
        return
    console = terminal()
    print_text(console, f"bundled with {BUNDLED}", "bold")
    for model in models.values():
        print_text(console, summary(model))
    examples, described, downloaded = example_robots(), described_robots(), downloaded_robots()
    names = f"{len(examples)} names" if examples else ""
    _print_package(console, EXAMPLES, names, examples)
    names = f"{len(described)} robots, of which {len(downloaded)} are downloaded"
    _print_package(console, DESCRIPTIONS, names if described else "", downloaded)


def _print_package(console: Console, package: str, summary: str, names: Iterable[str]) -> None:
    """Print robots of another package; without a summary it is not installed."""
    print_text(console, "")
    heading = summary or f"not installed: pip install {package}"
    print_text(console, f"{package}: {heading}", "bold")
    for line in textwrap.wrap(", ".join(names), WIDTH, break_on_hyphens=False):
        print_text(console, line)


def envs(*, as_json: Json = False) -> None:
    """List the environments in which policies learn.

    gymnasium.make_vec(NAME) returns them after `import linkwork.envs`.

    linkwork envs
    """
    from linkwork.envs import READY

    if as_json:
        print_json([{"name": name, "task": ready.task} for name, ready in READY.items()])
        return
    rows = tuple((name, ready.task) for name, ready in READY.items())
    print_table(terminal(), Table("Environments", ("name", "task"), rows))


def conventions(name: Card = None, *, as_json: Json = False) -> None:
    """Show a library's conventions.

    Configurations, velocities, forces and more; without NAME the systems are listed.

    linkwork conventions pinocchio
    """
    from linkwork.compat.cards import all_cards, card, rows

    cards = all_cards() if name is None else (card(name),)
    if as_json:
        print_json(json_data(cards if name is None else cards[0]))
    elif name is None:
        listed = tuple((one.name, one.q) for one in cards)
        print_table(terminal(), Table("Convention cards", ("system", "configuration"), listed))
    else:
        heading = f"Conventions of {cards[0].name}"
        print_table(terminal(), Table(heading, ("what", "how"), rows(cards[0])))


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help=f"{titles('workcell')} file, or the name of a bundled robot or workcell",
        autocompletion=robot_and_cell_names,
    ),
]


def view(
    files: Files,
    *,
    port: int | None = option("--port", "N", "8080 or the next free one if not given"),
    no_open: bool = flag("--no-open", "print the address, open no browser"),
    trajectory: str | None = option("--trajectory", "FILE", ".npy or .csv file to play"),
    floating: Floating = None,
    dark: bool = flag("--dark", "a dark page"),
    host: str = option(
        "--host", "ADDRESS", "0.0.0.0 lets other machines see the page", "127.0.0.1"
    ),
) -> None:
    """Show robots or a workcell in a browser.

    They are on a web page that only this machine can open, unless --host is given.

    linkwork view arm --trajectory motion.csv
    """
    with _open_viewer(files, port, floating=floating, dark=dark, host=host) as viewer:
        if trajectory is not None:
            viewer.play(trajectory, robot=viewer.robots[0])
        with suppress(KeyboardInterrupt):
            print_text(terminal(), f"{', '.join(map(escaped, files))} at {viewer.url}; Ctrl-C ends")
            if not no_open:
                viewer.open()
            viewer.wait()


def _open_viewer(
    files: list[str], port: int | None, *, floating: bool | None, dark: bool, host: str
) -> Viewer:
    from linkwork.kindyn import KinDyn
    from linkwork.viewer import view as show

    if any(map(is_cell, files)):
        from linkwork.workcell.files.load import load_workcell

        if len(files) > 1:
            raise ArgumentError("a workcell is shown alone; name one file")
        return show(load_workcell(files[0]), port=port, dark=dark, host=host)
    robots = [KinDyn(model_of_file(file), floating=floating) for file in files]
    return show(*robots, port=port, dark=dark, host=host)
