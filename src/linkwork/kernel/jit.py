"""LLVM IR to machine code, and machine code to functions."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

LOCK = threading.RLock()  # held while code is made or loaded, and over a fork
# Addresses of 64 bits: in a large process, code and its constants may end up far apart.
RELOCATION = {"reloc": "static", "codemodel": "jitdefault"}
FAST, QUICK = 1, 0  # levels of code generation: runs fast, or is made quickly


@dataclass(frozen=True)
class Machine:
    """What code is made for."""

    cpu: str
    features: str
    triple: str
    llvm: str
    lanes: int  # doubles in a vector register

    @property
    def name(self) -> str:
        """A text that differs where code might."""
        return "|".join((self.cpu, self.features, self.triple, self.llvm, *RELOCATION.values()))


@cache
def this_machine() -> Machine:
    """The machine we are on."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 8 if features.get("avx512f") else 4 if features.get("avx2") else 2
    version = ".".join(map(str, llvm.llvm_version_info))
    triple = llvm.get_process_triple()
    return Machine(llvm.get_host_cpu_name(), features.flatten(), triple, version, lanes)


def compiled(ir: str, level: int = FAST) -> bytes:
    """Machine code of a module, as an object file."""
    import llvmlite.binding as llvm

    with LOCK:
        machine = this_machine()
        module = llvm.parse_assembly(ir)
        module.verify()
        return _target_machine(machine, level).emit_object(module)


class Code:
    """Machine code in memory; it stays as long as this object."""

    def __init__(self, data: bytes) -> None:
        import llvmlite.binding as llvm

        empty = llvm.parse_assembly("")
        empty.triple = this_machine().triple
        self._engine: Any = llvm.create_mcjit_compiler(empty, _target_machine(this_machine(), FAST))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function starts."""
        return self._engine.get_function_address(name)


def _target_machine(machine: Machine, level: int) -> Any:
    import llvmlite.binding as llvm

    target = llvm.Target.from_triple(machine.triple)
    return target.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=level,
        jit=True,
        reloc=RELOCATION["reloc"],
        codemodel=RELOCATION["codemodel"],
    )


_held: list[Any] = []  # of llvmlite, while a fork goes on


def _hold() -> None:
    """Before a fork: a lock that another thread holds would stay held in the child for ever.

    Code that is dropped takes the lock of llvmlite without ours.
    """
    LOCK.acquire()
    ffi: Any = sys.modules.get("llvmlite.binding.ffi")
    lock = getattr(getattr(ffi, "lib", None), "_lock", None)
    if lock is not None:
        lock.__enter__()
        _held.append(lock)


def _let_go() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
