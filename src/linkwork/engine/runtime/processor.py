"""The processor that code is compiled for.

In a first call with code from the cache, importing LLVM would take longer than everything else. So
on Linux the processor is identified by /proc/cpuinfo, without LLVM. The version of llvmlite is read
from its file, in 0.2 ms; `importlib.metadata` takes a hundred times as long, mostly for its import.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

IS_LINUX_ON_X86_64 = (
    sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 1 << 32
)
_ENTRIES = ("vendor_id", "cpu family", "model", "flags")  # of /proc/cpuinfo


class NoMachineCodeError(RuntimeError):
    """Machine code cannot be compiled or run on this system; NumPy is used instead."""


@dataclass(frozen=True)
class Machine:
    """Identification of a machine in keys of the disk cache."""

    name: str  # machines with the same name can run the same code
    lanes: int  # doubles in a vector register
    has_fma: bool = False  # whether it has fused products and sums, as all but old x86 do


@dataclass(frozen=True)
class Target:
    """Identification of a machine in LLVM."""

    cpu: str
    features: str
    triple: str


@cache
def this_machine() -> Machine:
    """Identify the machine of this process."""
    return _by_system() or _by_llvm()


@cache
def this_target() -> Target:
    """Identify the machine of this process for LLVM, with all its instruction sets."""
    llvm = llvm_binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Target(llvm.get_host_cpu_name(), features, llvm.get_process_triple())


def has_short_offsets() -> bool:
    """Return whether instructions are shorter for memory close to an address in a register."""
    return platform.machine().lower() in ("x86_64", "amd64")


def llvm_binding() -> Any:
    """Import llvmlite's interface to LLVM."""
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:  # not installed, or its library cannot be loaded
        text = f"llvmlite cannot be imported ({error}); install it with `pip install llvmlite`"
        raise NoMachineCodeError(text) from error
    return llvm


def _by_system() -> Machine | None:
    """Identify the machine by /proc/cpuinfo; None if an entry or llvmlite is missing."""
    if not IS_LINUX_ON_X86_64:
        return None
    entries, version = _processor(Path("/proc/cpuinfo")), _llvmlite_version()
    if version is None or not all(map(entries.get, _ENTRIES)):
        return None
    flags = entries["flags"].split()
    name = "|".join((*(entries[name] for name in _ENTRIES), version))
    return Machine(name, _lanes(flags), "fma" in flags)


def _by_llvm() -> Machine:
    target, llvm = this_target(), llvm_binding()
    version = ".".join(map(str, llvm.llvm_version_info))
    features = [name[1:] for name in target.features.split(",") if name.startswith("+")]
    name = "|".join((target.cpu, target.features, target.triple, version))
    return Machine(name, _lanes(features), "fma" in features or not has_short_offsets())


def _lanes(features: list[str]) -> int:
    return 8 if "avx512f" in features else 4 if "avx2" in features else 2


def _processor(path: Path) -> dict[str, str]:
    """Read the entries of the first processor."""
    entries: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                entries[name.strip()] = value.strip()
    except OSError:
        return {}
    return entries


def llvmlite_file() -> str | None:
    """Return the file that `import llvmlite` runs in this process; None if there is none."""
    spec = PathFinder.find_spec("llvmlite")
    return None if spec is None else spec.origin


def _llvmlite_version() -> str | None:
    """Return the content of llvmlite/_version.py; None if it cannot be read."""
    file = llvmlite_file()
    if file is None:
        return None
    try:
        return Path(file).with_name("_version.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
