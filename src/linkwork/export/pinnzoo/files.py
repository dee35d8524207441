"""The files of an export for PinnZoo: folders, wrappers, names of coordinates, build files.

models/NAME/NAME.urdf
models/NAME/README.md
models/NAME/generated_code/M_func.c, M_func.h, ..., vector_orders.c
src/wrapper.c, wrapper.h
CMakeLists.txt, Makefile            build/libNAME.so of every model in the folder
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.export.check import Report
from linkwork.export.names import comment_text
from linkwork.export.package import MARK, GeneratedFunction
from linkwork.export.pinnzoo.code import header_text, name_of, source_text
from linkwork.export.pinnzoo.functions import FUNCTIONS
from linkwork.export.pinnzoo.state_order import config_names, velocity_names
from linkwork.export.pinnzoo.state_space import StateSpace, input_names
from linkwork.io.urdf.writer import dump_urdf
from linkwork.version import __version__

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
            "Makefile": _MAKEFILE,
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

    make                                        # build/lib{package.name}.so
    cmake -B build && cmake --build build       # the same

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
        lines += [f"const char **get_{name}(void)", "{"]
        lines += [f"  return (const char **){name};", "}", ""]
    path = _c_string(f"{package.name}/{package.name}.urdf")
    lines += ["const char *get_urdf_path(void)", "{", f"  return {path};", "}", ""]
    return "\n".join(lines)


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
        lines += [
            _signature(name),
            "{",
            f"  const double *arg[{len(inputs)}];",
            f"  double *res[{len(outputs)}];",
            *(f"  arg[{k}] = {one};" for k, one in enumerate(inputs)),
            *(f"  res[{k}] = {one};" for k, one in enumerate(outputs)),
            f"  (void){name}(arg, res, 0, 0, 0);",
            "}",
            "",
        ]
    return "\n".join([*lines, "#endif", ""])


def _wrapper_header() -> str:
    lines = [f"/* {MARK} {__version__}: functions of plain arrays, with column-major matrices. */"]
    lines += ["#ifndef PINNZOO_WRAPPER_H", "#define PINNZOO_WRAPPER_H", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for name, (title, _) in FUNCTIONS.items():
        lines += [f"/* {title} */", f"{_signature(name)};"]
    lines += ["", "/* names of the elements of vectors; each list ends in NULL */"]
    for name in ("config_order", "vel_order", "torque_order", "kinematics_bodies"):
        lines.append(f"const char **get_{name}(void);")
    lines += ["const char *get_urdf_path(void);", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


_CMAKE = f"""\
# {MARK} {__version__}: a library for each folder in models
cmake_minimum_required(VERSION 3.10)
project(models C)

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

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
_MAKEFILE = f"""\
# {MARK} {__version__}: a library for each folder in models
CC ?= cc
CFLAGS ?= -O2
STRICT := -std=c99 -Wall -Wextra -Wconversion -Wshadow -pedantic
MODELS := $(notdir $(wildcard models/*))

all: $(MODELS:%=build/lib%.so)

.SECONDEXPANSION:
build/lib%.so: $$(wildcard models/%/generated_code/*.c) src/wrapper.c
\tmkdir -p build
\t$(CC) $(CPPFLAGS) $(CFLAGS) $(STRICT) -shared -fPIC -Imodels/$*/generated_code \\
\t  $(if $(wildcard models/$*/generated_code/kinematics.c),,-DPINNZOO_WITHOUT_KINEMATICS) \\
\t  $(LDFLAGS) $^ -lm -o $@

clean:
\trm -rf build

.PHONY: all clean
"""
