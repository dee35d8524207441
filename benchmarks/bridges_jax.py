"""linkwork.jax: against adam and frax on JAX, and against linkwork's calls with NumPy arrays.

XLA takes minutes to compile adam's functions; with JAX_COMPILATION_CACHE_DIR they are kept on disk
for another run. Memory of large results is the same for both sides only if malloc keeps it, so run
with MALLOC_MMAP_THRESHOLD_=1000000000 MALLOC_TRIM_THRESHOLD_=1000000000.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from peers import version_of
from report import Section
from timing import Patience, Task, best
from urdf_text import plain, read

import linkwork as lw
from robots import CASES, GRAVITY, Case, State, kindyn_of, random_states

ICUB = CASES[3]
ROWS = 4096
FASTER = 15.0  # than the peers
MOST_OVER = 1.2  # of the time of a call with NumPy arrays
MOST_CALL = 15.0  # microseconds of one call
MOST_COMPILE = 1.0  # seconds of a jit beyond those of the kernel
FUNCTIONS = {
    "mass_matrix": ("q",),
    "bias_force": ("q", "nu"),
    "forward_dynamics": ("q", "nu", "tau"),
}
TITLES = {"mass_matrix": "mass matrix", "bias_force": "bias force", "forward_dynamics": "ABA"}


@dataclass(frozen=True)
class Candidate:
    """Functions of batches on JAX: by name, from a state to the arguments, and compiled."""

    name: str
    functions: Mapping[str, Callable[..., Any]]  # of one robot
    values: Mapping[str, tuple[Any, ...]]  # arrays with a row for each robot
    is_batched: bool = False  # whether they take batches themselves

    def compiled(self, function: str, *, gradient: bool) -> tuple[Callable[..., Any], float]:
        """The function of a batch, and the seconds that compiling it took."""
        import jax
        import jax.numpy as jnp

        one = self.functions[function]
        if gradient:

            def total(*arrays: Any) -> Any:
                return jnp.sum(one(*arrays) ** 2)

            batch = jax.grad(total, argnums=tuple(range(len(self.values[function]))))
            batch = batch if self.is_batched else jax.vmap(batch)
        else:
            batch = one if self.is_batched else jax.vmap(one)
        begin = time.perf_counter()
        compiled = jax.jit(batch).lower(*self.values[function]).compile()
        return compiled, time.perf_counter() - begin


def linkwork_candidate(case: Case, states: State, backend: str = "cpu") -> Candidate:
    """linkwork.jax; batches by its batch axes."""
    import jax.numpy as jnp

    import linkwork.jax

    kd = kindyn_of(case)
    robot = linkwork.jax.KinDyn(kd.model, **{**kd.options, "backend": backend})
    values = {
        name: tuple(jnp.asarray(getattr(states, one)) for one in inputs)
        for name, inputs in FUNCTIONS.items()
    }
    return Candidate("linkwork", {name: getattr(robot, name) for name in FUNCTIONS}, values, True)


def adam(case: Case, states: State) -> Candidate:
    """adam on JAX; batches by its batch axes."""
    import jax.numpy as jnp
    from adam.jax import KinDynComputations
    from conventions import Convention

    kd = kindyn_of(case)
    gravity = jnp.asarray([*GRAVITY, 0.0, 0.0, 0.0])
    robot = KinDynComputations(plain(read(str(case.path))), list(kd.joint_names), gravity=gravity)
    convention = Convention(kd, "mixed", kd.joint_names)
    H = jnp.asarray(np.stack([convention.pose(q) for q in states.q]))
    s, v, sd, tau = (
        jnp.asarray(array)
        for array in (states.q[:, 7:], states.nu[:, :6], states.nu[:, 6:], states.tau[:, 6:])
    )
    functions = {
        "mass_matrix": robot.mass_matrix,
        "bias_force": robot.bias_force,
        "forward_dynamics": robot.aba,
    }
    values = {
        "mass_matrix": (H, s),
        "bias_force": (H, s, v, sd),
        "forward_dynamics": (H, s, v, sd, tau),
    }
    return Candidate("adam", functions, values, True)


def frax(case: Case, states: State) -> Candidate:
    """frax, one robot, mapped over the batch; its coordinates are other ones, as many."""
    from tempfile import NamedTemporaryFile

    import jax.numpy as jnp
    from frax.core.robot import Robot

    kd = kindyn_of(case)
    with NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(lw.dump_urdf(kd.model.lumped()))
        file.flush()
        robot = Robot(file.name, joint_ordering=list(kd.joint_names), floating_base="quaternion")
    q, nu, tau = map(jnp.asarray, (states.q, states.nu, states.tau))
    functions = {
        "mass_matrix": robot.mass_matrix,
        "bias_force": robot.nonlinear_bias,
        "forward_dynamics": lambda q, nu, tau: robot.forward_dynamics(q, nu, tau, None),
    }
    values = {"mass_matrix": (q,), "bias_force": (q, nu), "forward_dynamics": (q, nu, tau)}
    return Candidate("frax", functions, values)


def bridges_jax(patience: Patience, *, adam_too: bool = True) -> Section:
    """iCub, batches of 4,096: against adam on JAX; and what the bridge costs."""
    import jax

    jax.config.update("jax_enable_x64", True)
    section = Section(f"linkwork.jax, {ICUB.name}, batches of {ROWS:,}")
    states = random_states(kindyn_of(ICUB), ROWS)
    _costs(section, states, patience)
    for peer in (frax, *[adam] * adam_too):
        try:
            candidate = peer(ICUB, states)
        except ImportError as error:
            section.notes.append(f"{peer.__name__} is not measured: {error}")
            continue
        _against(section, linkwork_candidate(ICUB, states), candidate, patience)
    _replayed(section, patience)
    section.notes += [
        f"jax {version_of('jax')}, adam {version_of('adam-robotics')}, float64, all cores.",
        "frax: jax.jit(jax.vmap(...)) of one robot, the quaternion in its own coordinates.",
        "gradient: of the sum of squares of all results by all arguments.",
        "adam and linkwork: jax.jit of functions that take batches.",
        f"malloc: MALLOC_MMAP_THRESHOLD_={os.environ.get('MALLOC_MMAP_THRESHOLD_', 'default')}.",
    ]
    return section


def _ready(call: Callable[..., Any]) -> Callable[..., Any]:
    import jax

    return lambda *values: jax.block_until_ready(call(*values))


def _waited(call: Callable[..., Any]) -> Callable[..., Any]:
    """For one array, which takes less time than `jax.block_until_ready` of anything."""
    return lambda *values: call(*values).block_until_ready()


def _costs(section: Section, states: State, patience: Patience) -> None:
    """What the bridge costs over a call with NumPy arrays and a new result."""
    table = section.table(
        "The bridge: one call [us], a batch over NumPy's [ratio], compile time of jax.jit [s]",
        *("function", "NumPy, one call", "JAX, one call", f"at most {MOST_CALL:g}"),
        *("NumPy, batch [us/row]", "JAX, batch [us/row]", "ratio", f"at most {MOST_OVER:g}"),
        *("jit [s]", f"at most {MOST_COMPILE:g}"),
    )
    kd, candidate = kindyn_of(ICUB), linkwork_candidate(ICUB, states)
    for name, inputs in FUNCTIONS.items():
        kernel: Any = kd.function(name)
        kernel.warmup()
        candidate.functions[name].kernel.warmup()
        rows = tuple(getattr(states, one) for one in inputs)
        row = tuple(array[0] for array in rows)
        compiled, seconds = candidate.compiled(name, gradient=False)
        on_jax = candidate.values[name]
        times = best(
            {
                "numpy": Task(kernel, row),
                "jax": Task(_waited(candidate.functions[name]), tuple(a[0] for a in on_jax)),
                "numpy batch": Task(kernel, rows),
                "jax batch": Task(_ready(compiled), on_jax),
            },
            patience,
        )
        ratio, call = times["jax batch"] / times["numpy batch"], times["jax"] * 1e6
        what = TITLES[name]
        table.add(
            *(what, f"{times['numpy'] * 1e6:.2f}", f"{call:.1f}"),
            section.check(f"{what}, one call", call, MOST_CALL, at_most=True),
            *(f"{times[way] / ROWS * 1e6:.3f}" for way in ("numpy batch", "jax batch")),
            f"{ratio:.2f}",
            section.check(f"{what}, batch over NumPy", ratio, MOST_OVER, at_most=True),
            f"{seconds:.2f}",
            section.check(f"{what}, jit", seconds, MOST_COMPILE, at_most=True),
        )
        section.data.append({"function": name, "compile": seconds} | times)


def _against(section: Section, ours: Candidate, peer: Candidate, patience: Patience) -> None:
    """Microseconds per robot after compiling, and the ratio."""
    table = section.table(
        f"Against {peer.name} on JAX: microseconds per robot, and compile times [s]",
        *("function", peer.name, "linkwork", "faster", f"at least {FASTER:g}"),
        *(f"{peer.name} compiles", "linkwork compiles"),
    )
    for gradient in (False, True):
        for name in FUNCTIONS:
            what = f"gradient of {TITLES[name]}" if gradient else TITLES[name]
            own_call, own_seconds = ours.compiled(name, gradient=gradient)
            own_call(*ours.values[name])
            _wait_for_kernels(ours, name)
            call, seconds = peer.compiled(name, gradient=gradient)
            tasks = {
                "linkwork": Task(_ready(own_call), ours.values[name]),
                peer.name: Task(_ready(call), peer.values[name]),
            }
            times = best(tasks, patience)
            ratio = times[peer.name] / times["linkwork"]
            table.add(
                what,
                *(f"{times[way] / ROWS * 1e6:.3f}" for way in (peer.name, "linkwork")),
                *(f"{ratio:.0f}", section.check(f"{what} against {peer.name}", ratio, FASTER)),
                *(f"{seconds:.1f}", f"{own_seconds:.2f}"),
            )
            section.data.append({"function": what, "peer compiles": seconds} | times)


def _wait_for_kernels(candidate: Candidate, name: str) -> None:
    candidate.functions[name].warmup()


def _replayed(section: Section, patience: Patience) -> None:
    """The operations as a program of XLA, as on other devices: how long that takes to compile."""
    import jax

    case = CASES[1]
    states = random_states(kindyn_of(case), ROWS)
    table = section.table(
        f'{case.name} with backend="xla": microseconds per robot, and compile times [s]',
        *("function", "operations", "us per robot", "XLA compiles"),
    )
    candidate = linkwork_candidate(case, states, "xla")
    for name in FUNCTIONS:
        call, seconds = candidate.compiled(name, gradient=False)
        jax.block_until_ready(call(*candidate.values[name]))
        times = best({"xla": Task(_ready(call), candidate.values[name])}, patience)
        n_ops = kindyn_of(case).function(name).program.n_ops
        table.add(TITLES[name], f"{n_ops:,}", f"{times['xla'] / ROWS * 1e6:.3f}", f"{seconds:.1f}")
