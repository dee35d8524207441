"""Instances of the C type `Call` without a kernel."""

from __future__ import annotations

import pytest

_call = pytest.importorskip("linkwork.engine.kernel._call")
Call = _call.Call

GIVEN = {
    "in_shapes": ((2,),),
    "out_shapes": ((2, 2),),
    "unit_norms": (),
    "norm_limits": (1e-14, 1e-3),
    "single_precision": False,
    "check_inputs": False,
    "check_outputs": False,
    "small_matrix": 6,
    "result": None,
    "slow": lambda *args, **named: ("slow", args, named),
}


def make(**changes: object) -> object:
    return Call(**{**GIVEN, **changes})
