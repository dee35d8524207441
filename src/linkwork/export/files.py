"""The files of an export besides its C code: header, README and CMakeLists.txt.

The header declares the functions, with shapes, units and conventions in comments.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

from linkwork.engine.kernel.norms import TOLERANCE
from linkwork.export.check import Report
from linkwork.export.code import (
    CMAKE_HEAD,
    Argument,
    checks_norms,
    comment_text,
    guarded,
    prototype,
)
from linkwork.export.package import MARK, GeneratedFunction, Package
from linkwork.export.samples import Sample
from linkwork.export.selftest import selftest_text
from linkwork.kindyn import KinDyn
from linkwork.version import __version__

_WIDTH = 100  # of a line
_REPRESENTATIONS = {
    "mixed": "of the frame's origin, in the axes of the world",
    "body": "of the frame's origin, in the axes of the frame",
    "inertial": "of the point of the body at the world's origin, in the axes of the world",
}


def header_text(package: Package) -> str:
    """Return the contents of the header."""
    upper, kd = package.prefix.upper(), package.kd
    lines = [
        f"/* {comment_text(kd.model.name)}: {MARK} {__version__}.",
        " *",
        *(f" * {line}".rstrip() for line in conventions(kd)),
        " */",
    ]
    declared = [f"#define {upper}_NQ {kd.nq}", f"#define {upper}_NV {kd.nv}", ""]
    if package.longest_work:
        declared.append("/* Length of a workspace that suffices for any function. */")
        declared += [f"#define {upper}_WORK {package.longest_work}", ""]
    for one in package.functions:
        declared += [*_declaration(package, one), ""]
    return "\n".join([*lines, *guarded(f"{upper}_H", declared)])


def conventions(kd: KinDyn) -> Iterator[str]:
    """Yield what all functions have in common, as lines of text."""
    yield "Arrays      elements in C order (rows of a matrix one after the other); none may overlap"
    yield "Units       SI: meters, radians, seconds, kilograms, newtons"
    yield "6-vectors   linear part first, then the angular part"
    yield f"Velocities  {kd.representation}: {_REPRESENTATIONS[kd.representation]};"
    yield "            for the base, frames and Jacobians. Forces and wrenches are dual to them"
    yield f"Base        {comment_text(kd.base)}, {_base(kd)}"
    yield f"Gravity     ({', '.join(f'{x:g}' for x in kd.gravity)}) m/s^2 in the world"
    effect = "included in the dynamics" if kd.joint_dynamics else "not included"
    yield f"Joints      armature, damping and friction are {effect}"
    if any(joint.motion_kind.unit_norm for joint in kd.model.joints) or kd.floating:
        yield "Unit norms  a quaternion or (cos, sin) whose norm drifted is divided by it; if it"
        yield f"            differs from 1 by more than {TOLERANCE:g}, no output is written"
    yield ""
    yield from _vector(kd, "q")
    yield ""
    yield from _vector(kd, "nu")


def _base(kd: KinDyn) -> str:
    if kd.floating:
        return "which moves freely"
    if kd.base_pose is None:
        return "fixed to the world at its origin"
    xyz, rpy = (", ".join(f"{x:g}" for x in part) for part in (kd.base_pose.xyz, kd.base_pose.rpy))
    return f"fixed to the world at ({xyz}) m, roll pitch yaw ({rpy}) rad"


def _vector(kd: KinDyn, name: Literal["q", "nu"]) -> Iterator[str]:
    """Yield a line for the entries of each joint in q or nu."""
    is_position = name == "q"
    slices, size = (kd.layout.q, kd.nq) if is_position else (kd.layout.nu, kd.nv)
    yield f"{name}: {size} elements"
    if kd.floating and is_position:
        yield "  0..2: position of the base in the world [m]"
        yield "  3..6: quaternion of the base, w x y z"
    elif kd.floating:
        yield "  0..2: linear velocity of the base [m/s]"
        yield "  3..5: angular velocity of the base [rad/s]"
    for joint, span in slices.items():
        indices = (
            f"{span.start}" if span.stop - span.start == 1 else f"{span.start}..{span.stop - 1}"
        )
        kind = kd.model.joint(joint).motion_kind
        description = kind.position_text if is_position else kind.velocity_text
        ending = f": {description}" if description else ""
        yield f"  {indices}: {comment_text(joint)}, {kind.name}{ending}"


def _declaration(package: Package, one: GeneratedFunction) -> Iterator[str]:
    function, real = one.function, package.real
    first, *others = textwrap.wrap(f"/* {function.title}.", _WIDTH - 3) or ["/*"]
    yield first
    yield from (f" * {line}" for line in others)
    yield " *"
    listed = [a.name for a in (*function.inputs, *function.outputs)]
    width = max(map(len, [*listed, *(["work"] if one.code.work else [])]), default=0)
    for argument in (*function.inputs, *function.outputs):
        yield from _described(argument, width)
    if one.code.work:
        yield f" * {'work'.ljust(width)}  workspace of {one.work_macro} elements"
    if checks_norms(function):
        yield " *"
        yield " * Returns 0, or 1 if a norm differs from 1 by too much."
    yield f" * {function.program.n_ops} operations."
    yield " */"
    if one.code.work:
        yield f"#define {one.work_macro} {one.code.work}"
    yield from _wrapped(prototype(function, real, work=bool(one.code.work)))


def _wrapped(declaration: str) -> Iterator[str]:
    """Split a declaration into several lines if it is long."""
    line, *parts = f"{declaration};".split(", ")
    for part in parts:
        if len(f"{line}, {part}") < _WIDTH:
            line = f"{line}, {part}"
        else:
            yield f"{line},"
            line = f"    {part}"
    yield line


def _described(argument: Argument, width: int) -> Iterator[str]:
    shape: Sequence[int] = argument.port.shape
    size = " x ".join(map(str, shape)) or "scalar"
    text = f" * {argument.name.ljust(width)}  {size}"
    text = f"{text}: {argument.description}" if argument.description else text
    yield from textwrap.wrap(text, _WIDTH, subsequent_indent=f" * {' ' * width}  ")


def files_of(package: Package, samples: Sequence[Sample]) -> dict[str, str]:
    """Return the contents of all files except the README, by name.

    Args:
        package: the functions.
        samples: for each function, the results that the self-test compares with.
    """
    return {
        f"{package.prefix}.h": header_text(package),
        **package.sources,
        "selftest.c": selftest_text(package, samples),
        "CMakeLists.txt": _cmake(package),
    }


def _cmake(package: Package) -> str:
    prefix = package.prefix
    listed = "\n  ".join(package.sources)
    return f"""\
# {MARK} {__version__}
{CMAKE_HEAD.format(project=prefix)}
add_library({prefix}
  {listed})
set_target_properties({prefix} PROPERTIES
  POSITION_INDEPENDENT_CODE ON WINDOWS_EXPORT_ALL_SYMBOLS ON)
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(NOT MSVC)
  target_link_libraries({prefix} PUBLIC m)
endif()

enable_testing()
add_executable({prefix}_selftest selftest.c)
target_link_libraries({prefix}_selftest {prefix})
add_test(NAME {prefix}_selftest COMMAND {prefix}_selftest)
"""


def _usage(package: Package) -> Iterator[str]:
    """Yield C code that calls the first function."""
    one, t = package.functions[0], package.real.name
    function, arguments = one.function, (*one.function.inputs, *one.function.outputs)
    yield f'#include "{package.prefix}.h"'
    yield f"static {t} {', '.join(f'{a.name}[{max(a.port.size, 1)}]' for a in arguments)};"
    if one.code.work:
        yield f"static {t} work[{one.work_macro}];"
    names = [argument.name for argument in arguments] + ["work"] * bool(one.code.work)
    yield f"{function.name}({', '.join(names)});"


def readme_text(package: Package, report: Report) -> str:
    """Return the README, with the results of the check."""
    prefix, kd = package.prefix, package.kd
    functions = "\n".join(f"- `{one.function.name}`" for one in package.functions)
    listed = "\n".join(f"    {line}".rstrip() for line in conventions(kd))
    usage = "\n".join(f"    {line}" for line in _usage(package))
    return f"""\
# {prefix}

C99 functions of the robot `{comment_text(kd.model.name)}`, {MARK} {__version__}.
They allocate nothing, have no state between calls, and need only libm. Any number of threads may
call them.

    cmake -B build && cmake --build build    # the library
    ctest --test-dir build                   # compares with recorded results

With `-DBUILD_SHARED_LIBS=ON`, CMake builds a shared library. Without CMake, compile the C files
with any C99 compiler.

`{prefix}.h` describes the arguments and results of each function:

{functions}

A call, with memory that is allocated once:

{usage}

A function with the parameter `work` needs memory for intermediate values. The caller passes it, so
that it is not on a small stack; the header defines its length. Do not compile with `-ffast-math`.

## Conventions

{listed}

## Validation

{report.markdown()}
"""
