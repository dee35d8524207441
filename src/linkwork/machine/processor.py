"""Which machine this is, and what LLVM calls it.

Loading LLVM takes longer than all else that a first call from the cache does. So on Linux, the
machine is known by what the system says of its processor, and LLVM is not asked.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

IS_LINUX_ON_X86_64 = (
    sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 1 << 32
)
_FACTS = ("vendor_id", "cpu family", "model", "flags")  # in /proc/cpuinfo


@dataclass(frozen=True)
class Machine:
    """What code is kept for."""

    name: str  # differs where code might
    lanes: int  # doubles in a vector register


@dataclass(frozen=True)
class Target:
    """What code is made for, in LLVM's words."""

    cpu: str
    features: str
    triple: str


@cache
def this_machine() -> Machine:
    """The machine we are on."""
    return _by_system() or _by_llvm()


@cache
def this_target() -> Target:
    """The machine we are on, for LLVM; code may use all that it can do."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Target(llvm.get_host_cpu_name(), features, llvm.get_process_triple())


def _by_system() -> Machine | None:
    """By the system's words for its processor, and the version of llvmlite; None without them."""
    if not IS_LINUX_ON_X86_64:
        return None
    facts, version = _processor(Path("/proc/cpuinfo")), _version_of_llvmlite()
    if version is None or not all(facts.get(fact) for fact in _FACTS):
        return None
    flags = facts["flags"].split()
    return Machine("|".join((*(facts[fact] for fact in _FACTS), version)), _lanes(flags))


def _by_llvm() -> Machine:
    import llvmlite.binding as llvm

    target = this_target()
    version = ".".join(map(str, llvm.llvm_version_info))
    features = [name[1:] for name in target.features.split(",") if name.startswith("+")]
    name = "|".join((target.cpu, target.features, target.triple, version))
    return Machine(name, _lanes(features))


def _lanes(features: list[str]) -> int:
    return 8 if "avx512f" in features else 4 if "avx2" in features else 2


def _processor(path: Path) -> dict[str, str]:
    """What the system says of the first processor; nothing of the others is read."""
    facts: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.strip():
                    break
                name, _, value = line.partition(":")
                facts[name.strip()] = value.strip()
    except OSError:
        return {}
    return facts


def _version_of_llvmlite() -> str | None:
    """What the package says of its version, without importing it."""
    found = PathFinder.find_spec("llvmlite")
    if found is None or found.origin is None:
        return None
    try:
        return Path(found.origin).with_name("_version.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
