"""Detection of rotations by an angle in a program.

With c = cos(theta) and s = sin(theta), a rotation of a plane vector computes

    u = c x - s y,    w = s x + c y,    so    du / dtheta = -w,    dw / dtheta = u

Each of u and w is the derivative of the other with respect to the angle, up to sign, and needs no
operation. The chain rule through c and s would take two more products and sums for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program

_Term: TypeAlias = tuple[int, int]  # sign, step
_Form: TypeAlias = tuple[int, _Term, _Term]  # angle, the factors of c and of s: c A + s B


@dataclass(frozen=True)
class RotationPairs:
    """Steps whose derivative with respect to an angle is another step."""

    angle_derivative: dict[int, tuple[int, int, int]] = field(
        default_factory=dict[int, tuple[int, int, int]]
    )
    """By step: the angle, and the sign and step of the derivative."""
    absorbed_factor: dict[int, int] = field(default_factory=dict[int, int])
    """By product c x or s x that only such steps use: the position of c or s among its factors.

    `angle_derivative` includes the derivative with respect to this factor.
    """


def rotation_pairs(program: Program, guarded: Sequence[bool] | None = None) -> RotationPairs:
    """Find the rotations in a program.

    Args:
        program: the program to differentiate.
        guarded: whether the derivatives of each step have guards; such steps are excluded.
    """
    trig_steps = {
        k for k, step in enumerate(program.steps) if step[0] is Op.SIN or step[0] is Op.COS
    }
    products = _products(program, trig_steps)
    if guarded is not None:
        products = {k: position for k, position in products.items() if not guarded[k]}
    if not products:
        return RotationPairs()
    forms = _forms(program, products)
    if guarded is not None:
        forms = {k: form for k, form in forms.items() if not guarded[k]}
    by_form = {form: step for step, form in forms.items()}
    angle_derivative: dict[int, tuple[int, int, int]] = {}
    for step, (angle, factor_of_c, factor_of_s) in forms.items():
        # d (c A + s B) / d theta = c B - s A
        for sign in (1, -1):
            derivative = (angle, _times(sign, factor_of_s), _times(-sign, factor_of_c))
            if derivative in by_form:
                angle_derivative[step] = (angle, sign, by_form[derivative])
    return _consistent(program, products, angle_derivative)


def _times(sign: int, term: _Term) -> _Term:
    return sign * term[0], term[1]


def _products(program: Program, trig_steps: set[int]) -> dict[int, int]:
    """Find the products c x and s x; return the position of c or s by step."""
    positions: dict[int, int] = {}
    for k, step in enumerate(program.steps) if trig_steps else ():
        if step[0] is Op.MUL and (step[1] in trig_steps) != (step[2] in trig_steps):
            positions[k] = 0 if step[1] in trig_steps else 1
    return positions


def _forms(program: Program, products: dict[int, int]) -> dict[int, _Form]:
    """Find the sums c A + s B of two such products with the cosine and sine of one angle."""
    forms: dict[int, _Form] = {}
    steps = program.steps
    for step, args in enumerate(program.operands):
        op = steps[step][0]
        if not (op is Op.ADD or op is Op.SUB) or not products.keys() >= {*args}:
            continue
        terms: dict[Op, tuple[int, _Term]] = {}
        for sign, product in zip((1, -1 if op is Op.SUB else 1), args, strict=True):
            position = products[product]
            factor, other = steps[product][1 + position], steps[product][2 - position]
            terms[steps[factor][0]] = steps[factor][1], (sign, other)
        if len(terms) == 2 and terms[Op.COS][0] == terms[Op.SIN][0]:
            forms[step] = terms[Op.COS][0], terms[Op.COS][1], terms[Op.SIN][1]
    return forms


def _consistent(
    program: Program, products: dict[int, int], angle_derivative: dict[int, tuple[int, int, int]]
) -> RotationPairs:
    """Remove steps that use a product which other steps use too, until no such step remains."""
    users: dict[int, set[int]] = {product: set() for product in products}
    for step, operands in enumerate(program.operands):
        for operand in operands:
            if operand in users:
                users[operand].add(step)
    results = set(program.results)
    while True:
        absorbed_factor = {
            product: position
            for product, position in products.items()
            if product not in results and all(user in angle_derivative for user in users[product])
        }
        remaining = {
            step: derivative
            for step, derivative in angle_derivative.items()
            if all(operand in absorbed_factor for operand in program.operands[step])
        }
        if len(remaining) == len(angle_derivative):
            used = {k: position for k, position in absorbed_factor.items() if users[k]}
            return RotationPairs(angle_derivative, used)
        angle_derivative = remaining
