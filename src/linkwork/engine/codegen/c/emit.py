"""Programs printed as a C function of rows, with the arguments described in `llvm/emit`."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.engine.codegen.c.functions import (
    MACROS,
    Parameter,
    ProgramPrinter,
    Source,
    Target,
    cut_for_c,
)
from linkwork.engine.codegen.c.rounding import rounding_support
from linkwork.engine.codegen.c.statements import Real, Statements
from linkwork.engine.symbolic.fusion import fused
from linkwork.engine.symbolic.program import Program, per_port, values_of


def emit_c(program: Program, name: str, real: Real) -> str:
    """Print a C99 module with one public function, which computes one row after the other."""
    return "\n".join(_lines(program, name, real)) + "\n"


def _lines(program: Program, name: str, real: Real) -> Iterator[str]:
    program = fused(values_of(program))
    parts, real_type = cut_for_c(program), real.name
    sources = [
        Source(f"in{k}", f"in{k}[{index}]")
        for k, port in enumerate(program.inputs)
        for index in range(port.size)
    ]
    targets: dict[int, list[Target]] = {}
    for k, (_, steps) in enumerate(per_port(program.outputs, program.results)):
        for index, step in enumerate(steps):
            targets.setdefault(step, []).append(Target(f"out{k}", index))
    printer = ProgramPrinter(
        parts, Statements(real), name, lambda new: new, inputs=sources, targets=targets
    )
    inputs = [Parameter(f"in{k}", f"in{k}", True) for k in range(len(program.inputs))]
    outputs = [Parameter(f"out{k}", f"out{k}", False) for k in range(len(program.outputs))]
    yield from ("#include <math.h>", "#include <stdint.h>", "", MACROS)
    yield rounding_support(real, program.operations)
    yield from printer.loops()
    is_cut = len(parts.pieces) > 1
    if is_cut:
        functions, statements = printer.parts([*inputs, *outputs])
        yield from functions
    else:
        statements = list(printer.statements(parts.pieces[0]))
    arrays = "void *const *inputs, void *const *outputs, const int64_t *strides"
    yield f"int64_t {name}({arrays}, int64_t rows, void *workspace)"
    yield "{"
    yield f"  {real_type} *const work = ({real_type} *)workspace;"
    yield "  (void)work;"
    yield "  for (int64_t row = 0; row < rows; ++row) {"
    for k in range(len(program.inputs)):
        source = f"(const {real_type} *)inputs[{k}] + row * strides[{k}]"
        yield f"    const {real_type} *const in{k} = {source};"
    for k, port in enumerate(program.outputs):
        target = f"({real_type} *)outputs[{k}] + row * {port.size}"
        yield f"    {real_type} *const out{k} = {target};"
    yield from (f"    {statement}" for statement in statements)
    yield "  }"
    yield f"  return {parts.size} * (int64_t)sizeof({real_type});"
    yield "}"
