"""Programs as C99: one function of doubles that allocates nothing and calls only libm.

    void NAME(const double *const *in, double *const *out)

in, out   pointers to the numbers of each input and each output, in C order

All inputs are read before the first output is written, so the two may overlap. Constants are
printed so that they read back exactly. Compilers turn the sine and the cosine of one angle into one
call of sincos.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from linkwork.errors import ArgumentError, shown
from linkwork.expr.node import Op
from linkwork.expr.program import Port, Program

C_FORM = {
    Op.ADD: "{} + {}",
    Op.SUB: "{} - {}",
    Op.MUL: "{} * {}",
    Op.DIV: "{} / {}",
    Op.NEG: "-{}",
    Op.SQRT: "sqrt({})",
    Op.SIN: "sin({})",
    Op.COS: "cos({})",
    Op.ATAN2: "atan2({}, {})",
    Op.LESS: "{} < {} ? 1.0 : 0.0",
    Op.SELECT: "{} != 0.0 ? {} : {}",
    Op.EXP: "exp({})",
    Op.LOG: "log({})",
    Op.LESS_EQUAL: "{} <= {} ? 1.0 : 0.0",
    Op.FLOOR: "floor({})",
    Op.EXPM1: "expm1({})",
    Op.LOG1P: "log1p({})",
    Op.EXP2: "exp2({})",
}


def emit_c(program: Program, name: str) -> str:
    """C99 text of a file with one function.

    Args:
        program: what the function computes.
        name: of the function.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ArgumentError(f"name: expected a name that C can use, got {shown(name)}")
    lines = [
        "#include <math.h>",
        "",
        *_description(program),
        f"void {name}(const double *const *in, double *const *out)",
        "{",
        *_body(program),
        "}",
    ]
    return "\n".join(lines) + "\n"


def c_number(value: float) -> str:
    """A number as a C literal, in parentheses if it is negative."""
    if math.isfinite(value):
        text = repr(float(value))
        return f"({text})" if text.startswith("-") else text
    return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)"


def _description(program: Program) -> Iterator[str]:
    """The comment above the function: names and shapes of inputs and outputs."""
    yield f"/* {program.n_ops} operations."
    for kind, ports in (("in", program.inputs), ("out", program.outputs)):
        for index, port in enumerate(ports):
            text = re.sub(r"[^\w .,+()\[\]-]", "_", port.name, flags=re.ASCII)
            shape = " x ".join(map(str, port.shape)) or "a number"
            yield f" * {kind}[{index}]: {text}, {shape}"
    yield " */"


def _body(program: Program) -> Iterator[str]:
    inputs, outputs = _elements("in", program.inputs), _elements("out", program.outputs)
    values: list[str] = []
    for step, (op, *args) in enumerate(program.steps):
        if op is Op.CONST:
            values.append(c_number(args[0]))
            continue
        text = inputs[args[0]] if op is Op.INPUT else C_FORM[op].format(*(values[k] for k in args))
        values.append(f"t{step}")
        yield f"  const double t{step} = {text};"
    for target, step in zip(outputs, program.results, strict=True):
        yield f"  {target} = {values[step]};"
    for kind, elements in (("in", inputs), ("out", outputs)):
        if not elements or (
            kind == "in" and all(step[0] is not Op.INPUT for step in program.steps)
        ):
            yield f"  (void){kind};"


def _elements(kind: str, ports: tuple[Port, ...]) -> list[str]:
    """The C expression of each number of all inputs, or of all outputs."""
    return [f"{kind}[{n}][{k}]" for n, port in enumerate(ports) for k in range(port.size)]
