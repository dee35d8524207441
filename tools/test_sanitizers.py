"""Run tests with the C extensions under GCC's sanitizers: `make test-sanitizers`.

    python tools/test_sanitizers.py address   memory that is not ours, freed, or too small; what C
                                              leaves undefined
    python tools/test_sanitizers.py thread    memory that two threads use without a lock

linkwork is built into build/sanitizers/, apart from what is installed. Python itself and other
packages are not instrumented, but their calls of malloc, memcpy and locks are seen. Machine code of
kernels is not instrumented either. Reports are written to files, so that tests cannot swallow them,
but for those of undefined behavior, which end the process; any report is a failure. Further
arguments go to pytest, in place of the tests listed here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "sanitizers"

EXTENSIONS = ["_call", "_casadi", "_motions", "_poses", "_xla"]
FLAGS = {
    "address": "-fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "thread": "-fsanitize=thread",
}
LIBRARIES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
MEASURED = (
    "tests/engine/kernel/test_call_memory.py::test_robots_that_come_and_go_do_not_fill_the_memory"
)
TESTS = (
    *("tests/engine/kernel", "tests/workcell", "tests/bridges", "tests/engine/runtime"),
    *("tests/spatial/test_compiled.py", "tests/collision"),
    "--ignore=tests/engine/kernel/test_small_stacks.py",  # sanitizers need more of the stack
    # it measures memory, of which the sanitizer keeps what is freed for a while
    f"--deselect={MEASURED}",
)
MAPPINGS = "tests/engine/runtime/test_memory.py::test_too_many_mappings_are_no_end_of_the_process"
FORKED = "tests/bridges/test_torch_processes.py::test_workers_of_a_data_loader_compute[fork]"
FORKED_IN_COMPILATION = (
    "tests/engine/runtime/test_background.py::"
    "test_a_child_forked_while_another_thread_compiles_works"
)
WITHOUT = {
    # its allocator's lock stays locked in a child that is forked while another thread allocates
    "address": (f"--deselect={FORKED_IN_COMPILATION}",),
    "thread": (
        # it has mappings of its own, and fails where there can be no more of them
        f"--deselect={MAPPINGS}",
        # it ends a forked child that starts a thread: "dup thread with used id"
        f"--deselect={FORKED}",
    ),
}
OPTIONS = {
    "ASAN_OPTIONS": (
        "malloc_context_size=4",  # less to write down for each block
        "detect_leaks=0",  # Python frees little of what it has at its end
        "allocator_may_return_null=1",  # for tests of MemoryError
        "detect_odr_violation=0",  # every CasADi function has a copy of one library
        "handle_segv=0",  # tests check how processes end
        "verify_asan_link_order=0",  # `WITHOUT_DEEPBIND` comes before it
    ),
    "UBSAN_OPTIONS": ("print_stacktrace=1",),
    "TSAN_OPTIONS": (
        "allocator_may_return_null=1",  # for tests of MemoryError
        "exitcode=0",  # tests check how processes end; the files are looked at here
        "die_after_fork=0",
        "report_signal_unsafe=0",
        "ignore_noninstrumented_modules=1",  # locks inside of XLA and PyTorch are not seen
    ),
}


# CasADi loads its plugins with RTLD_DEEPBIND, at which sanitizers end the process.
WITHOUT_DEEPBIND = """
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlopen(const char *file, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(file, flags & ~RTLD_DEEPBIND);
}
"""


def library(name: str) -> str:
    """The path of a library of GCC."""
    found = subprocess.check_output(["gcc", f"-print-file-name={name}"], text=True).strip()
    if not Path(found).is_absolute():
        sys.exit(f"{name} is missing; on Debian: apt-get install gcc libc6-dev")
    return str(Path(found).resolve())


def build(kind: str) -> Path:
    """Build linkwork with a sanitizer; the folder to import it from."""
    target = FOLDER / kind
    shutil.rmtree(target, ignore_errors=True)
    flags = f"{FLAGS[kind]} -fno-omit-frame-pointer -g -O1"
    environment = {**os.environ, "CC": "gcc", "CFLAGS": flags, "LDFLAGS": FLAGS[kind]}
    command = [sys.executable, "setup.py", "-q", "build", "--force"]
    folders = ["--build-base", str(target / "build"), "--build-lib", str(target / "lib")]
    subprocess.run([*command, *folders], cwd=ROOT, env=environment, check=True)
    built = sorted(path.name.split(".")[0] for path in (target / "lib").rglob("*.so"))
    if built != EXTENSIONS:
        sys.exit(f"expected the C extensions {EXTENSIONS}, got {built}")
    return target / "lib"


def without_deepbind(folder: Path) -> str:
    """Build the library that takes a flag from calls of `dlopen`; its path."""
    source, built = folder / "without_deepbind.c", folder / "without_deepbind.so"
    source.write_text(WITHOUT_DEEPBIND)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(built), str(source), "-ldl"], check=True)
    return str(built)


def setting(kind: str, imported: Path, reports: Path) -> dict[str, str]:
    """The environment of the tests."""
    # with libstdc++, for the sanitizer has to know its exceptions when it starts
    loaded = [library(name) for name in (*LIBRARIES[kind], "libstdc++.so.6")]
    loaded.insert(0, without_deepbind(imported.parent))
    options = {
        name: ":".join((*values, f"log_path={reports / name}")) for name, values in OPTIONS.items()
    }
    # with malloc, the use of Python objects after their end is seen; for threads, it is only slow
    allocator = {"PYTHONMALLOC": "malloc"} if kind == "address" else {}
    return {
        **os.environ,
        **options,
        **allocator,
        "LD_PRELOAD": " ".join(loaded),
        "PYTHONPATH": str(imported),
        "LINKWORK_TEST_SECONDS": "600",  # processes of tests take longer
    }


def is_problem(report: Path) -> bool:
    """Whether a report holds more than failed allocations, for which tests of MemoryError ask."""
    lines = report.read_text(errors="replace").splitlines()
    return any(line.strip() and "Sanitizer failed to allocate" not in line for line in lines)


def main() -> int:
    """Build, run, and show all reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=sorted(FLAGS))
    arguments, rest = parser.parse_known_args()
    kind = arguments.kind
    imported = build(kind)
    reports = FOLDER / kind / "reports"
    reports.mkdir()
    # GCC's reports of undefined behavior go to stderr only, where pytest must not capture them
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--capture=no",
        *(rest or (*TESTS, *WITHOUT[kind])),
    ]
    if kind == "thread" and shutil.which("setarch"):
        command = ["setarch", "-R", *command]  # it knows only some layouts of memory
    done = subprocess.run(command, cwd=ROOT, env=setting(kind, imported, reports), check=False)
    found = [path for path in sorted(reports.iterdir()) if is_problem(path)]
    for path in found:
        print(f"--- {path}\n{path.read_text(errors='replace')[:6000]}")
    print(f"{kind}: {len(found)} reports, tests ended with {done.returncode}")
    return 1 if found else done.returncode


if __name__ == "__main__":
    sys.exit(main())
