"""Commands that describe robots: info, tree, check, compare; and lists: robots, conventions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.complete import card_names, link_names
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
from linkwork.cli.robot_files import (
    File,
    Json,
    model_of_file,
    read_file,
)
from linkwork.errors import count_findings, counted, escaped
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

TOLERANCE = 1e-9  # as in linkwork.model.describe, which imports NumPy
SAMPLES = 50  # random configurations in which `compare` compares the links
WIDTH = 79  # of lists of names

Base = Annotated[
    str | None,
    typer.Option(
        "--base", metavar="LINK", help="draw the tree from this link", autocompletion=link_names
    ),
]
FreeMimic = Annotated[bool, typer.Option("--free-mimic", help="treat mimic joints as independent")]
Strict = Annotated[bool, typer.Option("--strict", help="exit with 1 on warnings")]
Tolerance = Annotated[
    float, typer.Option("--tolerance", help="values that differ by less are equal")
]
Card = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="a system, such as pinocchio; all if not given",
        autocompletion=card_names,
    ),
]


def info(file: File, *, as_json: Json = False, free_mimic: FreeMimic = False) -> None:
    """Print the links, joints and mass of a robot.

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


def tree(file: File, *, base: Base = None, as_json: Json = False) -> None:
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


def check(file: File, *, strict: Strict = False, as_json: Json = False) -> None:
    """Report errors and warnings in a robot file.

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
    file: File, second: File, *, tolerance: Tolerance = TOLERANCE, as_json: Json = False
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
    """List the robots that every command takes by name.

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
