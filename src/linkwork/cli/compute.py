"""Commands that compute a quantity of a robot in one state: fk, dynamics, ik.

Values on the command line are in SI units: `elbow=0.3`, `elbow=30deg`, `0.1,0.2,0.3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, radians
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.arguments import (
    Base,
    File,
    Floating,
    Json,
    flag,
    model_of_file,
    option,
)
from linkwork.cli.output import print_json, print_table, print_text, terminal
from linkwork.errors import counted, escaped
from linkwork.model.table import Table

if TYPE_CHECKING:
    from linkwork.engine.symbolic.arrays import Array
    from linkwork.kindyn import KinDyn

MOST_COLUMNS = 12  # of a mass matrix that is printed without --matrix
DIGITS = 6
DEGREES = "deg"

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="JOINT=VALUE",
        help="position [rad] or [m], or 30deg",
    ),
]
FrameName = Annotated[str, typer.Argument(metavar="FRAME", help="a link or frame")]


def fk(
    file: File,
    frame: FrameName,
    *,
    at: Set = None,
    floating: Floating = None,
    base: Base = None,
    as_json: Json = False,
) -> None:
    """Print the pose of a frame in the base.

    The result is the same for a floating and a fixed base.

    linkwork fk arm tool --set elbow_pitch=0.3 --set wrist_roll=30deg
    """
    from linkwork.spatial.source import quat, so3

    kd = _robot(file, base, floating=bool(floating))
    pose = kd.transform(frame, _configuration(kd, at))
    facts = {
        "position": pose[:3, 3].tolist(),
        "quaternion_wxyz": quat.from_rotation(pose[:3, :3]).tolist(),
        "roll_pitch_yaw": so3.to_rpy(pose[:3, :3]).tolist(),
        "matrix": pose.tolist(),
    }
    if as_json:
        print_json({"frame": frame, "base": kd.base, **facts})
        return
    rows = [
        ("position [m]", _listed(facts["position"])),
        ("quaternion wxyz", _listed(facts["quaternion_wxyz"])),
        ("roll, pitch, yaw [rad]", _listed(facts["roll_pitch_yaw"])),
        *((f"matrix, row {k}", _listed(row)) for k, row in enumerate(pose)),
    ]
    heading = f"pose of {escaped(frame)} in {escaped(kd.base)}"
    print_table(terminal(), Table(heading, ("", ""), tuple(rows)))


def dynamics(
    file: File,
    *,
    at: Set = None,
    velocity: list[str] | None = option("--velocity", "JOINT=VALUE", "velocity [rad/s] or [m/s]"),
    floating: Floating = None,
    base: Base = None,
    matrix: bool = flag("--matrix", "print the mass matrix, however large"),
    as_json: Json = False,
) -> None:
    """Print energies, forces and mass matrix.

    The forces compensate gravity (gravity), or gravity and velocities (bias force).

    linkwork dynamics arm --fixed --set elbow_pitch=1 --velocity wrist_roll=1
    """
    kd = _robot(file, base, floating=floating)
    q, nu = _configuration(kd, at), _velocities(kd, velocity)
    gravity, bias, M = kd.gravity_force(q), kd.bias_force(q, nu), kd.mass_matrix(q)
    facts: dict[str, Any] = {
        "total_mass": kd.total_mass,
        "com": kd.com(q).tolist(),
        "kinetic_energy": float(kd.kinetic_energy(q, nu)),
        "potential_energy": float(kd.potential_energy(q)),
    }
    names = _coordinates(kd)
    if as_json:
        forces = {"gravity_force": gravity.tolist(), "bias_force": bias.tolist()}
        print_json({**facts, "coordinates": names, **forces, "mass_matrix": M.tolist()})
        return
    console = terminal()
    summary = f"{kd.total_mass:.{DIGITS}g} kg, center of mass at {_listed(facts['com'])} m"
    energies = f"{facts['kinetic_energy']:.{DIGITS}g} J kinetic energy"
    print_text(console, f"{escaped(kd.model.name)}: {summary}", "bold")
    print_text(console, f"{energies}, {facts['potential_energy']:.{DIGITS}g} J potential energy")
    columns = ("coordinate", "gravity", "bias force", "limit", "% of limit")
    limits = [inf] * (6 * kd.floating) + kd.limits.effort.tolist()
    rows = tuple(
        (escaped(name), _shown(g), _shown(h), *_share(max(abs(g), abs(h)), limit))
        for name, g, h, limit in zip(names, gravity, bias, limits, strict=True)
    )
    print_text(console, "")
    heading = "gravity compensation [N m] or [N]"
    print_table(console, Table(heading, columns, rows, frozenset(columns[1:])))
    print_text(console, "")
    if len(M) > MOST_COLUMNS and not matrix:
        print_text(console, f"mass matrix: {len(M)} x {len(M)}; --matrix prints it")
        return
    labels = tuple(map(escaped, names))
    body = tuple((name, *map(_shown, row)) for name, row in zip(labels, M, strict=True))
    print_table(console, Table("mass matrix", ("", *labels), body, frozenset(labels)))


def ik(
    file: File,
    frame: FrameName,
    *,
    position: str | None = option("--position", "X,Y,Z", "target [m]"),
    rpy: str | None = option("--rpy", "R,P,Y", "target: roll, pitch, yaw [rad], or with deg"),
    wxyz: str | None = option("--wxyz", "W,X,Y,Z", "target: a quaternion instead"),
    at: Set = None,
    floating: Floating = None,
    base: Base = None,
    restarts: int | None = option(
        "--restarts", None, "random starts if the first fails; if not given, as many as lw.ik"
    ),
    as_json: Json = False,
) -> None:
    """Solve the inverse kinematics of a frame.

    Prints joint positions that bring the frame to a target. Exits with 1 if there are none.

    A floating base moves as well; --fixed moves the joints alone.

    linkwork ik arm tool --fixed --position 0.5,0.1,0.5 --rpy 0,90deg,0
    """
    from linkwork.inverse_kinematics import ik as solve
    from linkwork.kindyn.core import options_of_call

    target = _target(position, rpy, wxyz)
    kd = _robot(file, base, floating=floating)
    options = options_of_call(restarts=restarts)
    solution = solve(kd, {frame: target}, _configuration(kd, at), **options)
    names = _positions(kd)
    errors = {
        "position_error": float(solution.position_errors[frame]),
        "rotation_error": float(solution.rotation_errors.get(frame, 0.0)),
    }
    if as_json:
        joints = dict(zip(names, solution.q.tolist(), strict=True))
        limits = list(solution.active_limits)
        outcome = {"converged": bool(solution.converged), "q": joints}
        loops = {name: float(error) for name, error in solution.loop_errors.items()}
        of_loops = {"loop_errors": loops} if loops else {}
        print_json({**outcome, **errors, **of_loops, "at_limits": limits})
    else:
        rows = tuple(
            (escaped(name), _shown(value), "at its limit" * (name in solution.active_limits))
            for name, value in zip(names, solution.q, strict=True)
        )
        console = terminal()
        columns = ("joint", "position", "")
        print_table(console, Table(escaped(frame), columns, rows, frozenset(["position"])))
        outcome = "converged" if solution.converged else "not converged"
        error = f"error {errors['position_error']:.2g} m, {errors['rotation_error']:.2g} rad"
        if solution.loop_errors:
            worst = max(solution.loop_errors, key=lambda name: solution.loop_errors[name])
            error += f"; loop {escaped(worst)}: {solution.loop_errors[worst]:.2g}"
        print_text(console, f"{outcome}: {error}", "" if solution.converged else "yellow")
    if not solution.converged:
        raise typer.Exit(1)


def _robot(file: str, base: str | None, *, floating: bool | None) -> KinDyn:
    from linkwork.kindyn import KinDyn

    return KinDyn(model_of_file(file), base, floating=floating)


def _configuration(kd: KinDyn, settings: Sequence[str] | None) -> Array:
    values = _by_joint(settings, "--set")
    return kd.q({name: row[0] if len(row) == 1 else row for name, row in values.items()})


def _velocities(kd: KinDyn, settings: Sequence[str] | None) -> Array:
    import numpy as np

    nu = np.zeros(kd.nv)
    for name, values in _by_joint(settings, "--velocity").items():
        span = kd.layout.nu[name]
        if len(values) != span.stop - span.start:
            count = counted(span.stop - span.start, "number")
            raise typer.BadParameter(f"--velocity {name}: expected {count}, got {len(values)}")
        nu[span] = values
    return nu


def _target(position: str | None, rpy: str | None, wxyz: str | None) -> Array:
    import numpy as np

    from linkwork.spatial.source import quat, so3

    if position is None:
        raise typer.BadParameter("the target is missing: --position X,Y,Z")
    if rpy is not None and wxyz is not None:
        raise typer.BadParameter("expected --rpy or --wxyz, not both")
    point = np.array(numbers_of(position, 3, "--position"))
    if rpy is None and wxyz is None:
        return point
    pose = np.eye(4)
    pose[:3, 3] = point
    if wxyz is not None:
        quaternion = np.array(numbers_of(wxyz, 4, "--wxyz"))
        if not np.linalg.norm(quaternion) > 0:
            raise typer.BadParameter("--wxyz: the quaternion is zero")
        pose[:3, :3] = quat.to_rotation(quat.normalize(quaternion))
    else:
        pose[:3, :3] = so3.from_rpy(np.array(numbers_of(str(rpy), 3, "--rpy")))
    return pose


def _positions(kd: KinDyn) -> list[str]:
    """Return a name for each coordinate of q."""
    names = [f"base {part}" for part in "xyz"] + [f"base quaternion {part}" for part in "wxyz"]
    return (names if kd.floating else []) + _numbered(kd, kd.layout.q)


def _coordinates(kd: KinDyn) -> list[str]:
    """Return a name for each coordinate of nu."""
    parts = ("x", "y", "z", "about x", "about y", "about z")
    names = [f"base {part}" for part in parts] if kd.floating else []
    return names + _numbered(kd, kd.layout.nu)


def _numbered(kd: KinDyn, spans: Any) -> list[str]:
    """Return a name for each coordinate of the joints, with an index if a joint has several."""
    names: list[str] = []
    for name in kd.joint_names:
        count = spans[name].stop - spans[name].start
        names += [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
    return names


def _share(force: float, limit: float) -> tuple[str, str]:
    """Return the limit, and the percentage of it that a force takes."""
    if not isfinite(limit) or limit <= 0:
        return "", ""
    return _shown(limit), f"{100 * force / limit:.0f}"


def _shown(value: float) -> str:
    return f"{round(float(value), 9) + 0.0:.{DIGITS}g}"


def _listed(values: Sequence[float] | Array) -> str:
    return ", ".join(map(_shown, values))


def _number(text: str, what: str) -> float:
    """Parse a number [m] or [rad], or an angle followed by `deg`."""
    in_degrees = text.strip().endswith(DEGREES)
    try:
        value = float(text.strip().removesuffix(DEGREES))
    except ValueError:
        raise typer.BadParameter(f"{what}: {text!r} is not a number") from None
    if not isfinite(value):
        raise typer.BadParameter(f"{what}: {text!r} is not finite")
    return radians(value) if in_degrees else value


def numbers_of(text: str, count: int, what: str) -> list[float]:
    """Parse `count` numbers with commas or spaces between them."""
    values = [_number(part, what) for part in text.replace(",", " ").split()]
    if len(values) != count:
        raise typer.BadParameter(f"{what}: expected {count} numbers, got {len(values)}")
    return values


def _by_joint(settings: Sequence[str] | None, option: str) -> dict[str, list[float]]:
    """Parse `joint=value`, with commas between the values of several coordinates."""
    values: dict[str, list[float]] = {}
    for text in settings or ():
        name, is_split, value = text.rpartition("=")
        if not is_split or not name:
            raise typer.BadParameter(f"{option}: expected joint=value, got {text!r}")
        if name in values:
            raise typer.BadParameter(f"{option}: joint {name!r} appears twice")
        values[name] = [_number(part, f"{option} {name}") for part in value.split(",")]
    return values
