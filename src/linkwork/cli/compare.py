"""The command that shows differences between two robot files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.commands import File, Json, model_of_file
from linkwork.cli.json import print_json
from linkwork.cli.show import print_text, terminal
from linkwork.errors import escaped

if TYPE_CHECKING:
    from linkwork.model.model import Model

SAME = 1e-9  # as of linkwork.model.differences, which imports NumPy
SAMPLES = 50  # random configurations in which frames are compared

Tolerance = Annotated[
    float, typer.Option("--tolerance", help="numbers that differ by less are the same")
]


def compare(
    file: File, second: File, *, tolerance: Tolerance = SAME, as_json: Json = False
) -> None:
    """Show differences between two robot files. Exits with 1 if there are any.

    linkwork compare robot.urdf robot.xml
    """
    from linkwork.model.differences import differences

    models = model_of_file(file), model_of_file(second)
    found = differences(*models, tolerance)
    facts = {
        "mass": [model.total_mass for model in models],
        "degrees_of_freedom": [len(_movable(model)) for model in models],
        "largest_distance": _largest_distance(*models),
    }
    if as_json:
        listed = [
            {"element": d.element, "what": d.what, "first": d.first, "second": d.second}
            for d in found
        ]
        print_json({**facts, "differences": listed})
    else:
        console = terminal()
        for difference in found:
            print_text(console, escaped(str(difference)))
        count = f"{len(found)} differences" if len(found) != 1 else "1 difference"
        print_text(console, count if found else "no differences", "bold")
        for line in _summary(facts):
            print_text(console, line)
    if found:
        raise typer.Exit(1)


def _movable(model: Model) -> list[str]:
    from linkwork.model.layout import Layout

    return list(Layout(model, floating=False).joint_names)


def _summary(facts: dict[str, Any]) -> list[str]:
    first, second = facts["mass"]
    lines = [f"mass: {first:.9g} kg and {second:.9g} kg, {second - first:+.3g} kg"]
    distance = facts["largest_distance"]
    if distance is not None:
        told = f"{round(distance, 12):.3g} m apart at most, in {SAMPLES} random configurations"
        lines.append(f"links of the same name: {told}")
    return lines


def _largest_distance(first: Model, second: Model) -> float | None:
    """Between links of the same name, the joints of the same name at the same positions.

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
    q = [robot.layout.zero() + np.zeros((SAMPLES, 1)) for robot in robots]
    random = robots[0].random(SAMPLES, seed=0)
    for name in robots[0].joint_names:
        q[0][:, robots[0].layout.q[name]] = random[:, robots[0].layout.q[name]]
        if name in robots[1].joint_names:
            q[1][:, robots[1].layout.q[name]] = random[:, robots[0].layout.q[name]]
        else:
            q[0][:, robots[0].layout.q[name]] = robots[0].layout.zero()[robots[0].layout.q[name]]
    poses = [robot.transforms(x, frames=links) for robot, x in zip(robots, q, strict=True)]
    return float(np.linalg.norm((poses[0] - poses[1])[..., :3, 3], axis=-1).max())
