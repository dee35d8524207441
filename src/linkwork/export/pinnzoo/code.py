"""The C files of PinnZoo's functions: a source and a header for each, with CasADi's interface.

    int M_func(const double **arg, double **res, long long int *iw, double *w, int mem)

arg and res have a pointer for each input and output; a NULL input means zeros, a NULL output is not
computed. iw, w and mem are not used. The files also define CasADi's functions that return the
number and the shapes of inputs and outputs, so that `casadi.external` can load the library.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.export.code import Argument, prototype
from linkwork.export.package import MARK, GeneratedFunction
from linkwork.version import __version__

_INT, _REAL = "long long int", "double"


def name_of(one: GeneratedFunction) -> str:
    """Return the name of a function in PinnZoo."""
    return one.function.name.removeprefix("lw_")


def source_text(one: GeneratedFunction) -> str:
    """Return the C file of a function."""
    name, function = name_of(one), one.function
    head = prototype(function, DOUBLE, work=bool(one.code.work))
    return "\n".join(
        [
            f"/* {MARK} {__version__}; see {name}.h for what it computes. */",
            f'#include "{name}.h"',
            "",
            "#include <math.h>",
            "#include <stddef.h>",
            "",
            MACROS,
            f"static {head};",
            "",
            one.code.text,
            *_entry(one),
            "",
            *_casadi_functions(one),
            "",
        ]
    )


def header_text(one: GeneratedFunction) -> str:
    """Return the header of a function."""
    name, function = name_of(one), one.function
    guard = f"LINKWORK_{name.upper()}_H"
    lines = [f"/* {name}: {function.title}; {MARK} {__version__}.", " *"]
    lines += [f" * arg[{k}]  {a.name}: {_described(a)}" for k, a in enumerate(function.inputs)]
    lines += [f" * res[{k}]  {a.name}: {_described(a)}" for k, a in enumerate(function.outputs)]
    n_ops, n_bytes = function.program.n_ops, 8 * one.code.work
    lines += [" *", f" * Operations: {n_ops}. Workspace: {n_bytes} bytes, on the stack."]
    lines += [" * Matrices are column-major. iw, w and mem are not used. */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", ""]
    for macro, kind in (("casadi_real", _REAL), ("casadi_int", _INT)):
        lines += [f"#ifndef {macro}", f"#define {macro} {kind}", "#endif"]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [f"{declared};" for declared in _declarations(name)]
    lines += [
        f"#define {name}_SZ_ARG {len(function.inputs)}",
        f"#define {name}_SZ_RES {len(function.outputs)}",
        f"#define {name}_SZ_IW 0",
        f"#define {name}_SZ_W 0",
        "",
        *("#ifdef __cplusplus", "}", "#endif", "", "#endif", ""),
    ]
    return "\n".join(lines)


def _described(argument: Argument) -> str:
    return argument.description or " x ".join(map(str, argument.port.shape))


def _declarations(name: str) -> list[str]:
    """Return the declarations of CasADi's interface for a function."""
    sizes = f"{_INT} *sz_arg, {_INT} *sz_res, {_INT} *sz_iw, {_INT} *sz_w"
    return [
        f"int {name}(const {_REAL} **arg, {_REAL} **res, {_INT} *iw, {_REAL} *w, int mem)",
        f"int {name}_alloc_mem(void)",
        f"int {name}_init_mem(int mem)",
        f"void {name}_free_mem(int mem)",
        f"int {name}_checkout(void)",
        f"void {name}_release(int mem)",
        f"void {name}_incref(void)",
        f"void {name}_decref(void)",
        f"{_INT} {name}_n_in(void)",
        f"{_INT} {name}_n_out(void)",
        f"{_REAL} {name}_default_in({_INT} i)",
        f"const char *{name}_name_in({_INT} i)",
        f"const char *{name}_name_out({_INT} i)",
        f"const {_INT} *{name}_sparsity_in({_INT} i)",
        f"const {_INT} *{name}_sparsity_out({_INT} i)",
        f"int {name}_work({sizes})",
        f"int {name}_work_bytes({sizes})",
    ]


def _entry(one: GeneratedFunction) -> Iterator[str]:
    """Yield the function with PinnZoo's name, which calls the one that computes."""
    name, function = name_of(one), one.function
    inputs = [f"arg[{k}] ? arg[{k}] : zeros" for k in range(len(function.inputs))]
    several = len(function.outputs) > 1
    work = ["work"] if one.code.work else []
    if several:  # a result may not be needed, but both are computed together
        listed = ", ".join(f"const {_REAL} *in_{k}" for k in range(len(inputs)))
        yield f"static LW_NOINLINE void {name}_one_result({listed}, {_REAL} **res)"
        yield "{"
        for k, output in enumerate(function.outputs):
            yield f"  {_REAL} out_{k}[{output.port.size}];"
        yield from _workspace(one)
        arguments = [f"in_{k}" for k in range(len(inputs))]
        arguments += [f"res[{k}] ? res[{k}] : out_{k}" for k in range(len(function.outputs))]
        yield f"  {function.name}({', '.join([*arguments, *work])});"
        yield "}"
        yield ""
    yield _declarations(name)[0]
    yield "{"
    largest = max(argument.port.size for argument in function.inputs)
    yield f"  static const {_REAL} zeros[{largest}] = {{0.0}};"
    yield from _workspace(one)
    yield "  (void)iw;"
    yield "  (void)w;"
    yield "  (void)mem;"
    missing = [f"!res[{k}]" for k in range(len(function.outputs))]
    yield f"  if ({' && '.join(missing)}) {{"
    yield "    return 0;"
    yield "  }"
    if several:
        yield f"  if ({' || '.join(missing)}) {{"
        yield f"    {name}_one_result({', '.join(inputs)}, res);"
        yield "    return 0;"
        yield "  }"
    outputs = [f"res[{k}]" for k in range(len(function.outputs))]
    yield f"  {function.name}({', '.join([*inputs, *outputs, *work])});"
    yield "  return 0;"
    yield "}"


def _workspace(one: GeneratedFunction) -> Iterator[str]:
    if one.code.work:
        yield f"  {_REAL} work[{one.code.work}];"


def _casadi_functions(one: GeneratedFunction) -> Iterator[str]:
    name, function = name_of(one), one.function
    counts = f"*sz_arg = {len(function.inputs)}", f"*sz_res = {len(function.outputs)}"
    sizes = [f"if (sz_{c.split()[0][4:]}) {c};" for c in counts]
    sizes += ["if (sz_iw) *sz_iw = 0;", "if (sz_w) *sz_w = 0;", "return 0;"]
    inputs = [f'"{argument.name.removesuffix("_in")}"' for argument in function.inputs]
    outputs = [f'"{argument.name.removesuffix("_out")}"' for argument in function.outputs]
    bodies = {
        "_alloc_mem": ["return 0;"],
        "_init_mem": ["(void)mem;", "return 0;"],
        "_free_mem": ["(void)mem;"],
        "_checkout": ["return 0;"],
        "_release": ["(void)mem;"],
        "_incref": [],
        "_decref": [],
        "_n_in": [f"return {len(function.inputs)};"],
        "_n_out": [f"return {len(function.outputs)};"],
        "_default_in": ["(void)i;", "return 0.0;"],
        "_name_in": _choice(inputs),
        "_name_out": _choice(outputs),
        "_sparsity_in": _shapes(function.inputs),
        "_sparsity_out": _shapes(function.outputs),
        "_work": sizes,
        "_work_bytes": sizes,
    }
    for declared, body in zip(_declarations(name)[1:], bodies.values(), strict=True):
        yield declared
        yield "{"
        yield from (f"  {line}" for line in body)
        yield "}"
        yield ""


def _choice(expressions: list[str]) -> list[str]:
    """Return statements that return the i-th expression, or NULL."""
    cases = [f"if (i == {k}) return {value};" for k, value in enumerate(expressions)]
    return [*cases, "return NULL;"]


def _shapes(arguments: tuple[Argument, ...]) -> list[str]:
    """Return statements that return the shape of an argument for CasADi: rows, columns, dense."""
    listed: list[str] = []
    for k, argument in enumerate(arguments):
        columns, rows = (1, *argument.port.shape)[-2:]  # a matrix is column-major
        listed.append(f"static const {_INT} shape_{k}[3] = {{{rows}, {columns}, 1}};")
    return [*listed, *_choice([f"shape_{k}" for k in range(len(arguments))])]
