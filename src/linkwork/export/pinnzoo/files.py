"""The files of an export for PinnZoo: functions, wrappers, names of coordinates, build files.

models/NAME/NAME.urdf
models/NAME/README.md
models/NAME/generated_code/M_func.c, M_func.h, ..., vector_orders.c
src/wrapper.c, wrapper.h
CMakeLists.txt                      build/libNAME.so of every model in the folder

Each function has a source and a header, with the interface of CasADi:

    int M_func(const double **arg, double **res, long long int *iw, double *w, int mem)

arg and res have a pointer for each input and output; a NULL input means zeros, a NULL output is not
computed. iw, w and mem are not used. The files also define the functions of CasADi that return the
number and the shapes of inputs and outputs, so that `casadi.external` can load the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.rounding import rounding_support
from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.export.check import Report
from linkwork.export.code import (
    CMAKE_HEAD,
    Argument,
    Function,
    comment_text,
    guarded,
    prototype,
)
from linkwork.export.package import MARK, GeneratedFunction
from linkwork.export.pinnzoo.state_space import (
    StateSpace,
    config_names,
    input_names,
    velocity_names,
)
from linkwork.io.urdf.writer import dump_urdf
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
            rounding_support(DOUBLE, one.code.operations),
            f"static {head};",
            "",
            one.code.text,
            *_entry(one),
            *(_defined(declared, body) for declared, body in _casadi_functions(one).items()),
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
    macros: list[str] = []
    for macro, kind in (("casadi_real", _REAL), ("casadi_int", _INT)):
        macros += [f"#ifndef {macro}", f"#define {macro} {kind}", "#endif"]
    declared = [f"{one};" for one in (_declaration(name), *_casadi_functions(one))]
    for size, count in _sizes(function).items():
        declared.append(f"#define {name}_SZ_{size.upper()} {count}")
    return "\n".join([*lines, *guarded(guard, [*declared, ""], macros)])


def _sizes(function: Function) -> dict[str, int]:
    """Return the lengths of the arrays that CasADi passes to a function, by name."""
    return {"arg": len(function.inputs), "res": len(function.outputs), "iw": 0, "w": 0}


def _described(argument: Argument) -> str:
    return argument.description or " x ".join(map(str, argument.port.shape))


def _declaration(name: str) -> str:
    return f"int {name}(const {_REAL} **arg, {_REAL} **res, {_INT} *iw, {_REAL} *w, int mem)"


def _entry(one: GeneratedFunction) -> Iterator[str]:
    """Yield the function with PinnZoo's name, which calls the one that computes."""
    name, function = name_of(one), one.function
    inputs = [f"arg[{k}] ? arg[{k}] : zeros" for k in range(len(function.inputs))]
    outputs = [f"res[{k}]" for k in range(len(function.outputs))]
    several = len(outputs) > 1
    work = ["work"] if one.code.work else []
    memory = [f"{_REAL} work[{one.code.work}];"] if work else []
    if several:  # a result may not be needed, but both are computed together
        listed = ", ".join(f"const {_REAL} *in_{k}" for k in range(len(inputs)))
        sizes = [output.port.size for output in function.outputs]
        arguments = [f"in_{k}" for k in range(len(inputs))]
        arguments += [f"{result} ? {result} : out_{k}" for k, result in enumerate(outputs)]
        call = f"{function.name}({', '.join([*arguments, *work])});"
        unused = [f"{_REAL} out_{k}[{size}];" for k, size in enumerate(sizes)]
        head = f"static LW_NOINLINE void {name}_one_result({listed}, {_REAL} **res)"
        yield _defined(head, [*unused, *memory, call])
    largest = max(argument.port.size for argument in function.inputs)
    lines = [f"static const {_REAL} zeros[{largest}] = {{0.0}};", *memory]
    lines += ["(void)iw;", "(void)w;", "(void)mem;"]
    missing = [f"!{result}" for result in outputs]
    lines += [f"if ({' && '.join(missing)}) {{", "  return 0;", "}"]
    if several:
        call = f"  {name}_one_result({', '.join(inputs)}, res);"
        lines += [f"if ({' || '.join(missing)}) {{", call, "  return 0;", "}"]
    call = f"{function.name}({', '.join([*inputs, *outputs, *work])});"
    yield _defined(_declaration(name), [*lines, call, "return 0;"])


def _defined(declared: str, body: list[str]) -> str:
    return "\n".join([declared, "{", *(f"  {line}" for line in body), "}", ""])


def _casadi_functions(one: GeneratedFunction) -> dict[str, list[str]]:
    """Return CasADi's further functions for a function: declarations, and their statements."""
    name, function = name_of(one), one.function
    counts = _sizes(function).items()
    sizes = [*(f"if (sz_{one}) *sz_{one} = {count};" for one, count in counts), "return 0;"]
    inputs = [f'"{argument.name.removesuffix("_in")}"' for argument in function.inputs]
    outputs = [f'"{argument.name.removesuffix("_out")}"' for argument in function.outputs]
    pointers = f"{_INT} *sz_arg, {_INT} *sz_res, {_INT} *sz_iw, {_INT} *sz_w"
    return {
        f"int {name}_alloc_mem(void)": ["return 0;"],
        f"int {name}_init_mem(int mem)": ["(void)mem;", "return 0;"],
        f"void {name}_free_mem(int mem)": ["(void)mem;"],
        f"int {name}_checkout(void)": ["return 0;"],
        f"void {name}_release(int mem)": ["(void)mem;"],
        f"void {name}_incref(void)": [],
        f"void {name}_decref(void)": [],
        f"{_INT} {name}_n_in(void)": [f"return {len(function.inputs)};"],
        f"{_INT} {name}_n_out(void)": [f"return {len(function.outputs)};"],
        f"{_REAL} {name}_default_in({_INT} i)": ["(void)i;", "return 0.0;"],
        f"const char *{name}_name_in({_INT} i)": _choice(inputs),
        f"const char *{name}_name_out({_INT} i)": _choice(outputs),
        f"const {_INT} *{name}_sparsity_in({_INT} i)": _shapes(function.inputs),
        f"const {_INT} *{name}_sparsity_out({_INT} i)": _shapes(function.outputs),
        f"int {name}_work({pointers})": sizes,
        f"int {name}_work_bytes({pointers})": sizes,
    }


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


FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    # by name: a title, and the names of the outputs in C
    "M_func": ("mass matrix", ("M_out",)),
    "C_func": ("bias forces: Coriolis, centrifugal and gravity forces", ("C_out",)),
    "forward_dynamics": ("v_dot = M^-1 (tau - C)", ("v_dot_out",)),
    "forward_dynamics_deriv": (
        "derivatives of v_dot with respect to x and tau",
        ("dv_dot_dx_out", "dv_dot_dtau_out"),
    ),
    "dynamics": ("[v; v_dot]", ("x_dot_out",)),
    "dynamics_deriv": (
        "derivatives of [v; v_dot] with respect to x and tau",
        ("dx_dot_dx_out", "dx_dot_dtau_out"),
    ),
    "inverse_dynamics": ("tau = M v_dot + C", ("tau_out",)),
    "inverse_dynamics_deriv": (
        "derivatives of tau with respect to x and v_dot",
        ("dtau_dx_out", "dtau_dv_dot_out"),
    ),
    "velocity_kinematics": ("E with q_dot = E v", ("E_out",)),
    "velocity_kinematics_T": ("E_T with v = E_T q_dot", ("E_T_out",)),
    "velocity_kinematics_jvp_deriv": ("derivative of E v with respect to x", ("J_out",)),
    "velocity_kinematics_T_jvp_deriv": ("derivative of E_T q with respect to x", ("J_out",)),
    "kinematics": ("positions of the bodies, and orientations", ("locs_out",)),
    "kinematics_jacobian": ("their derivatives with respect to x", ("J_out",)),
    "kinematics_velocity": ("their time derivatives", ("locs_dot_out",)),
    "kinematics_velocity_jacobian": ("derivatives of these with respect to x", ("J_out",)),
    "kinematics_force_jacobian": ("derivative of E^T J_q^T f with respect to x", ("J_out",)),
}

_KINEMATICS = tuple(name for name in FUNCTIONS if name.startswith("kinematics"))


@dataclass(frozen=True, slots=True)
class PinnZooPackage:
    """Everything that the files are generated from."""

    space: StateSpace
    name: str  # of the model, its folder and its library
    functions: tuple[GeneratedFunction, ...]
    actuated: tuple[str, ...]  # names of the actuated velocities

    @property
    def folder(self) -> str:
        """Folder of the C files."""
        return f"models/{self.name}/generated_code"

    @property
    def sources(self) -> dict[str, str]:
        """The C files with the functions: contents by name."""
        return {f"{self.folder}/{name_of(one)}.c": source_text(one) for one in self.functions}

    @property
    def files(self) -> dict[str, str]:
        """All files except the README: contents by name."""
        headers = {f"{self.folder}/{name_of(one)}.h": header_text(one) for one in self.functions}
        return {
            f"models/{self.name}/{self.name}.urdf": _urdf(self),
            **self.sources,
            **headers,
            f"{self.folder}/vector_orders.c": _vector_orders(self),
            "src/wrapper.c": _wrapper(),
            "src/wrapper.h": _wrapper_header(),
            "CMakeLists.txt": _CMAKE,
        }


def readme_text(package: PinnZooPackage, report: Report) -> str:
    """Return the README of a model, with the results of the check."""
    space = package.space
    kd = space.kd
    gravity = ", ".join(f"{component:g}" for component in kd.gravity)
    bodies = ", ".join(f"`{comment_text(body)}`" for body in space.bodies) or "none"
    return f"""\
# {package.name}

C99 functions of the robot `{comment_text(kd.model.name)}` with PinnZoo's signatures,
{MARK} {__version__}. They allocate nothing, have no state between calls, and need only libm.

    cmake -B build && cmake --build build       # build/lib{package.name}.so

`src/wrapper.h` declares functions of plain arrays, such as `M_func_wrapper(x, M)`. The functions in
`generated_code` have CasADi's calling convention, and `casadi.external` loads the library.

| | |
|---|---|
| state | x = [q; v], {space.nq} + {space.nv} coordinates; see `generated_code/vector_orders.c` |
| base | `{comment_text(kd.base)}`, {"moves freely" if kd.floating else "fixed to the world"} |
| quaternion | w x y z, not normalized: its norm must be 1 |
| velocity | of the base: linear, then angular, in the axes of the base |
| gravity | ({gravity}) m/s^2 in the world |
| kinematics | of {bodies}; orientation: {space.orientation} |
| matrices | column-major |
| memory | the workspace of a function is on its stack, as there is no parameter for it |

## Validation

{report.markdown()}
"""


def _urdf(package: PinnZooPackage) -> str:
    kd = package.space.kd
    model = kd.model if kd.base == kd.model.default_base else kd.model.rerooted(kd.base)
    first, remaining = dump_urdf(model).split("\n", 1)
    document = f"{first}\n<!-- {MARK} {__version__} -->\n{remaining}"
    return document.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _vector_orders(package: PinnZooPackage) -> str:
    kd = package.space.kd
    orders = {
        "config_order": config_names(kd),
        "vel_order": velocity_names(kd),
        "torque_order": package.actuated,
        "kinematics_bodies": package.space.bodies,
    }
    lines = [
        f"/* {MARK} {__version__}: names of the elements of vectors; each list ends in NULL. */"
    ]
    lines += ["#include <stddef.h>", ""]
    lines += [f"const char **get_{name}(void);" for name in orders]
    lines += ["const char *get_urdf_path(void);", ""]
    for name, labels in orders.items():
        lines += [f"static const char *const {name}[] = {{"]
        lines += [*(f"  {_c_string(label)}," for label in labels), "  NULL", "};", ""]
        body = [f"return (const char **){name};"]
        lines.append(_defined(f"const char **get_{name}(void)", body))
    path = _c_string(f"{package.name}/{package.name}.urdf")
    return "\n".join([*lines, _defined("const char *get_urdf_path(void)", [f"return {path};"])])


def _c_string(text: str) -> str:
    """Return a C string literal; characters with a special meaning are written as octal bytes."""
    plain = (
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:;+-=@^()[]/<>!#$&*~|"
    )
    parts = (
        chr(byte) if chr(byte) in plain else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogatepass")
    )
    return f'"{"".join(parts)}"'


def _signature(name: str) -> str:
    """Return the declaration of a wrapper."""
    arrays = [*(f"{one}_in" for one in input_names(name)), *FUNCTIONS[name][1]]
    return f"void {name}_wrapper({', '.join(f'double *{one}' for one in arrays)})"


def _wrapper() -> str:
    lines = [f"/* {MARK} {__version__}: functions of plain arrays. */", '#include "wrapper.h"', ""]
    for name in FUNCTIONS:
        if name == _KINEMATICS[0]:
            lines.append("#ifndef PINNZOO_WITHOUT_KINEMATICS")
        lines.append(f'#include "{name}.h"')
    lines += ["#endif", ""]
    for name, (_, outputs) in FUNCTIONS.items():
        if name == _KINEMATICS[0]:
            lines += ["#ifndef PINNZOO_WITHOUT_KINEMATICS"]
        inputs = [f"{one}_in" for one in input_names(name)]
        body = [f"const double *arg[{len(inputs)}];", f"double *res[{len(outputs)}];"]
        body += [f"arg[{k}] = {one};" for k, one in enumerate(inputs)]
        body += [f"res[{k}] = {one};" for k, one in enumerate(outputs)]
        lines.append(_defined(_signature(name), [*body, f"(void){name}(arg, res, 0, 0, 0);"]))
    return "\n".join([*lines, "#endif", ""])


def _wrapper_header() -> str:
    lines = [f"/* {MARK} {__version__}: functions of plain arrays, with column-major matrices. */"]
    declared: list[str] = []
    for name, (title, _) in FUNCTIONS.items():
        declared += [f"/* {title} */", f"{_signature(name)};"]
    declared += ["", "/* names of the elements of vectors; each list ends in NULL */"]
    for name in ("config_order", "vel_order", "torque_order", "kinematics_bodies"):
        declared.append(f"const char **get_{name}(void);")
    declared += ["const char *get_urdf_path(void);", ""]
    return "\n".join([*lines, *guarded("PINNZOO_WRAPPER_H", declared)])


_CMAKE = f"""\
# {MARK} {__version__}: a library for each folder in models
{CMAKE_HEAD.format(project="models")}
file(GLOB FOLDERS ${{CMAKE_CURRENT_SOURCE_DIR}}/models/*/generated_code)
foreach(FOLDER ${{FOLDERS}})
  get_filename_component(PARENT ${{FOLDER}} DIRECTORY)
  get_filename_component(MODEL ${{PARENT}} NAME)
  file(GLOB SOURCES ${{FOLDER}}/*.c)
  add_library(${{MODEL}} SHARED src/wrapper.c ${{SOURCES}})
  target_include_directories(${{MODEL}} PRIVATE ${{FOLDER}})
  if(NOT EXISTS ${{FOLDER}}/kinematics.c)
    target_compile_definitions(${{MODEL}} PRIVATE PINNZOO_WITHOUT_KINEMATICS)
  endif()
  if(NOT MSVC)
    target_link_libraries(${{MODEL}} PRIVATE m)
  endif()
endforeach()
"""
