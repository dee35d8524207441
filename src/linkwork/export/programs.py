"""The C programs of an export: selftest.c and the example main.c.

The self-test compares each function with recorded results on the machine where the code is to run.
The example is a control loop that calls the functions at each tick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.symbolic.arrays import Array
from linkwork.export.code import BATCH_ENDING, Argument, Function, checks_norms
from linkwork.export.package import MARK, GeneratedFunction, Package
from linkwork.export.samples import SMALL, Sample
from linkwork.version import __version__

MOST_ELEMENTS = 6000  # recorded for a function, inputs and outputs together; at least one state
_FOR_OTHER_MACHINES = 4.0  # times the difference allowed here, as another libm rounds differently
_TICK = 1e-3  # [s]

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
    lanes = package.lanes if one.batch else 0
    allowed = f"{_FOR_OTHER_MACHINES * sample.allowed:.2g}"
    yield f"static int {name}(void)"
    yield "{"
    for argument, rows in zip(function.inputs, sample.inputs, strict=True):
        yield from _table(f"input_{argument.name}", rows[:states], real)
    for argument, rows in zip(function.outputs, sample.outputs, strict=True):
        yield from _table(f"expected_{argument.name}", rows[:states], real)
        yield f"  static {real.name} {argument.name}[{max(argument.port.size, 1)}];"
    work = max(one.code.work, one.batch.work if one.batch else 0)
    if work:
        yield f"  static {real.name} work[{work}];"
    yield "  double worst = 0.0;"
    yield "  int failures = 0;"
    yield f"  for (size_t state = 0; state < {states}u; ++state) {{"
    arguments = [f"input_{a.name}[state]" for a in function.inputs]
    arguments += [a.name for a in function.outputs] + (["work"] if one.code.work else [])
    call = f"{function.name}({', '.join(arguments)})"
    yield f"    failures += {call};" if checks_norms(function) else f"    {call};"
    yield f"    const double least = {_least(function, 'state')};"
    for argument in function.outputs:
        compared = f"{argument.name}, expected_{argument.name}[state], {argument.port.size}u"
        yield f"    worst = larger(worst, difference({compared}, least));"
    yield "  }"
    yield f'  failures += report("{function.name}", worst, {allowed});'
    if one.batch:
        yield from _batch_test(one, real, states, lanes + 1, allowed)
    yield "  return failures;"
    yield "}"


def _batch_test(
    one: GeneratedFunction, real: Real, states: int, rows: int, allowed: str
) -> Iterator[str]:
    """Compute one row more than there are lanes, so that the last is computed alone."""
    function = one.function
    yield "  {"
    for argument in (*function.inputs, *function.outputs):
        yield f"    static {real.name} rows_{argument.name}[{max(rows * argument.port.size, 1)}];"
    yield f"    for (size_t row = 0; row < {rows}u; ++row) {{"
    for argument in (one for one in function.inputs if one.port.size):
        size, name = argument.port.size, argument.name
        yield f"      for (size_t k = 0; k < {size}u; ++k) {{"
        yield f"        rows_{name}[row * {size}u + k] = input_{name}[row % {states}u][k];"
        yield "      }"
    yield "    }"
    arguments = [f"{rows}u", *(f"rows_{a.name}" for a in (*function.inputs, *function.outputs))]
    arguments += ["work"] if one.batch and one.batch.work else []
    call = f"{function.name}{BATCH_ENDING}({', '.join(arguments)})"
    yield f"    failures += {call} != {rows}u;" if checks_norms(function) else f"    {call};"
    yield "    worst = 0.0;"
    yield f"    for (size_t row = 0; row < {rows}u; ++row) {{"
    yield f"      const double least = {_least(function, f'row % {states}u')};"
    for argument in function.outputs:
        size, name = argument.port.size, argument.name
        compared = f"rows_{name} + row * {size}u, expected_{name}[row % {states}u], {size}u"
        yield f"      worst = larger(worst, difference({compared}, least));"
    yield "    }"
    yield f'    failures += report("{function.name}{BATCH_ENDING}", worst, {allowed});'
    yield "  }"


def _least(function: Function, state: str) -> str:
    """The size with which small outputs are compared, as an expression in C."""
    size = "0.0"
    for argument in function.outputs if len(function.outputs) > 1 else ():
        size = f"larger({size}, largest(expected_{argument.name}[{state}], {argument.port.size}u))"
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


def example_text(package: Package) -> str:
    """Return the contents of main.c, which calls every function once per tick."""
    return "\n".join(_example(package)) + "\n"


def _example(package: Package) -> Iterator[str]:
    t = package.real.name
    yield f"/* An example; {MARK} {__version__}."
    yield " *"
    yield " * The skeleton of a control loop: measure, compute, act."
    yield " */"
    yield from (f'#include "{package.prefix}.h"', "", "#include <math.h>", "#include <stdio.h>", "")
    yield "#define TICKS 100"
    yield ""
    yield "int main(void)"
    yield "{"
    inputs: dict[tuple[str, int], Argument] = {}
    for one in package.functions:
        inputs |= {(a.name, a.port.size): a for a in one.function.inputs}
    for (name, size), argument in inputs.items():
        yield from _array(package, _variable(name, size), _start(package, argument))
    for index, one in enumerate(package.functions):
        for argument in one.function.outputs:
            size = max(argument.port.size, 1)
            yield f"  static {t} {_result(index, argument)}[{size}];"
    if package.longest_work:
        yield f"  static {t} work[{package.prefix.upper()}_WORK];"
    yield "  int tick;"
    yield ""
    yield "  for (tick = 0; tick < TICKS; ++tick) {"
    yield "    /* measure: q, nu and so on would be filled here */"
    for index, one in enumerate(package.functions):
        function = one.function
        arguments = [_variable(a.name, a.port.size) for a in function.inputs]
        results = [_result(index, a) for a in function.outputs]
        yield from _call(one, arguments, results)
    yield "    /* act: the results would be used here */"
    yield "  }"
    yield ""
    for index, one in enumerate(package.functions):
        for argument in one.function.outputs:
            name, size = _result(index, argument), str(argument.port.size)
            label = f"{one.function.name} {argument.name}: norm %.6g"
            yield from _print_norm(name, size, label)
    yield "  return 0;"
    yield "}"


def _call(one: GeneratedFunction, arguments: list[str], results: list[str]) -> Iterator[str]:
    function = one.function
    all_arguments = ", ".join([*arguments, *results, *(["work"] if one.code.work else [])])
    if not checks_norms(function):
        yield f"    {function.name}({all_arguments});"
        return
    yield f"    if ({function.name}({all_arguments}) != 0) {{"
    yield '      fputs("the norm of a quaternion is not 1\\n", stderr);'
    yield "      return 1;"
    yield "    }"


def _print_norm(name: str, size: str, label: str) -> Iterator[str]:
    yield "  {"
    yield "    double squares = 0.0;"
    yield f"    for (int k = 0; k < {size}; ++k) {{"
    yield f"      squares += (double){name}[k] * (double){name}[k];"
    yield "    }"
    yield f'    printf("{label}\\n", sqrt(squares));'
    yield "  }"


def _array(package: Package, name: str, values: list[float]) -> Iterator[str]:
    literals = [package.real.literal(value) for value in values] or [package.real.literal(0.0)]
    yield f"  static {package.real.name} {name}[{len(literals)}] = {{"
    for start in range(0, len(literals), 8):
        yield "    " + ", ".join(literals[start : start + 8]) + ","
    yield "  };"


def _start(package: Package, argument: Argument) -> list[float]:
    """Return initial values: the neutral configuration, one millisecond, or constants."""
    name, size = argument.port.name, argument.port.size
    if name in ("q", "q_start", "q_end") and size == package.kd.nq:
        return package.kd.neutral().tolist()
    if name == "dt":
        return [_TICK]
    if name == "gravity":
        return list(package.kd.gravity)
    if name == "parameters" and size == package.kd.parameters.size:
        return package.kd.parameter_values().tolist()
    return np.full(size, 0.1).tolist()


def _variable(name: str, size: int) -> str:
    """Name the variable of an input; inputs of the same name may have different sizes."""
    return f"{name}_{size}"


def _result(index: int, argument: Argument) -> str:
    return f"result{index}_{argument.name}"
