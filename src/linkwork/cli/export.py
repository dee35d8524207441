"""The command that writes a robot as a C library."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.cli.arguments import (
    Base,
    File,
    Floating,
    Functions,
    Json,
    flag,
    model_of_file,
    one_of,
    option,
)
from linkwork.cli.output import print_json, print_table, print_text, terminal
from linkwork.errors import ArgumentError, escaped
from linkwork.model.table import Table

REPRESENTATIONS = "mixed", "body", "inertial"

if TYPE_CHECKING:
    from linkwork.compat import pinnzoo
    from linkwork.export.check import Report
    from linkwork.kindyn import ConstrainedKinDyn, KinDyn


def export(
    file: File,
    *,
    output: Path | None = option(
        "-o --output", "DIR", "folder to write to; ./ROBOT_c if not given"
    ),
    functions: Functions = None,
    derivatives: bool = flag("--derivatives", "add the derivatives of each function"),
    single: bool = flag("--float", "single precision instead of double"),
    prefix: str | None = option(
        "--prefix", "NAME", "prefix of names in C; the robot's name if not given"
    ),
    base: Base = None,
    floating: Floating = None,
    representation: str | None = option(
        "--representation", "NAME", "mixed, body or inertial", None, one_of(*REPRESENTATIONS)
    ),
    joint_dynamics: bool = flag(
        "--joint-dynamics", "with armature, damping and friction of joints"
    ),
    contacts: str | None = option(
        "--contacts",
        "FRAMES",
        "functions of the robot with contacts: frames with commas between them; "
        "FRAME=point and FRAME=rolling are other kinds than pose",
    ),
    actuated: str | None = option(
        "--actuated", "JOINTS", "with --contacts: the joints that have actuators"
    ),
    one_file: bool = flag("--one-file", "all functions in one C file"),
    no_check: bool = flag("--no-check", "do not compile and compare"),
    force: bool = flag("--force", "overwrite files that were edited"),
    pinnzoo: bool = flag(
        "--pinnzoo",
        "PinnZoo's functions, C signatures and folders; FILE may be a robot of its zoo",
    ),
    bodies: str | None = option(
        "--bodies", "NAMES", "with --pinnzoo: links and frames with kinematics"
    ),
    orientation: str | None = option(
        "--orientation", "NAME", "with --pinnzoo: none, quaternion or axis_angle"
    ),
    as_json: Json = False,
) -> None:
    """Write functions of a robot in C.

    By default: mass_matrix, bias_force, inverse_dynamics, forward_dynamics and integrate; with
    --contacts: error, jacobian, forward_dynamics and step.

    The library is compiled and compared with linkwork's results before it is written.

    linkwork export arm --fixed -o arm_c --functions mass_matrix,jacobian:tool
    """
    from linkwork.export.write import export as write
    from linkwork.kindyn import KinDyn

    options: dict[str, Any] = {
        "functions": None if functions is None else _names(functions),
        "derivatives": derivatives,
        "dtype": "float32" if single else "float64",
        "prefix": prefix,
        "one_file": one_file,
        "check": not no_check,
        "force": force,
    }
    of_robot: dict[str, Any] = {
        "base": base,
        "representation": representation,
        "joint_dynamics": joint_dynamics,
    }
    if pinnzoo:
        for name, value in {**of_robot, "contacts": contacts, "actuated": actuated}.items():
            if value:
                raise ArgumentError(f"{name}: PinnZoo has no such option; leave it out")
        zoo_model = _pinnzoo_model(file, bodies, orientation, floating=floating)
        output = output or _default_folder(prefix, zoo_model.name)
        report = zoo_model.export(output, **options)
    else:
        kd = KinDyn(model_of_file(file), floating=floating, **of_robot)
        robot = _with_contacts(kd, contacts, actuated)
        both: dict[str, Any] = {"bodies": bodies, "orientation": orientation}  # for PinnZoo alone
        of_pinnzoo = {name: value for name, value in both.items() if value is not None}
        output = output or _default_folder(prefix, kd.model.name)
        report = write(robot, output, **options, **of_pinnzoo)
    if as_json:
        print_json(_report_data(report))
        return
    numeric = frozenset(report.columns[1:])
    heading = f"{escaped(str(output))}: {len(report.files)} files"
    console = terminal()
    print_table(console, Table(heading, report.columns, tuple(report.cells()), numeric))
    print_text(console, report.summary(), "" if report.compiler else "yellow")


def _with_contacts(
    kd: KinDyn, contacts: str | None, actuated: str | None
) -> KinDyn | ConstrainedKinDyn:
    """Return the robot, with contacts if any are named."""
    if contacts is None:
        if actuated is not None:
            raise ArgumentError("actuated: expected --contacts as well")
        return kd
    kinds: dict[str, Any] = {}
    for text in _names(contacts):
        frame, _, kind = text.partition("=")
        kinds[frame] = kind or "pose"
    return kd.constrained(kinds, actuated=None if actuated is None else _names(actuated))


def _default_folder(prefix: str | None, robot: str) -> Path:
    """Return the default folder of an export: a subfolder of the current one, such as `arm_c`."""
    from linkwork.export.code import checked_prefix, default_prefix

    return Path(f"{default_prefix(robot) if prefix is None else checked_prefix(prefix)}_c")


def _report_data(report: Report) -> dict[str, Any]:
    return {
        "folder": str(report.folder),
        "files": list(report.files),
        "compiler": report.compiler,
        "note": report.note or None,
        "functions": [asdict(row) for row in report.rows],
    }


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pinnzoo_model(
    file: str, bodies: str | None, orientation: Any, *, floating: bool | None
) -> pinnzoo.Model:
    """Return a robot of PinnZoo's zoo, or of a file, with the bodies that have kinematics."""
    from linkwork.compat.pinnzoo import Model
    from linkwork.compat.pinnzoo.zoo import in_zoo
    from linkwork.kindyn import KinDyn

    names = None if bodies is None else _names(bodies)
    if in_zoo(file) and not Path(file).exists():
        return Model(file, names, orientation, floating=floating)
    model = model_of_file(file, mimic=False)
    floats = KinDyn(model, floating=floating).floating  # decides and warns as in other commands
    return Model(model, names, orientation, floating=floats)
