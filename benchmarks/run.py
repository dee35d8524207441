"""How fast linkwork is: against its peers, as work grows, and from a cold start.

python benchmarks/run.py [section ...] [--quick] [--write-readme] [--strict]

Unless a section states otherwise, everything is measured in one process on one thread, candidates
in turn, and the least time of several repeats counts. Results are printed and written to
benchmarks/results/DATE-COMMIT.json. With --write-readme, figures are added to history.csv, tables
and pages are updated, and plots are drawn to docs/images. With --quick, everything goes to
benchmarks/results/quick.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from adam_view import adam
from against_pin import batch, single
from as_called import as_called
from bridges_casadi import bridges_casadi
from bridges_jax import bridges_jax
from bridges_torch import bridge_torch
from constrained import constrained
from derivatives import analytic, starts, sweeps
from exported import exported
from grid import grid
from history import add, latest, read
from libraries import libraries
from pages import write_pages
from peak import operations, peak
from peers import all_peers, version_of
from plots import draw
from report import Section, markdown
from rollout import rollouts
from scaling import float32, growth, threads
from startup import startup
from tick import tick
from timing import QUICK, Patience
from workcell_dynamics import workcell_dynamics

import linkwork as lw
from collision import collision
from envs import envs
from inverse_kinematics import inverse_kinematics
from simulation import simulation
from spatial import spatial
from workcell import workcell

HERE = Path(__file__).parent
README = HERE / "README.md"
RESULTS = HERE / "results"
IMAGES = HERE.parent / "docs" / "images"
START, END = "<!-- results: start -->", "<!-- results: end -->"
SECTION = re.compile(r"<!-- section: (\w+) -->\n(.*?)(?=<!-- section|\Z)", re.DOTALL)


def sections(quick: bool) -> dict[str, Callable[[], Section]]:
    """Every section by name."""
    patience = QUICK if quick else Patience()
    sizes = {"most_joints": 16, "most_rows": 4096} if quick else {}
    return {
        "operations": operations,
        "single": lambda: single(patience),
        "batch": lambda: batch(patience),
        "as_called": lambda: as_called(patience),
        "tick": lambda: tick(patience),
        "rollout": lambda: rollouts(patience, **({"rows": 256, "steps": 50} if quick else {})),
        "threads": lambda: threads(patience),
        "float32": lambda: float32(patience),
        "collision": lambda: collision(patience, **({"n_problems": 5} if quick else {})),
        "spatial": lambda: spatial(patience),
        "exported": lambda: exported(patience),
        "simulation": lambda: simulation(patience, **({"rows": (256,)} if quick else {})),
        "envs": lambda: envs(patience, **({"num_envs": 256, "batches": 2} if quick else {})),
        "startup": lambda: startup(2 if quick else 5),
        "peak": lambda: peak(patience),
        "growth": lambda: growth(patience, **sizes),
        "derivatives": lambda: analytic(patience),
        "sweeps": lambda: sweeps(patience),
        "constrained": lambda: constrained(patience),
        "grid": lambda: grid(patience),
        "workcell_dynamics": lambda: workcell_dynamics(patience),
        "starts": lambda: starts(1 if quick else 2),
        "peers": lambda: libraries(patience),
        "adam": lambda: adam(patience),
        "casadi": lambda: bridges_casadi(patience),
        "workcell": lambda: workcell(patience),
        "jax": lambda: bridges_jax(patience, adam_too=not quick),
        "ik": lambda: inverse_kinematics(**({"n_targets": 20} if quick else {})),
        "torch": lambda: bridge_torch(patience, **({"rows": 64} if quick else {})),
    }


def about(quick: bool) -> dict[str, Any]:
    """What was measured on what."""
    packages = {kind.package: version_of(kind.package) for kind in all_peers()}
    packages |= {name: version_of(name) for name in ("numpy", "llvmlite", "casadi", "jax", "torch")}
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": _commit(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "system": platform.platform(),
        "Python": platform.python_version(),
        "linkwork": lw.__version__,
        "packages": {name: version for name, version in packages.items() if version},
        "quick": quick,
    }


def _commit() -> str:
    words = ("git", "describe", "--always", "--dirty", "--exclude=*")
    done = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def described(facts: dict[str, Any]) -> str:
    """The same as sentences."""
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    lines = [
        f"{facts['processor']}, {facts['processors']} processors; {facts['system']}.",
        f"linkwork {facts['linkwork']}, Python {facts['Python']}, {packages}.",
    ]
    if facts["quick"]:
        lines.append("Measured with --quick: the figures are not meaningful.")
    return "\n".join(lines)


def measured_sections(path: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Sections that an earlier run on the same day with the same packages has measured."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return results["sections"] if results.get("about") == facts else {}


def write_readme(results: dict[str, Any], order: list[str]) -> None:
    """Replace the tables of the sections that were measured in the README."""
    before, _, remainder = README.read_text(encoding="utf-8").partition(START)
    body, _, after = remainder.partition(END)
    tables = dict(SECTION.findall(body))
    tables |= {name: markdown(one, 3) for name, one in results["sections"].items()}
    parts = [described(results["about"]), ""]
    for name in order:
        if name in tables:
            parts += [f"<!-- section: {name} -->", tables[name].rstrip(), ""]
    body = "\n".join(parts)
    README.write_text(f"{before}{START}\n\n{body}\n{END}{after}", encoding="utf-8")


def arguments(names: list[str]) -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(description="measure linkwork and its peers")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="short measurements, to try it out")
    parser.add_argument(
        "--write-readme", action="store_true", help="update history, tables and pages"
    )
    parser.add_argument("--strict", action="store_true", help="fail if a figure misses its target")
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in names]
    if unknown:
        parser.error(f"no section named {unknown[0]!r}; known: {', '.join(names)}")
    return options


def main() -> None:
    options = arguments(list(sections(quick=True)))
    available, facts = sections(options.quick), about(options.quick)
    os.environ["LINKWORK_THREADS"] = "1"  # unless a call sets its number of threads
    folder = RESULTS / "quick" if options.quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{facts['date']}-{facts['commit']}.json"
    print(described(facts), "\n", flush=True)
    done = measured_sections(file, facts)
    names = options.sections or list(available)
    for name in names:
        start = time.perf_counter()
        done[name] = available[name]().as_dict()
        print(markdown(done[name]), flush=True)
        print(f"({name} took {time.perf_counter() - start:.0f} s)\n", flush=True)
        results = {"about": facts, "sections": {key: done[key] for key in available if key in done}}
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"results: {file}")
    update = options.write_readme and not options.quick
    if update:
        lines = add(results)
        write_readme(results, list(available))
        write_pages(latest(lines))
        print(f"updated {README}, the history and the pages that quote figures")
    for path in draw(results["sections"], read(), IMAGES if update else folder):
        print(f"drew {path}")
    checks = [check for name in names for check in done[name]["checks"]]
    print(
        f"{sum(check['passed'] for check in checks)} of {len(checks)} figures meet their targets."
    )
    if options.strict and not all(check["passed"] for check in checks):
        sys.exit(1)


if __name__ == "__main__":
    main()
