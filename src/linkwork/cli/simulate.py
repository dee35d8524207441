"""The command that simulates robots on the ground."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.cli.arguments import File, Floating, Json, flag, model_of_file, option
from linkwork.cli.compute import numbers_of
from linkwork.cli.output import print_json, print_text, terminal
from linkwork.errors import ArgumentError, MissingFileError, counted, escaped, shown

if TYPE_CHECKING:
    from linkwork.engine.symbolic.arrays import Array
    from linkwork.simulation.core import SimulationState
    from linkwork.simulation.simulation import Simulation

FRAME = 0.02  # [s] between states that are kept
AT_REST = 0.01  # [rad/s] and [m/s]: slower robots count as at rest
SAVED = (".npz", ".npy")


def simulate(
    file: File,
    *,
    seconds: float = option("--seconds", "S", "simulated time", 2.0),
    rows: int = option("--rows", "N", "robots; all but the first start with other joints", 1),
    keyframe: str | None = option("--keyframe", "NAME", "where it starts, and its controls"),
    height: float = option("--height", "M", "of the drop", 0.05),
    spread: float = option("--spread", "X", "of the joints of the other robots", 0.1),
    floating: Floating = None,
    ground: str | None = option("--ground", "LINKS", "that touch it, with commas between them"),
    servos: str | None = option("--servos", "KP,KD", "that hold the joints where they start"),
    step: float | None = option("--step", "S", "time step [0.002 s]"),
    friction: float | None = option("--friction", "MU", "of the ground [1]"),
    save: str | None = option("--save", "FILE", ".npz: times, q and nu; .npy: q, for view"),
    mjcf: str | None = option("--mjcf", "FILE", "also write the simulation for MuJoCo"),
    show: bool = flag("--view", "play the first robot in a browser"),
    as_json: Json = False,
) -> None:
    """Simulate robots on the ground, with contacts and friction.

    An MJCF file has its own ground, contacts, actuators and options. Other robots are dropped on a
    plane: their collision shapes touch it, and no motor acts unless there are servos. A base that
    looks fixed is fixed, unless --floating is given.

    linkwork simulate quadruped --rows 100 --servos 200,8
    """
    import numpy as np

    if not 0 < seconds < np.inf or rows < 1:
        raise ArgumentError("--seconds is positive, and --rows at least 1")
    if not np.isfinite([height, spread]).all():
        raise ArgumentError("--height and --spread are finite numbers")
    if save is not None and not (save.endswith(SAVED) and Path(save).parent.is_dir()):
        kinds = " or ".join(SAVED)
        raise ArgumentError(f"--save: expected a {kinds} file in a folder that exists")
    if show:
        from linkwork.viewer.drawing import viewer_package

        viewer_package("viser")  # without it, nothing is simulated
    chosen = {
        "floating": floating,
        "ground": None if ground is None else [one.strip() for one in ground.split(",")],
        "servos": None if servos is None else numbers_of(servos, 2, "--servos"),
        "dt": step,
        "friction": friction,
    }
    sim, is_mjcf = _simulation(file, {k: v for k, v in chosen.items() if v is not None})
    if mjcf is not None:
        sim.to_mjcf(mjcf)
    x = _start(sim, keyframe, rows, spread)
    if not is_mjcf:
        x = sim.place_on_ground(x, height)
    u = sim.control(keyframe) if keyframe is not None else np.zeros(sim.n_controls)
    if servos is not None:
        u = np.array([x.q[0, sim.layout.q[one.joint].start] for one in sim.scene.actuators])
    times, states, each = run_simulation(sim, x, u, seconds)
    if save is not None:
        _save(save, times, states)
    _report(sim, times, states, each, as_json=as_json)
    if show:
        _play(sim, times, states, u)


def _simulation(file: str, options: dict[str, Any]) -> tuple[Simulation, bool]:
    """Return the simulation of a file, and whether it is MJCF, which takes no options."""
    from linkwork.io.named_robots import named_robot
    from linkwork.io.xml.documents import format_of, read_source
    from linkwork.model.check import sign_of_fixed_base
    from linkwork.simulation.simulation import Simulation

    if file != "-":
        named = named_robot(file)
        path = Path(file) if named is None else named.path
        if not path.is_file():
            raise MissingFileError(f"no file {shown(file)}")
        if format_of(read_source(path)) == "mjcf":
            return Simulation(path, **options), True
    model = model_of_file(file)
    looks_fixed = bool(sign_of_fixed_base(model, model.default_base))
    usual: dict[str, Any] = {"ground": True, "floating": not looks_fixed}
    return Simulation(model, **(usual | options)), False


def _start(sim: Simulation, keyframe: str | None, rows: int, spread: float) -> SimulationState:
    """Return the states at the start; only the first one is exact."""
    import numpy as np

    x = sim.state(keyframe, batch=rows)
    tangent = spread * np.random.default_rng(0).normal(size=(rows, sim.nv))
    tangent[0] = 0.0
    tangent[:, sim.layout.base_velocity] = 0.0
    return x._replace(q=sim.kd.integrate(x.q, tangent, 1.0))


def run_simulation(
    sim: Simulation, x: SimulationState, u: Array, seconds: float
) -> tuple[Array, list[SimulationState], float]:
    """Return times and states, some steps apart, and the duration of one step [s].

    A bar shows how far the simulation is. The first steps, which may be compiled, do not count.
    """
    import numpy as np
    from rich.progress import Progress

    n_steps = max(1, round(seconds / sim.dt))
    chunk = max(1, round(FRAME / sim.dt))
    controls = np.zeros((chunk, sim.n_controls)) + u
    numbers, states, clock = [0], [x], [time.perf_counter()]
    console = terminal(errors=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("simulating", total=n_steps)
        while numbers[-1] < n_steps:
            many = min(chunk, n_steps - numbers[-1])
            x = type(x)(*(part[..., -1, :] for part in sim.rollout(x, controls[:many])))
            numbers.append(numbers[-1] + many)
            states.append(x)
            clock.append(time.perf_counter())
            progress.update(task, completed=numbers[-1])
    first = 1 if len(clock) > 2 else 0
    each = (clock[-1] - clock[first]) / (numbers[-1] - numbers[first])
    return sim.dt * np.array(numbers), states, each


def _save(path: str, times: Array, states: list[SimulationState]) -> None:
    import numpy as np

    q = np.stack([x.q for x in states], axis=-2)
    if path.endswith(".npy"):
        np.save(path, q[0])
    else:
        np.savez(path, times=times, q=q, nu=np.stack([x.nu for x in states], axis=-2))


def _report(
    sim: Simulation, times: Array, states: list[SimulationState], each: float, *, as_json: bool
) -> None:
    import numpy as np

    last = states[-1]
    rows = len(last.q)
    is_finite = np.isfinite(last.q).all(axis=-1) & np.isfinite(last.nu).all(axis=-1)
    fastest = np.abs(last.nu).max(axis=-1, initial=0.0)
    touching = sim.forward(last, np.zeros(sim.n_controls)).active
    n_steps = round(times[-1] / sim.dt)
    facts: dict[str, Any] = {
        "robot": sim.model.name,
        "rows": rows,
        "seconds": float(times[-1]),
        "steps": n_steps,
        "steps_per_second": rows / each,
        "contact_points": len(sim.contacts),
        "touching": float(touching.sum(axis=-1).mean()) if sim.contacts else 0.0,
        "at_rest": int((fastest < AT_REST).sum()),
        "diverged": int((~is_finite).sum()),
        "left_out": list(sim.ignored),
    }
    if as_json:
        print_json(facts)
        return
    console = terminal()
    print_text(console, f"{escaped(sim.model.name)}: {facts['seconds']:g} s simulated", "bold")
    speed = f"{facts['steps_per_second']:,.0f} steps a second"
    print_text(console, f"{counted(rows, 'robot')}, {n_steps} steps of {sim.dt:g} s each: {speed}")
    points = f"{facts['touching']:.1f} of {len(sim.contacts)} contact points touch"
    print_text(console, f"at the end, {points}; {facts['at_rest']} of {rows} are at rest")
    if facts["diverged"]:
        print_text(console, f"{facts['diverged']} diverged: their state is not finite")


def _play(sim: Simulation, times: Array, states: list[SimulationState], u: Array) -> None:
    """Play the first robot, until Ctrl-C; the page can also simulate it."""
    import numpy as np

    from linkwork.viewer.viewer import view

    first = type(states[0])(
        *(np.stack([row[0] for row in part]) for part in zip(*states, strict=True))
    )
    with view(sim) as viewer, suppress(KeyboardInterrupt):
        viewer.simulate(type(first)(*(part[0] for part in first)), u, start=False)
        viewer.play(first, times, controls=u)
        print_text(terminal(), f"{escaped(sim.model.name)} at {viewer.url}; Ctrl-C ends")
        viewer.open()
        viewer.wait()
