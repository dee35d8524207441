"""Operation counts, and which part of the core's multiply-add peak the batch kernels reach."""

from __future__ import annotations

import ctypes

import numpy as np
from functions import SHORT, arguments, kernel_of
from report import Section
from timing import Patience, Task, best

from linkwork.engine.runtime.compiler import compiled, load_code
from linkwork.engine.runtime.processor import this_machine
from robots import CASES, kindyn_of, random_states

ROWS = 4096
FUNCTIONS = ("rnea", "crba", "aba", "pose", "jacobian", "cmm")
CHAINS = 12  # multiply-adds that do not wait for each other: more than latency times units
TURNS = 100_000
MOST_OPERATIONS = {  # RNEA, CRBA, ABA; the design's marks
    "ur5": (795, 408, 2028),
    "anymal": (2455, 1085, 4827),
    "talos_reduced": (6075, 3943, 12433),
}


def operations() -> Section:
    """Operation counts of the programs."""
    section = Section("Operations of one evaluation")
    table = section.table(
        "Additions, subtractions, multiplications, divisions, negations",
        *("robot", "velocity", *(SHORT[function] for function in FUNCTIONS), "at most", ""),
    )
    for case in CASES:
        for velocity in ("mixed", "body"):
            kd = kindyn_of(case).replace(representation=velocity)
            counts = [kernel_of(kd, name, case.frame).program.n_ops for name in FUNCTIONS]
            marks = MOST_OPERATIONS.get(case.name, ())
            verdicts = [
                section.check(
                    f"operations of {case.name} {SHORT[name]}, {velocity}", n, mark, at_most=True
                )
                for name, n, mark in zip(FUNCTIONS, counts, marks, strict=False)
            ]
            shown = " / ".join(f"{mark:,}" for mark in marks)
            table.add(case.name, velocity, *(f"{n:,}" for n in counts), shown, " ".join(verdicts))
    section.notes += [
        'Sines and cosines are not counted. "at most" is for RNEA / CRBA / ABA.',
        "The marks do not say for which representation they were counted; both are compared.",
    ]
    return section


def peak_flops(patience: Patience, scalar: str = "double") -> float:
    """Additions and multiplications per second of one core at its best."""
    lanes = this_machine().lanes * (1 if scalar == "double" else 2)
    code = load_code(compiled(_multiply_adds(lanes, scalar)))
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))
    buffer = np.full(CHAINS * lanes, 0.5, np.float64 if scalar == "double" else np.float32)
    elapsed = best({"peak": Task(function, (buffer.ctypes.data, TURNS))}, patience)["peak"]
    return 2.0 * CHAINS * lanes * TURNS / elapsed


def peak(patience: Patience) -> Section:
    """The peak, and the fraction of it that each batch kernel reaches."""
    flops = peak_flops(patience)
    section = Section("Fraction of the core's peak")
    table = section.table(
        f"Operations per second, of {flops / 1e9:.1f} billion that one core can do in float64",
        *("robot", *(SHORT[function] for function in FUNCTIONS)),
    )
    for case in CASES:
        kd, fractions = kindyn_of(case), []
        states = random_states(kd, ROWS)
        for function in FUNCTIONS:
            kernel = kernel_of(kd, function, case.frame)
            rows = arguments(function, states)
            out = np.asarray(kernel(*rows, threads=1))
            task = Task(kernel, rows, {"out": out, "threads": 1})
            elapsed = best({"batch": task}, patience)["batch"]
            fractions.append(kernel.program.n_ops * ROWS / elapsed / flops)
            figures = {"robot": case.name, "function": function, "fraction": fractions[-1]}
            section.data.append(figures)
        table.add(case.name, *(f"{fraction:.0%}" for fraction in fractions))
    section.data.append({"flops": flops})
    section.notes += [
        f"Peak: {CHAINS} independent chains of vector multiply-adds, two operations each.",
        f"Kernels: batches of {ROWS:,}, one thread, out= reused.",
        "Each addition and each multiplication counts as one, sines and cosines as none.",
        "Additions that no multiplication can be fused with can reach half of the peak at most.",
    ]
    return section


def _multiply_adds(lanes: int, scalar: str) -> str:
    """LLVM IR: x = x * a + b on several vectors x, `turns` times."""
    vector = f"<{lanes} x {scalar}>"
    fma = f"@llvm.fma.v{lanes}{'f64' if scalar == 'double' else 'f32'}"
    half = "<" + ", ".join([f"{scalar} 0.5"] * lanes) + ">"
    each = range(CHAINS)
    places = [f"  %p{k} = getelementptr {vector}, ptr %data, i64 {k}" for k in each]
    loads = [f"  %x{k} = load {vector}, ptr %p{k}, align 4" for k in each]
    phis = [f"  %y{k} = phi {vector} [ %x{k}, %entry ], [ %z{k}, %loop ]" for k in each]
    arguments_ = f"{vector} {half}, {vector} {half}"
    steps = [f"  %z{k} = call {vector} {fma}({vector} %y{k}, {arguments_})" for k in each]
    stores = [f"  store {vector} %z{k}, ptr %p{k}, align 4" for k in each]
    lines = [
        f"declare {vector} {fma}({vector}, {vector}, {vector})",
        "define void @f(ptr %data, i64 %turns) {",
        *("entry:", *places, *loads, "  br label %loop"),
        *("loop:", "  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]", *phis, *steps),
        "  %next = add i64 %turn, 1",
        "  %more = icmp slt i64 %next, %turns",
        "  br i1 %more, label %loop, label %end",
        *("end:", *stores, "  ret void", "}"),
    ]
    return "\n".join(lines) + "\n"
