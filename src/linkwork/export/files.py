"""The files of an export besides its C code: README, Makefile and CMakeLists.txt."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.export.check import Report
from linkwork.export.header import conventions, header_text
from linkwork.export.names import comment_text
from linkwork.export.package import MARK, Package
from linkwork.export.programs import example_text, selftest_text
from linkwork.export.python_module import module_text
from linkwork.export.samples import Sample
from linkwork.version import __version__


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
        "main.c": example_text(package),
        f"python/{package.prefix}.c": module_text(package),
        "Makefile": _makefile(package),
        "CMakeLists.txt": _cmake(package),
    }


def _makefile(package: Package) -> str:
    prefix, sources = package.prefix, list(package.sources)
    objects = " ".join(name.removesuffix(".c") + ".o" for name in sources)
    return f"""\
# {MARK} {__version__}
CC ?= cc
CFLAGS ?= -O2
CPPFLAGS ?=
STRICT := -std=c99 -Wall -Wextra -Wconversion -Wshadow -pedantic

OBJECTS := {objects}

PYTHON ?= python3
QUERY = $(shell $(PYTHON) -c "import sysconfig as s; print($(1))")
MODULE = python/{prefix}$(call QUERY,s.get_config_var('EXT_SUFFIX'))

all: lib{prefix}.a example

lib{prefix}.a: $(OBJECTS)
\t$(AR) rcs $@ $(OBJECTS)

%.o: %.c {prefix}.h
\t$(CC) $(CPPFLAGS) $(CFLAGS) $(STRICT) -c $< -o $@

selftest: selftest.o lib{prefix}.a
\t$(CC) $(CFLAGS) $(LDFLAGS) selftest.o lib{prefix}.a -lm -o $@

example: main.o lib{prefix}.a
\t$(CC) $(CFLAGS) $(LDFLAGS) main.o lib{prefix}.a -lm -o $@

test: selftest
\t./selftest

# import {prefix}, with the folder python in sys.path; needs the headers of Python
python: {prefix}.h $(OBJECTS:.o=.c) python/{prefix}.c
\t$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared $(LDFLAGS) -I. -I$(call QUERY,s.get_path('include')) \\
\t  python/{prefix}.c $(OBJECTS:.o=.c) -lm -o $(MODULE)

clean:
\trm -f $(OBJECTS) selftest.o main.o lib{prefix}.a selftest example python/*.so

.PHONY: all test python clean
"""


def _cmake(package: Package) -> str:
    prefix = package.prefix
    listed = "\n  ".join(package.sources)
    return f"""\
# {MARK} {__version__}
cmake_minimum_required(VERSION 3.10)
project({prefix} C)

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({prefix} STATIC
  {listed})
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
if(NOT MSVC)
  target_link_libraries({prefix} PUBLIC m)
endif()

add_executable({prefix}_example main.c)
target_link_libraries({prefix}_example {prefix})

enable_testing()
add_executable({prefix}_selftest selftest.c)
target_link_libraries({prefix}_selftest {prefix})
add_test(NAME {prefix}_selftest COMMAND {prefix}_selftest)
"""


def readme_text(package: Package, report: Report) -> str:
    """Return the README, with the results of the check."""
    prefix, kd = package.prefix, package.kd
    functions = "\n".join(f"- `{one.function.name}`" for one in package.functions)
    listed = "\n".join(f"    {line}".rstrip() for line in conventions(kd))
    batch = ""
    if package.lanes:
        batch = f"""
Functions that end in `_batch` take any number of rows and compute {package.lanes} at a time, in the
lanes of vectors (an extension of GCC and Clang). Compile them for the processor that runs them, for
example with `make CFLAGS="-O2 -march=native"`.
"""
    return f"""\
# {prefix}

C99 functions of the robot `{comment_text(kd.model.name)}`, {MARK} {__version__}.
They allocate nothing, have no state between calls, and need only libm. Any number of threads may
call them.

    make          # the library lib{prefix}.a and the example
    make test     # compares with recorded results
    ./example     # a control loop
    make python   # a Python module in the folder python; needs Python's headers

or with CMake: `cmake -B build && cmake --build build && ctest --test-dir build`.

`{prefix}.h` describes the arguments and results of each function:

{functions}

A function with the parameter `work` needs memory for intermediate values. The caller passes it, so
that it is not on a small stack; the header defines its length. Do not compile with `-ffast-math`.
{batch}
## Conventions

{listed}

## Validation

{report.markdown()}
"""
