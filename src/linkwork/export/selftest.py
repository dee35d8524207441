"""The self-test in C: recorded inputs and results, compared where the code shall run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.symbolic.arrays import Array
from linkwork.export.code import can_refuse
from linkwork.export.function import BATCH_ENDING
from linkwork.export.package import MARK, Package, Written
from linkwork.export.samples import Sample
from linkwork.version import __version__

MOST_NUMBERS = 6000  # recorded for a function, of inputs and outputs together; one state at least
_FOR_OTHER_MACHINES = 4.0  # times the difference allowed here, as another libm rounds differently

_HELPERS = """\
/* The largest difference, relative to the largest number that is wanted. */
static double difference(const {t} *found, const {t} *wanted, size_t count)
{{
  double largest = 0.0, worst = 0.0;
  for (size_t k = 0; k < count; ++k) {{
    const double size = fabs((double)wanted[k]), apart = fabs((double)found[k] - (double)wanted[k]);
    largest = size > largest ? size : largest;
    worst = apart <= worst ? worst : apart;
  }}
  return largest > 0.0 ? worst / largest : worst;
}}

static double larger(double a, double b)
{{
  return b <= a ? a : b;
}}

/* Print a line; returns whether it tells of a failure. NaN is one. */
static int told(const char *name, double found, double allowed)
{{
  const int failed = !(found <= allowed);
  printf("%-7s %-52s %.1e, allowed %.1e\\n", failed ? "FAILED" : "passed", name, found, allowed);
  return failed;
}}
"""


def selftest_text(package: Package, samples: Sequence[Sample]) -> str:
    """The text of selftest.c."""
    lines = [
        f"/* Compares each function with recorded results; {MARK} {__version__}. */",
        f'#include "{package.prefix}.h"',
        "",
        "#include <math.h>",
        "#include <stddef.h>",
        "#include <stdio.h>",
        "",
        _HELPERS.format(t=package.real.name),
    ]
    calls: list[str] = []
    for number, (one, sample) in enumerate(zip(package.functions, samples, strict=True)):
        lines += [*_test(package, one, sample, f"test_{number}"), ""]
        calls.append(f"test_{number}()")
    lines += ["int main(void)", "{", "  int failures = 0;"]
    lines += [f"  failures += {call};" for call in calls]
    lines += ['  printf("%d failures\\n", failures);', "  return failures != 0;", "}"]
    return "\n".join(lines) + "\n"


def _test(package: Package, one: Written, sample: Sample, name: str) -> Iterator[str]:
    function, real = one.exported.function, package.real
    total = sum(a.port.size for a in (*function.inputs, *function.outputs))
    states = max(1, min(len(sample.outputs[0]), MOST_NUMBERS // max(total, 1)))
    lanes = package.lanes if one.batch else 0
    allowed = f"{_FOR_OTHER_MACHINES * sample.allowed:.2g}"
    yield f"static int {name}(void)"
    yield "{"
    for argument, rows in zip(function.inputs, sample.inputs, strict=True):
        yield from _table(f"given_{argument.name}", rows[:states], real)
    for argument, rows in zip(function.outputs, sample.outputs, strict=True):
        yield from _table(f"wanted_{argument.name}", rows[:states], real)
        yield f"  static {real.name} {argument.name}[{max(argument.port.size, 1)}];"
    work = max(one.code.work, one.batch.work if one.batch else 0)
    if work:
        yield f"  static {real.name} work[{work}];"
    yield "  double worst = 0.0;"
    yield "  int failures = 0;"
    yield f"  for (size_t state = 0; state < {states}u; ++state) {{"
    given = [f"given_{a.name}[state]" for a in function.inputs]
    given += [a.name for a in function.outputs] + (["work"] if one.code.work else [])
    call = f"{function.name}({', '.join(given)})"
    yield f"    failures += {call};" if can_refuse(function) else f"    {call};"
    for argument in function.outputs:
        compared = f"{argument.name}, wanted_{argument.name}[state], {argument.port.size}u"
        yield f"    worst = larger(worst, difference({compared}));"
    yield "  }"
    yield f'  failures += told("{function.name}", worst, {allowed});'
    if one.batch:
        yield from _batch_test(one, real, states, lanes + 1, allowed)
    yield "  return failures;"
    yield "}"


def _batch_test(one: Written, real: Real, states: int, rows: int, allowed: str) -> Iterator[str]:
    """One row more than there are lanes, so that the last is computed alone."""
    function = one.exported.function
    yield "  {"
    for argument in (*function.inputs, *function.outputs):
        yield f"    static {real.name} rows_{argument.name}[{max(rows * argument.port.size, 1)}];"
    yield f"    for (size_t row = 0; row < {rows}u; ++row) {{"
    for argument in (one for one in function.inputs if one.port.size):
        size, name = argument.port.size, argument.name
        yield f"      for (size_t k = 0; k < {size}u; ++k) {{"
        yield f"        rows_{name}[row * {size}u + k] = given_{name}[row % {states}u][k];"
        yield "      }"
    yield "    }"
    listed = [f"{rows}u", *(f"rows_{a.name}" for a in (*function.inputs, *function.outputs))]
    listed += ["work"] if one.batch and one.batch.work else []
    call = f"{function.name}{BATCH_ENDING}({', '.join(listed)})"
    yield f"    failures += {call} != {rows}u;" if can_refuse(function) else f"    {call};"
    yield "    worst = 0.0;"
    yield f"    for (size_t row = 0; row < {rows}u; ++row) {{"
    for argument in function.outputs:
        size, name = argument.port.size, argument.name
        compared = f"rows_{name} + row * {size}u, wanted_{name}[row % {states}u], {size}u"
        yield f"      worst = larger(worst, difference({compared}));"
    yield "    }"
    yield f'    failures += told("{function.name}{BATCH_ENDING}", worst, {allowed});'
    yield "  }"


def _table(name: str, rows: Array, real: Real) -> Iterator[str]:
    """A constant array of arrays."""
    yield f"  static const {real.name} {name}[{len(rows)}][{max(rows.shape[1], 1)}] = {{"
    for row in rows.tolist():
        texts = [real.literal(number) for number in row] or ["0"]
        yield "    {"
        for start in range(0, len(texts), 6):
            yield "      " + ", ".join(texts[start : start + 6]) + ","
        yield "    },"
    yield "  };"
