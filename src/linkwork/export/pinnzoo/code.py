"""The C files of PinnZoo's functions: one with its header for each, called as CasADi's are.

    int M_func(const double **arg, double **res, long long int *iw, double *w, int mem)

arg and res hold a pointer for each input and output; one of them may be NULL, for zeros and for an
output that is not needed. iw, w and mem are not used. Beside it, CasADi's functions that return the
numbers and shapes of inputs and outputs, so that `casadi.external` takes the library.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.export.code import prototype
from linkwork.export.function import Argument
from linkwork.export.package import MARK, Written
from linkwork.version import __version__

_INT, _REAL = "long long int", "double"


def name_of(one: Written) -> str:
    """The name of a function in PinnZoo."""
    return one.function.name.removeprefix("lw_")


def source_text(one: Written) -> str:
    """The C file of a function."""
    name, function = name_of(one), one.function
    head = prototype(function, DOUBLE, work=bool(one.code.work))
    return "\n".join(
        [
            f"/* {MARK} {__version__}; {name}.h tells what it computes. */",
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


def header_text(one: Written) -> str:
    """The header of a function."""
    name, function = name_of(one), one.function
    guard = f"LINKWORK_{name.upper()}_H"
    lines = [f"/* {name}: {function.title}; {MARK} {__version__}.", " *"]
    lines += [f" * arg[{k}]  {a.name}: {_described(a)}" for k, a in enumerate(function.inputs)]
    lines += [f" * res[{k}]  {a.name}: {_described(a)}" for k, a in enumerate(function.outputs)]
    n_ops, n_bytes = function.program.n_ops, 8 * one.code.work
    lines += [" *", f" * Operations: {n_ops}. Workspace: {n_bytes} bytes, on the stack."]
    lines += [" * Matrices are column after column. iw, w and mem are not used. */"]
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
    return argument.text or " x ".join(map(str, argument.port.shape))


def _declarations(name: str) -> list[str]:
    """Those of CasADi's interface for a function of this name."""
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


def _entry(one: Written) -> Iterator[str]:
    """The function of PinnZoo's name, which calls the one that computes."""
    name, function = name_of(one), one.function
    inputs = [f"arg[{k}] ? arg[{k}] : zeros" for k in range(len(function.inputs))]
    several = len(function.outputs) > 1
    work = ["work"] if one.code.work else []
    if several:  # one of the results may not be wanted, but is computed with the other
        listed = ", ".join(f"const {_REAL} *in_{k}" for k in range(len(inputs)))
        yield f"static LW_NOINLINE void {name}_one_result({listed}, {_REAL} **res)"
        yield "{"
        for k, output in enumerate(function.outputs):
            yield f"  {_REAL} out_{k}[{output.port.size}];"
        yield from _workspace(one)
        given = [f"in_{k}" for k in range(len(inputs))]
        given += [f"res[{k}] ? res[{k}] : out_{k}" for k in range(len(function.outputs))]
        yield f"  {function.name}({', '.join([*given, *work])});"
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


def _workspace(one: Written) -> Iterator[str]:
    if one.code.work:
        yield f"  {_REAL} work[{one.code.work}];"


def _casadi_functions(one: Written) -> Iterator[str]:
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


def _choice(texts: list[str]) -> list[str]:
    """Statements that return one of some texts, or NULL."""
    cases = [f"if (i == {k}) return {text};" for k, text in enumerate(texts)]
    return [*cases, "return NULL;"]


def _shapes(arguments: tuple[Argument, ...]) -> list[str]:
    """Statements that return the shape of an argument as CasADi writes it: rows, columns, dense."""
    listed: list[str] = []
    for k, argument in enumerate(arguments):
        columns, rows = (1, *argument.port.shape)[-2:]  # a matrix is column after column
        listed.append(f"static const {_INT} shape_{k}[3] = {{{rows}, {columns}, 1}};")
    return [*listed, *_choice([f"shape_{k}" for k in range(len(arguments))])]
