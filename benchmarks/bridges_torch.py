"""linkwork.torch against adam on PyTorch, against linkwork on NumPy, and one call at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from conventions import Convention
from functions import SHORT
from libraries import quiet
from report import Section
from timing import Patience, Task, best
from urdf_text import plain, read

import linkwork as lw
from robots import CASES, GRAVITY, State, kindyn_of, random_states

ICUB = CASES[3]
ROWS = 4096
FASTER = 60.0  # than adam
MOST_OVER_NUMPY = 1.2
MOST_ONE, MOST_RECORDED = 15.0, 25.0  # microseconds
AGREES = 1e-3  # of the largest entry: adam has constants of float32
FUNCTIONS = {  # inputs of linkwork; those of adam besides the base's pose and the joints
    "crba": ("mass_matrix", ("q",), "mass_matrix", ()),
    "rnea": ("bias_force", ("q", "nu"), "bias_force", ("base", "s_dot")),
    "aba": ("forward_dynamics", ("q", "nu", "tau"), "aba", ("base", "s_dot", "tau")),
}


def bridge_torch(patience: Patience, rows: int = ROWS) -> Section:
    """Batches against adam and NumPy, and single calls."""
    import torch

    import linkwork.torch

    torch.set_num_threads(1)
    section = Section(f"linkwork.torch, {ICUB.name}")
    kd, bridge = kindyn_of(ICUB), linkwork.torch.KinDyn(kindyn_of(ICUB).model, gravity=GRAVITY)
    states = random_states(kd, rows)
    _against_adam(section, kd, bridge, states, patience)
    _against_numpy(section, kd, bridge, states, patience)
    _one_call(section, kd, bridge, states.row(0), patience)
    section.notes += [
        "One thread each, float64. With gradient: the call, and that of its sum by all inputs.",
        "adam: KinDynComputationsBatch of adam.pytorch; the least time of two calls.",
        "difference: of adam's results from linkwork's, of the largest entry.",
    ]
    return section


def _tensors(states: State, names: tuple[str, ...], grad: bool) -> tuple[Any, ...]:
    import torch

    return tuple(torch.tensor(getattr(states, name), requires_grad=grad) for name in names)


def _with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The call, and the gradient of the sum of its results by all inputs."""
    import torch

    def both(*tensors: Any) -> Any:
        return torch.autograd.grad(function(*tensors).sum(), tensors)

    return both


def _against_adam(
    section: Section, kd: lw.KinDyn, bridge: Any, states: State, patience: Patience
) -> None:
    rows = len(states.q)
    table = section.table(
        f"Microseconds per robot in batches of {rows:,}, and how many times faster than adam",
        *("function", "linkwork", "adam", "faster", "with gradient", "adam", "faster"),
        *("target", "call", "gradient", "difference"),
    )
    adam, operands = _adam(kd, states)
    for short, (name, inputs, method, more) in FUNCTIONS.items():
        function, theirs = getattr(bridge, name), getattr(adam, method)
        times: dict[str, float] = {}
        for grad in (False, True):
            mine = _tensors(states, inputs, grad)
            own = tuple(operands[one].clone().requires_grad_(grad) for one in ("H", "s", *more))
            call = _with_gradient(function) if grad else function
            call(*mine)
            function.kernel.vjp(*inputs).warmup() if grad else function.warmup()
            measured = best({"linkwork": Task(call, mine)}, patience)["linkwork"]
            times[f"linkwork {grad}"] = measured / rows
            times[f"adam {grad}"] = _least(_with_gradient(theirs) if grad else theirs, own) / rows
        values = function(*_tensors(states, inputs, False)).numpy()
        other = theirs(*(operands[one] for one in ("H", "s", *more))).numpy()
        apart = float(np.abs(values - other).max() / np.abs(values).max())
        assert apart < AGREES, (short, apart)
        ratios = [times[f"adam {grad}"] / times[f"linkwork {grad}"] for grad in (False, True)]
        what = "bias force" if short == "rnea" else SHORT[short]
        table.add(
            what,
            *(f"{times[f'linkwork {False}'] * 1e6:.2f}", f"{times[f'adam {False}'] * 1e6:,.0f}"),
            *(f"{ratios[0]:,.0f}", f"{times[f'linkwork {True}'] * 1e6:.2f}"),
            *(f"{times[f'adam {True}'] * 1e6:,.0f}", f"{ratios[1]:,.0f}", f"{FASTER:g}"),
            section.check(f"{what} in PyTorch, against adam", ratios[0], FASTER),
            section.check(f"{what} with gradient in PyTorch, against adam", ratios[1], FASTER),
            f"{apart:.0e}",
        )
        section.data.append({"function": short, "rows": rows} | times)


def _adam(kd: lw.KinDyn, states: State) -> tuple[Any, dict[str, Any]]:
    """adam's object, and what its methods take."""
    import torch
    from adam.pytorch import KinDynComputationsBatch

    with quiet():
        adam = KinDynComputationsBatch(
            plain(read(str(ICUB.path))),
            list(kd.joint_names),
            device=torch.device("cpu"),
            dtype=torch.float64,
            gravity=torch.tensor([*GRAVITY, 0.0, 0.0, 0.0], dtype=torch.float64),
        )
    convention = Convention(kd, "mixed", kd.joint_names)
    operands = {
        "H": np.stack([convention.pose(q) for q in states.q]),
        "s": states.q[:, 7:],
        "base": states.nu[:, :6],
        "s_dot": states.nu[:, 6:],
        "tau": states.tau[:, 6:],
    }
    return adam, {name: torch.tensor(array.copy()) for name, array in operands.items()}


def _least(call: Callable[..., Any], args: tuple[Any, ...], repeats: int = 2) -> float:
    """Seconds of a call that takes long."""
    measured = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call(*args)
        measured = min(measured, time.perf_counter() - start)
    return measured


def _against_numpy(
    section: Section, kd: lw.KinDyn, bridge: Any, states: State, patience: Patience
) -> None:
    rows = len(states.q)
    table = section.table(
        f"Microseconds per robot in batches of {rows:,}, with fresh results",
        *("function", "NumPy", "PyTorch", "ratio", "at most", ""),
    )
    for short, (name, inputs, _, _) in FUNCTIONS.items():
        arrays = tuple(getattr(states, one) for one in inputs)
        times = best(
            {
                "NumPy": Task(getattr(kd, name), arrays),
                "PyTorch": Task(getattr(bridge, name), _tensors(states, inputs, False)),
            },
            patience,
        )
        ratio = times["PyTorch"] / times["NumPy"]
        what = "bias force" if short == "rnea" else SHORT[short]
        table.add(
            *(what, *(f"{seconds / rows * 1e6:.3f}" for seconds in times.values())),
            *(f"{ratio:.2f}", f"{MOST_OVER_NUMPY:g}"),
            section.check(f"{what}, PyTorch over NumPy", ratio, MOST_OVER_NUMPY, at_most=True),
        )


def _one_call(
    section: Section, kd: lw.KinDyn, bridge: Any, state: State, patience: Patience
) -> None:
    """One row: the call, the call with its gradient recorded, and backward through it."""
    import torch

    table = section.table(
        "Microseconds of one call",
        *("what", "linkwork", "of which the kernel", "at most", ""),
    )
    q, nu = _tensors(state, ("q", "nu"), False)
    p, n = _tensors(state, ("q", "nu"), True)
    h, twice = bridge.bias_force(p, n), p * 2.0
    one, vjp = torch.ones_like(h), kd.bias_force.vjp("q", "nu")
    vjp.warmup()
    back: Any = torch.autograd.grad
    times = best(
        {
            "call": Task(bridge.bias_force, (q, nu)),
            "recorded": Task(bridge.bias_force, (p, n)),
            "backward": Task(back, (h, (p, n), one), {"retain_graph": True}),
            "torch": Task(back, (twice, (p,), torch.ones_like(p)), {"retain_graph": True}),
            "kernel": Task(kd.bias_force, (state.q, state.nu)),
            "vjp": Task(vjp, (state.q, state.nu, one.numpy())),
        },
        patience,
    )
    us = {name: seconds * 1e6 for name, seconds in times.items()}
    for what, name, most in (
        ("a bias force", "call", MOST_ONE),
        ("a bias force that records its gradient", "recorded", MOST_RECORDED),
    ):
        verdict = section.check(f"{what} in PyTorch", us[name], most, at_most=True)
        table.add(what, f"{us[name]:.1f}", f"{us['kernel']:.1f}", f"{most:g}", verdict)
    table.add(
        "`torch.autograd.grad` through it", f"{us['backward']:.1f}", f"{us['vjp']:.1f}", "", ""
    )
    table.add("`torch.autograd.grad` through `2 * q`", f"{us['torch']:.1f}", "", "", "")
    section.data.append({"one": us})
