"""Rotations, poses and spatial vectors: one row and a batch, against Pinocchio."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from report import Section
from timing import Patience, Task, best

from linkwork import spatial as lw_spatial
from linkwork.spatial import inertia, motion, quat, se3, so3

ROWS = 4096
MOST_PER_ROW = 1e-6  # [s]


def spatial(patience: Patience) -> Section:
    """Time of the public functions of `linkwork.spatial`."""
    section = Section("Spatial algebra")
    table = section.table(
        "Microseconds",
        *("function", "one row", "strided", "list", "float32", "NumPy source", "Pinocchio"),
        *(f"a row of {ROWS}", "fast enough"),
    )
    for name, (function, args, peer) in _cases().items():
        lw_spatial.warmup(function)
        tasks = {
            "one": Task(function, args),
            "strided": Task(function, tuple(_strided(a) for a in args)),
            "list": Task(function, tuple(a.tolist() for a in args)),
            "float32": Task(function, tuple(a.astype(np.float32) for a in args)),
            "batch": Task(function, tuple(np.repeat(a[None], ROWS, axis=0) for a in args)),
            "source": Task(inspect.unwrap(function), args),
        }
        if peer is not None:
            tasks["peer"] = Task(*peer)
        times = best(tasks, patience)
        good = section.check(f"{name}, one row [s]", times["one"], MOST_PER_ROW, at_most=True)
        table.add(
            name,
            *(_us(times[key]) for key in ("one", "strided", "list", "float32", "source")),
            _us(times["peer"]) if peer is not None else "",
            _us(times["batch"] / ROWS),
            good,
        )
        section.data.append({"function": name, **times})
    section.notes.append(
        "Pinocchio's functions take and return its own objects, which are created before."
    )
    return section


def _strided(array: Any) -> Any:
    """The same numbers as a part of a larger array."""
    return np.pad(array, [(0, 1)] * array.ndim)[tuple(slice(0, size) for size in array.shape)]


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}"


def _cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any]]:
    """Function, arguments, and what Pinocchio is called with."""
    xi = np.array([0.3, -0.2, 0.5, 0.4, -0.9, 0.7])
    H, R, q = se3.exp(xi), so3.exp(xi[3:]), quat.exp(xi[3:])
    M, twist = pin.SE3(H), pin.Motion(xi)
    pin_q = pin.Quaternion(*q)
    params = np.array([2.0, 0.2, 0.1, 0.3, 1.0, 0.1, 0.2, 1.2, 0.1, 0.9])
    return {
        "se3.log": (se3.log, (H,), (pin.log6, (M,))),
        "se3.exp": (se3.exp, (xi,), (pin.exp6, (twist,))),
        "se3.inverse": (se3.inverse, (H,), (M.inverse, ())),
        "so3.log": (so3.log, (R,), (pin.log3, (R,))),
        "so3.exp": (so3.exp, (xi[3:],), (pin.exp3, (xi[3:],))),
        "so3.from_rpy": (so3.from_rpy, (xi[3:],), (pin.rpy.rpyToMatrix, (xi[3:],))),
        "quat.multiply": (quat.multiply, (q, q), (pin_q.__mul__, (pin_q,))),
        "quat.to_rotation": (quat.to_rotation, (q,), (pin_q.matrix, ())),
        "quat.from_rotation": (quat.from_rotation, (R,), (pin.Quaternion, (R,))),
        "motion.transform_motion": (motion.transform_motion, (H, xi), (M.act, (twist,))),
        "motion.motion_transform": (motion.motion_transform, (H,), (M.toActionMatrix, ())),
        "inertia.apply": (inertia.apply, (params, xi), None),
    }
