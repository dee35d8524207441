"""Simulations against converged MuJoCo: robots on the ground, state by state.

python tools/check_simulations.py [ROBOT ...] [--states COUNT]    # all robots if none is named

A row of the table that is printed has, of the errors of the accelerations, of the next velocities
and of the contact forces, the median and the worst; each is relative to the largest number. States
are random: in contact, sliding, in the air, at limits.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import linkwork as lw

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support import simulations as support


def robots():
    """Return functions that make a simulation and a model of MuJoCo, by name."""
    table = {}
    for path in [*support.menagerie_files(), *support.suite_files(("humanoid_CMU",)).values()]:
        table[path.stem] = lambda path=path: (support.on_the_ground_only(path),)
    for name in support.FEET:
        table[name] = lambda name=name: (support.with_spheres_as_feet(name),)
    for name in support.SHAPES_OF_BUNDLED:
        table[f"bundled {name}"] = lambda name=name: support.bundled(name)[::-1]
    return table


def main() -> None:
    """Compare the chosen robots."""
    table = robots()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robots", nargs="*", metavar="ROBOT", help=", ".join(table))
    parser.add_argument("--states", type=int, default=1000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| | acceleration | velocity | contact forces |\n|---|---|---|---|")
    for name in arguments.robots or table:
        mj, *rest = table[name]()
        sim = rest[0] if rest else lw.Simulation(mj)
        errors = defaultdict(list)
        states = list(support.random_states(mj, arguments.states))
        for what, error in support.compared(sim, mj, states):
            errors[what].append(error)
        errors["forces"] = list(support.contact_errors(sim, mj, states)) or [np.nan]
        columns = [errors[what] for what in ("acceleration", "qvel", "forces")]
        cells = [f"{np.median(column):.0e}, {np.max(column):.0e}" for column in columns]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
