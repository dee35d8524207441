"""Digests of the programs of all quantities: which of them does a change of the code change?

    python tools/program_digests.py before.json            store the digests
    python tools/program_digests.py before.json --compare  list the programs that differ

The robots are ur5, anymal, talos, Cassie (closed loops) and the bundled humanoid, with fixed and
floating base, in three representations. Derivatives, constrained systems, distances and model
parameters are included. A refactoring must not change any digest: a program is the list of its
operations, so equal digests mean equal results, bit by bit, and equal speed.

Quantities are found through the public interface: each public name of a class that `function`
accepts, with frames if it needs them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import linkwork as lw

ROBOTS = ("ur5", "anymal", "talos", "cassie", "humanoid")
REPRESENTATIONS = ("mixed", "body", "inertial")
DERIVATIVES = ("jacobian", "vjp", "jvp")
CONTACTS = {
    "ur5": {"tool0": "pose"},
    "anymal": {f"{leg}_FOOT": "point" for leg in ("LF", "RF", "LH", "RH")},
    "talos": {"left_sole_link": "pose", "right_sole_link": "pose"},
    "cassie": {},
    "humanoid": {"l_sole": "pose", "r_sole": "pose"},
}


def requests(system: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the request of each quantity of a system."""
    first, *_, last = system.model.frame_names
    for name in sorted(dir(type(system))):
        if name.startswith("_"):
            continue
        frames = ((), (last,), (first, last), ((first, last),), (first, last, first, last))
        for arguments in frames:
            try:
                system.function((name, *arguments))
            except lw.LinkworkError:
                continue
            yield name, (name, *arguments)
            break


def kernels(system: Any, derivatives: bool) -> Iterator[tuple[str, Any]]:
    """Yield the kernels of all quantities of a system, and those of their derivatives."""
    for name, request in requests(system):
        kernel = system.function(request)
        yield name, kernel
        if derivatives:
            for kind in DERIVATIVES:
                if any(port.name == "q" for port in kernel.signature.inputs):
                    yield f"{name}.{kind}", getattr(kernel, kind)("q")


def systems(robot: str) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, system, and whether derivatives are included."""
    model = lw.load(robot)
    for floating in (False, True):
        base = "floating" if floating else "fixed"
        for representation in REPRESENTATIONS:
            kd = lw.KinDyn(model, floating=floating, representation=representation)
            is_first = representation == "mixed"
            yield f"{robot} {base} {representation}", kd, is_first
            constrained = kd.constrained(CONTACTS[robot])
            yield f"{robot} {base} {representation} constrained", constrained, is_first
    inertia = lw.parameters.LinkInertia(
        next(link.name for link in model.links if link.inertia.mass)
    )
    kd = lw.KinDyn(model, floating=True, parameters=[inertia])
    yield f"{robot} parameters", kd, False
    yield f"{robot} float32", lw.KinDyn(model, floating=True, dtype="float32"), False
    if robot == "humanoid":  # its shapes have closed forms
        yield f"{robot} collision", lw.CollisionModel(model, floating=True), True


def digests(robots: Iterable[str]) -> dict[str, str]:
    """Compute the digest of each program, by the names of system and quantity."""
    result: dict[str, str] = {}
    for robot in robots:
        for label, system, derivatives in systems(robot):
            for name, kernel in kernels(system, derivatives):
                try:
                    result[f"{label}: {name}"] = kernel.program.digest
                except lw.LinkworkError as error:  # such as a program that is too long
                    result[f"{label}: {name}"] = type(error).__name__
        print(f"{robot}: {len(result)} programs")
    return result


def main() -> int:
    """Store or compare; return the number of differences, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    actual = digests(arguments.robots)
    if not arguments.compare:
        arguments.file.write_text(json.dumps(actual, indent=1))
        return 0
    expected = json.loads(arguments.file.read_text())
    changed = [name for name in expected if actual.get(name) != expected[name]]
    added = [name for name in actual if name not in expected]
    for kind, names in (("changed or missing", changed), ("new", added)):
        print(f"{len(names)} {kind}", *names[:40], sep="\n  ")
    return int(bool(changed))


if __name__ == "__main__":
    raise SystemExit(main())
