"""Commands that write a robot: in another format, or with other collision shapes."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwork.cli.arguments import (
    File,
    Floating,
    Json,
    flag,
    is_cell,
    model_in,
    model_of_file,
    one_of,
    option,
    read_file,
)
from linkwork.cli.output import finding_data, print_findings, print_json, print_text, terminal
from linkwork.engine.runtime.atomic_files import write_file
from linkwork.errors import (
    ArgumentError,
    Finding,
    LinkworkWarning,
    WriteError,
    escaped,
    listed,
    nearest,
)
from linkwork.io.formats import FORMATS, WORKCELL, WRITTEN, Conversion, format_to_write
from linkwork.io.named_robots import named_robot

if TYPE_CHECKING:
    from linkwork.model.model import Model
    from linkwork.workcell.workcell import WorkCell

Out = Annotated[
    str | None, typer.Argument(metavar="OUT", help="file to write, or - for standard output")
]


def convert(
    file: File,
    out: Out = None,
    *,
    same_out: str | None = option("-o --out", "OUT", "the same, as an option"),
    to: str | None = option(
        "--to",
        "FORMAT",
        f"{', '.join(WRITTEN)}; by default, by the extension of OUT",
        None,
        one_of(*WRITTEN),
    ),
    force: bool = flag("--force", "overwrite OUT"),
    floating: Floating = None,
    no_meshes: bool = flag("--no-meshes", "MJCF: leave meshes out"),
    repair: bool = flag("--repair", "replace inertias that no body can have by the nearest"),
    inertia_from_meshes: float | None = option(
        "--inertia-from-meshes",
        "DENSITY",
        "inertias of shapes with this density, in kg/m^3, for links without an inertia",
    ),
    device: str | None = option("--device", "NAME", "the device of a workcell to write"),
    as_json: Json = False,
) -> None:
    """Write a robot in another format.

    Formats: URDF, SDF, MJCF, USD and workcell XML. Prints what the format cannot represent.
    MuJoCo, if installed, checks MJCF before it is written.

    linkwork convert robot.urdf robot.mjcf
    """
    if (out is None) == (same_out is None):
        problem = "is missing" if out is None else "appears twice"
        raise typer.BadParameter(f"OUT {problem}: linkwork convert FILE OUT, or FILE -o OUT")
    out = str(out or same_out)
    target = format_to_write(out, to)
    _reject_existing(out, force=force)
    if not WRITTEN[target].options and (floating is not None or no_meshes):
        option = "--no-meshes" if floating is None else "--floating" if floating else "--fixed"
        raise typer.BadParameter(f"{option}: only MJCF has this")
    if is_cell(file):
        if repair or inertia_from_meshes is not None:
            option = "--repair" if repair else "--inertia-from-meshes"
            raise typer.BadParameter(f"{option}: not for workcells")
        converted = _from_cell(file, out, target, device, floating=floating, meshes=not no_meshes)
    else:
        if device is not None:
            raise typer.BadParameter("--device: only a workcell has devices")
        reading = read_file(file, repair=repair, inertia_from_meshes=inertia_from_meshes)
        converted = _converted(model_in(reading), target, floating=floating, meshes=not no_meshes)
        doubts = [
            finding
            for finding in reading.findings
            if finding.severity == "warning" or finding.topic == "left out"
        ]
        doubts += _moved_meshes(model_in(reading), file, out) if target != "mjcf" else []
        converted = Conversion(converted.text, (*doubts, *converted.findings), converted.checked)
    _write(out, converted.text)
    if as_json and out != "-":
        facts = {"file": out, "format": target, "checked": converted.checked or None}
        print_json({**facts, "findings": [*map(finding_data, converted.findings)]})
        return
    console = terminal(errors=out == "-")
    print_findings(console, converted.findings)
    checked = f"; {converted.checked}" if converted.checked else ""
    name = "standard output" if out == "-" else escaped(out)
    print_text(console, f"{name}: {WRITTEN[target].title}{checked}", "bold")


def spherize(
    file: File,
    *,
    out: str | None = option("-o --out", "OUT", "URDF file to write"),
    tolerance: float = option("--tolerance", "M", "how far the new shapes may protrude [m]", 0.02),
    max_spheres: int | None = option("--max-spheres", "N", "most shapes of a link"),
    force: bool = flag("--force", "overwrite OUT"),
    as_json: Json = False,
) -> None:
    """Cover collision shapes by spheres.

    Prints how well they fit each link, and writes the robot as URDF if OUT is given.

    linkwork spherize robot.urdf -o spheres.urdf --tolerance 0.03
    """
    from dataclasses import asdict

    from linkwork.collision.spheres.spherize import spherize as cover

    if out is not None:
        _reject_existing(out, force=force)
    model = model_of_file(file)
    result = cover(model, tolerance=tolerance, max_spheres=max_spheres)
    findings: list[Finding] = []
    if out is not None:
        conversion = FORMATS["urdf"].converter()(result.model)
        findings = [*_moved_meshes(result.model, file, out), *conversion.findings]
        _write(out, conversion.text)
    if as_json and out != "-":
        links = [asdict(link) for link in result.links]
        print_json({"links": links, "file": out, "findings": [*map(finding_data, findings)]})
        return
    console = terminal(errors=out == "-")
    print_findings(console, findings)
    print_text(console, str(result))


def _converted(model: Model, target: str, *, floating: bool | None, meshes: bool) -> Conversion:
    from linkwork.io.urdf.writer import in_workcell_form
    from linkwork.workcell.workcell import WorkCell

    if target == WORKCELL.name:
        model, findings = in_workcell_form(model)
        written = _written_cell(WorkCell(name=model.name).with_robot(model.name, model))
        return Conversion(written.text, (*findings, *written.findings), written.checked)
    options = {"floating": floating, "meshes": meshes}
    row = FORMATS[target]
    return row.converter()(model, **{name: options[name] for name in row.options})


def _written_cell(cell: WorkCell) -> Conversion:
    """Return a workcell as XML, and findings about what RobWork itself cannot read."""
    from linkwork.workcell.files.load import checked_output

    text, joints, elements = checked_output(cell)
    findings = (*joints, *(replace(finding, severity="warning") for finding in elements))
    return Conversion(text, findings, "reads back as the same workcell")


def _from_cell(
    file: str, out: str, target: str, device: str | None, *, floating: bool | None, meshes: bool
) -> Conversion:
    """Convert one device of a workcell to a robot, or write the entire workcell."""
    from linkwork.workcell.files.load import load_workcell
    from linkwork.workcell.files.writer import explicit_home
    from linkwork.workcell.kinematics.device_model import device_model, with_shapes

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LinkworkWarning)
        cell = _cell_to_write(file) if target == "workcell" else load_workcell(file)
    doubts = [
        finding
        for one in caught
        if isinstance(one.message, LinkworkWarning)
        for finding in one.message.findings or (Finding("warning", "", str(one.message)),)
    ]
    if target == "workcell":
        if device is not None:
            raise typer.BadParameter("--device: a workcell is written with all its devices")
        written = _written_cell(cell)
        return Conversion(written.text, (*doubts, *written.findings), written.checked)
    names = cell.device_names
    if device is None and len(names) != 1:
        raise ArgumentError(
            f"a workcell with {len(names)} devices; name one: --device NAME, of {listed(names)}"
        )
    name = names[0] if device is None else device
    if name not in names:
        raise ArgumentError(f"--device: no device named {name!r}; {nearest(name, names)}")
    robot = device_model(cell.device(name))
    model = with_shapes(cell, robot)
    text = f"of the workcell, only the device {name!r} is written"
    doubts.append(Finding("warning", "", text))
    if robot.locked:
        text = "frames that it does not drive are fixed where they are in the default state"
        doubts.append(Finding("warning", "", f"{text}: {listed(robot.locked)}"))
    if any(explicit_home(cell.frame(joint)) for joint in cell.device(name).joint_names):
        doubts.append(Finding("warning", "", "left out: the home configuration of the device"))
    doubts += _moved_meshes(model, file, out) if target != "mjcf" else []
    if floating is None and not robot.floating:
        floating = False
    written = _converted(model, target, floating=floating, meshes=meshes)
    return Conversion(written.text, (*doubts, *written.findings), written.checked)


def _cell_to_write(file: str) -> WorkCell:
    """Return a workcell; the robots of an SDF world have their link frames on their joints."""
    from linkwork.io.xml.documents import format_of, read_source
    from linkwork.workcell.files.load import cell_in, load_workcell, read_sdf_cell

    path = Path(file)
    source = read_source(path) if path.is_file() else None  # else a bundled cell
    if source is not None and format_of(source) == "sdf":
        return cell_in(read_sdf_cell(source, writable=True))
    return load_workcell(file)


def _moved_meshes(model: Model, file: str, out: str) -> list[Finding]:
    """Return a warning about meshes relative to the file, if OUT is in another folder."""
    from linkwork.io.writing import relative_meshes

    named = named_robot(file)
    read_from = named.path if named else Path(file)
    same_folder = out != "-" and Path(out).resolve().parent == read_from.resolve().parent
    return [] if same_folder and file != "-" else relative_meshes(model)


def _reject_existing(out: str, *, force: bool) -> None:
    path = Path(out)
    if out == "-":
        return
    try:
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise WriteError(f"cannot write {out!r}: {error}") from None
    if folder:
        raise WriteError(f"{out!r} is a folder, not a file")
    if exists and not force:
        raise ArgumentError(f"{out!r} exists; --force overwrites it")


def _write(out: str, text: str) -> None:
    if out == "-":
        if hasattr(sys.stdout, "buffer"):  # the file declares UTF-8, whatever the locale
            sys.stdout.buffer.write(text.encode())
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        write_file(out, text)
    except OSError as error:
        raise WriteError(f"cannot write {out!r}: {error.strerror}") from None
