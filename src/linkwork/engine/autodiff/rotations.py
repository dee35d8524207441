"""Rotations by an angle, found in a program.

With c = cos(theta) and s = sin(theta), a rotation of a plane vector computes

    u = c x - s y,    w = s x + c y,    so    du / dtheta = -w,    dw / dtheta = u

The derivative of each with respect to the angle is the other, up to sign, and needs no operation.
By way of c and s, the chain rule takes two products and two sums more for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import Program

_Term: TypeAlias = tuple[int, int]  # sign, step
_Form: TypeAlias = tuple[int, _Term, _Term]  # angle, the factors of c and of s: c A + s B


@dataclass(frozen=True)
class RotationPairs:
    """The steps whose derivative with respect to an angle is another step."""

    by_angle: dict[int, tuple[int, int, int]] = field(
        default_factory=dict[int, tuple[int, int, int]]
    )
    """By step: the angle, and the sign and the step of the derivative."""
    absorbed_factor: dict[int, int] = field(default_factory=dict[int, int])
    """By product c x or s x that only such steps use: the position of c or s in it. The derivative
    by way of this argument is counted in `by_angle`."""


def rotation_pairs(program: Program, guarded: Sequence[bool] | None = None) -> RotationPairs:
    """The rotations in a program.

    Args:
        program: what is differentiated.
        guarded: which steps have derivatives with guards, and are left out.
    """
    trig_steps = {
        k for k, step in enumerate(program.steps) if step[0] is Op.SIN or step[0] is Op.COS
    }
    products = _products(program, trig_steps)
    if guarded is not None:
        products = {k: at for k, at in products.items() if not guarded[k]}
    if not products:
        return RotationPairs()
    forms = _forms(program, products)
    if guarded is not None:
        forms = {k: form for k, form in forms.items() if not guarded[k]}
    by_form = {form: step for step, form in forms.items()}
    by_angle: dict[int, tuple[int, int, int]] = {}
    for step, (angle, of_c, of_s) in forms.items():
        # d (c A + s B) / d theta = c B - s A
        for sign in (1, -1):
            wanted = (angle, _times(sign, of_s), _times(-sign, of_c))
            if wanted in by_form:
                by_angle[step] = (angle, sign, by_form[wanted])
    return _consistent(program, products, by_angle)


def _times(sign: int, term: _Term) -> _Term:
    return sign * term[0], term[1]


def _products(program: Program, trig_steps: set[int]) -> dict[int, int]:
    """The products c x and s x: by step, the position of c or s."""
    found: dict[int, int] = {}
    for k, step in enumerate(program.steps) if trig_steps else ():
        if step[0] is Op.MUL and (step[1] in trig_steps) != (step[2] in trig_steps):
            found[k] = 0 if step[1] in trig_steps else 1
    return found


def _forms(program: Program, products: dict[int, int]) -> dict[int, _Form]:
    """The sums c A + s B of two such products, of the cosine and the sine of one angle."""
    forms: dict[int, _Form] = {}
    steps = program.steps
    for step, args in enumerate(program.operands):
        op = steps[step][0]
        if not (op is Op.ADD or op is Op.SUB) or not products.keys() >= {*args}:
            continue
        terms: dict[Op, tuple[int, _Term]] = {}
        for sign, product in zip((1, -1 if op is Op.SUB else 1), args, strict=True):
            at = products[product]
            factor, other = steps[product][1 + at], steps[product][2 - at]
            terms[steps[factor][0]] = steps[factor][1], (sign, other)
        if len(terms) == 2 and terms[Op.COS][0] == terms[Op.SIN][0]:
            forms[step] = terms[Op.COS][0], terms[Op.COS][1], terms[Op.SIN][1]
    return forms


def _consistent(
    program: Program, products: dict[int, int], by_angle: dict[int, tuple[int, int, int]]
) -> RotationPairs:
    """Leave out what uses a product that is used elsewhere too, until nothing is left to leave."""
    users: dict[int, set[int]] = {product: set() for product in products}
    for step, operands in enumerate(program.operands):
        for operand in operands:
            if operand in users:
                users[operand].add(step)
    results = set(program.results)
    while True:
        absorbed_factor = {
            product: at
            for product, at in products.items()
            if product not in results and all(user in by_angle for user in users[product])
        }
        kept = {
            step: known
            for step, known in by_angle.items()
            if all(operand in absorbed_factor for operand in program.operands[step])
        }
        if len(kept) == len(by_angle):
            return RotationPairs(by_angle, {k: at for k, at in absorbed_factor.items() if users[k]})
        by_angle = kept
