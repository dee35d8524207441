"""Digests of the programs of all quantities: which of them does a change of the code change?

    python tools/program_digests.py before.json            store the digests
    python tools/program_digests.py before.json --compare  list the programs that differ

The robots are ur5, anymal, talos, Cassie (closed loops) and the bundled humanoid, with fixed and
floating base, in three representations. Derivatives, constrained systems, distances and model
parameters are included. A refactoring must not change any digest. Programs with equal digests have
the same operations on the same operands and return the same bits: a digest depends neither on the
order of the steps, nor on that of summands and factors, nor on whether a - b or -(b - a) is used.
The number of operations is stored beside it.

Quantities are found through the public interface: each public name of a class that `function`
accepts, with frames if it needs them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program

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
    if robot == "humanoid":  # spheres have closed forms
        spheres = lw.CollisionModel(model, floating=True, shapes="spheres")
        yield f"{robot} collision", spheres, True


def digest(program: Program) -> str:
    """Hash the operations that lead to the results, up to what does not change a bit of them."""
    steps: list[tuple[int, str]] = []  # sign and hash of the value of each step
    for (op, *args), operands in zip(program.steps, program.operands, strict=True):
        sign, values = 1, [steps[k] for k in operands]
        constant = repr(args[0]) if len(args) > len(operands) else ""
        if op is Op.LOOP:
            loop = program.loops[args[0]]
            constant = f"{loop.n} {loop.is_reversed} {digest(loop.body)}"
        if op is Op.NEG:
            steps.append((-values[0][0], values[0][1]))
            continue
        if op is Op.MUL:
            sign = values[0][0] * values[1][0]
            values = sorted((1, value) for _, value in values)
        elif op is Op.ADD:
            values.sort()
        elif op is Op.SUB and values[0] > values[1]:
            sign, values = -1, values[::-1]
        text = f"{op.name} {constant} {values}"
        steps.append((sign, hashlib.sha256(text.encode()).hexdigest()))
    results = [steps[k] for k in program.results]
    text = f"{program.inputs} {program.outputs} {results}"
    return f"{hashlib.sha256(text.encode()).hexdigest()} {program.n_ops}"


def digests(robots: Iterable[str]) -> dict[str, str]:
    """Compute the digest of each program, by the names of system and quantity."""
    result: dict[str, str] = {}
    for robot in robots:
        for label, system, derivatives in systems(robot):
            for name, kernel in kernels(system, derivatives):
                try:
                    result[f"{label}: {name}"] = digest(kernel.program)
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
