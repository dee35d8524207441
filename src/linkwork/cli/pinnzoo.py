"""What `linkwork export --pinnzoo` does."""

from __future__ import annotations

from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.cli.commands import model_of_file
from linkwork.errors import ArgumentError

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo import Model
    from linkwork.export.report import Report


def export_zoo_robot(
    file: str,
    output: Path,
    *,
    bodies: str | None,
    orientation: str | None,
    fixed: bool,
    refused: dict[str, Any],
    **options: Any,
) -> Report:
    """Write a robot as PinnZoo would.

    Args:
        file: a robot of the zoo, else a file.
        output: folder to write to.
        bodies: names with commas between them; those of the zoo if not given.
        orientation: of the bodies; that of the zoo if not given.
        fixed: whether the base is fixed to the world.
        refused: options that have no meaning here, by name, if they are given.
        options: of `linkwork.export`.
    """
    for name, value in refused.items():
        if value:
            raise ArgumentError(f"{name}: PinnZoo has no such option; leave it out")
    listed = None if bodies is None else [one.strip() for one in bodies.split(",") if one.strip()]
    return _zoo_robot(file, listed, orientation, fixed=fixed).export(output, **options)


def _zoo_robot(file: str, bodies: list[str] | None, orientation: Any, *, fixed: bool) -> Model:
    from linkwork.compat.pinnzoo import Model
    from linkwork.compat.pinnzoo.zoo import in_zoo

    if in_zoo(file) and not exists(file):  # noqa: PTH110 - takes names of any length
        return Model(file, bodies, orientation, floating=False if fixed else None)
    model = model_of_file(file, mimic=False)
    return Model(model, bodies, orientation, floating=not fixed)
