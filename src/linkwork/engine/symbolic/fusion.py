"""Fused products and sums: the operations that round once are chosen in the program.

Code generators compute each step as it is, so all code of a program gives the same bits: of one row
and of several, quick and fast, LLVM IR and C. Derivatives are made from programs without fused
steps, so this is the last change of a program before it is printed.

    a b + x        FMA(a, b, x), where nothing else uses the product
    x - a b        FMA(-a, b, x); the negation is part of the instruction
    a b - x        FMA(a, b, -x)
    a b + c d      one product is rounded: the one that is computed first
    a b - c d      the same; neither is fused in functions of users, so that it is 0 where they are
                   equal, as in NumPy
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program


def fused(program: Program) -> Program:
    """Replace products and sums by fused operations, also in the bodies of loops."""
    chosen = _chosen_products(program)
    gone = set(chosen.values())
    steps: list[tuple[Any, ...]] = []
    step_of: list[int] = []
    for step, (op, *args) in enumerate(program.steps):
        if step in chosen:
            product = chosen[step]
            is_first = args[0] == product
            terms = [*program.steps[product][1:], args[1 if is_first else 0]]
            operands = [step_of[term] for term in terms]
            if op is Op.SUB:
                k = 2 if is_first else 1  # of two factors the second: constants are the first
                first, *rest = program.steps[terms[k]]
                is_constant = first is Op.CONST
                steps.append((first, -rest[0]) if is_constant else (Op.NEG, operands[k]))
                operands[k] = len(steps) - 1
            steps.append((Op.FMA, *operands))
        elif step not in gone:
            operands = program.operands[step]
            first = args[: len(args) - len(operands)]
            steps.append((op, *first, *[step_of[operand] for operand in operands]))
        step_of.append(len(steps) - 1)
    return replace(
        program,
        steps=tuple(steps),
        results=tuple(step_of[step] for step in program.results),
        loops=tuple(replace(loop, body=fused(loop.body)) for loop in program.loops),
    )


def _chosen_products(program: Program) -> dict[int, int]:
    """Return the product that each fused sum or difference contains, by step."""
    n_users = [0] * len(program.steps)
    for step in chain(program.results, *program.operands):
        n_users[step] += 1
    chosen: dict[int, int] = {}
    for step, (op, *args) in enumerate(program.steps):
        if op is Op.ADD or op is Op.SUB:
            products = [arg for arg in args if program.steps[arg][0] is Op.MUL]
            if op is Op.SUB and len(products) == 2 and program.follows_numpy:
                continue
            # Two products: the one that is computed last, since its factors are known last.
            chosen[step] = max((arg for arg in products if n_users[arg] == 1), default=-1)
    return {step: product for step, product in chosen.items() if product >= 0}
