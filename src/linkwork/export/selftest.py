"""The self-test of an export: selftest.c compares each function with recorded results.

It runs on the machine where the code is to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.symbolic.arrays import Array
from linkwork.export.code import Function, checks_norms
from linkwork.export.package import MARK, GeneratedFunction, Package
from linkwork.export.samples import SMALL, Sample
from linkwork.version import __version__

MOST_ELEMENTS = 6000  # recorded for a function, inputs and outputs together; at least one state
_FOR_OTHER_MACHINES = 4.0  # times the difference allowed here, as another libm rounds differently

_SELFTEST_HELPERS = """\
/* The larger of two numbers; NaN if one of them is. */
static double larger(double a, double b)
{{
  return b <= a || a != a ? a : b;
}}

static double largest(const {t} *values, size_t count)
{{
  double size = 0.0;
  for (size_t k = 0; k < count; ++k) {{
    size = larger(size, fabs((double)values[k]));
  }}
  return size;
}}

/* The largest difference, relative to the largest expected element, or to `least` if larger. */
static double difference(const {t} *result, const {t} *expected, size_t count, double least)
{{
  const double size = larger(least, largest(expected, count));
  double worst = 0.0;
  for (size_t k = 0; k < count; ++k) {{
    worst = larger(worst, fabs((double)result[k] - (double)expected[k]));
  }}
  return size > 0.0 ? worst / size : worst;
}}

/* Print a line; return whether the test failed. NaN is a failure. */
static int report(const char *name, double worst, double allowed)
{{
  const int failed = !(worst <= allowed);
  printf("%-7s %-52s %.1e, allowed %.1e\\n", failed ? "FAILED" : "passed", name, worst, allowed);
  return failed;
}}
"""


def selftest_text(package: Package, samples: Sequence[Sample]) -> str:
    """Return the contents of selftest.c."""
    lines = [
        f"/* Compares each function with recorded results; {MARK} {__version__}. */",
        f'#include "{package.prefix}.h"',
        "",
        "#include <math.h>",
        "#include <stddef.h>",
        "#include <stdio.h>",
        "",
        _SELFTEST_HELPERS.format(t=package.real.name),
    ]
    calls: list[str] = []
    for index, (one, sample) in enumerate(zip(package.functions, samples, strict=True)):
        lines += [*_test(package, one, sample, f"test_{index}"), ""]
        calls.append(f"test_{index}()")
    lines += ["int main(void)", "{", "  int failures = 0;"]
    lines += [f"  failures += {call};" for call in calls]
    lines += ['  printf("%d failures\\n", failures);', "  return failures != 0;", "}"]
    return "\n".join(lines) + "\n"


def _test(package: Package, one: GeneratedFunction, sample: Sample, name: str) -> Iterator[str]:
    function, real = one.function, package.real
    total = sum(a.port.size for a in (*function.inputs, *function.outputs))
    states = max(1, min(len(sample.outputs[0]), MOST_ELEMENTS // max(total, 1)))
    allowed = f"{_FOR_OTHER_MACHINES * sample.allowed:.2g}"
    yield f"static int {name}(void)"
    yield "{"
    for argument, rows in zip(function.inputs, sample.inputs, strict=True):
        yield from _table(f"input_{argument.name}", rows[:states], real)
    for argument, rows in zip(function.outputs, sample.outputs, strict=True):
        yield from _table(f"expected_{argument.name}", rows[:states], real)
        yield f"  static {real.name} {argument.name}[{max(argument.port.size, 1)}];"
    if one.code.work:
        yield f"  static {real.name} work[{one.code.work}];"
    yield "  double worst = 0.0;"
    yield "  int failures = 0;"
    yield f"  for (size_t state = 0; state < {states}u; ++state) {{"
    arguments = [f"input_{a.name}[state]" for a in function.inputs]
    arguments += [a.name for a in function.outputs] + (["work"] if one.code.work else [])
    call = f"{function.name}({', '.join(arguments)})"
    yield f"    failures += {call};" if checks_norms(function) else f"    {call};"
    yield f"    const double least = {_least(function)};"
    for argument in function.outputs:
        compared = f"{argument.name}, expected_{argument.name}[state], {argument.port.size}u"
        yield f"    worst = larger(worst, difference({compared}, least));"
    yield "  }"
    yield f'  failures += report("{function.name}", worst, {allowed});'
    yield "  return failures;"
    yield "}"


def _least(function: Function) -> str:
    """Return the size with which small outputs are compared, as an expression in C."""
    size = "0.0"
    for argument in function.outputs if len(function.outputs) > 1 else ():
        size = f"larger({size}, largest(expected_{argument.name}[state], {argument.port.size}u))"
    return f"{SMALL} * {size}" if size != "0.0" else size


def _table(name: str, rows: Array, real: Real) -> Iterator[str]:
    """Yield a constant array of arrays."""
    yield f"  static const {real.name} {name}[{len(rows)}][{max(rows.shape[1], 1)}] = {{"
    for row in rows.tolist():
        literals = [real.literal(value) for value in row] or ["0"]
        yield "    {"
        for start in range(0, len(literals), 6):
            yield "      " + ", ".join(literals[start : start + 6]) + ","
        yield "    },"
    yield "  };"
