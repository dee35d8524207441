"""LLVM IR to machine code, and machine code to functions."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from linkwork.machine.elf import ObjectError
from linkwork.machine.objects import LoadedObject
from linkwork.machine.processor import this_target

LOCK = threading.RLock()  # held while code is made or loaded, and over a fork
# Addresses of 64 bits: in a large process, code and its constants may end up far apart.
RELOCATION = {"reloc": "static", "codemodel": "jitdefault"}
FAST, QUICK = 1, 0  # levels of code generation: runs fast, or is made quickly


def compiled(ir: str, level: int = FAST) -> bytes:
    """Machine code of a module, as an object file."""
    import llvmlite.binding as llvm

    with LOCK:
        machine = _target_machine(level)
        module = llvm.parse_assembly(ir)
        module.verify()
        return machine.emit_object(module)


class Code:
    """Machine code in memory; it stays as long as this object."""

    def __init__(self, data: bytes) -> None:
        try:
            self._loaded = LoadedObject(data)
        except ObjectError:  # of another system, or with something in it that is new to us
            self._loaded = LoadedByLlvm(data)

    def address(self, name: str) -> int:
        """Where a function starts."""
        return self._loaded.address(name)


class LoadedByLlvm:
    """An object file in memory, as LLVM loads it: takes every kind, but LLVM has to be there."""

    def __init__(self, data: bytes) -> None:
        import llvmlite.binding as llvm

        machine = _target_machine(FAST)
        empty = llvm.parse_assembly("")
        empty.triple = this_target().triple
        self._engine: Any = llvm.create_mcjit_compiler(empty, machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function starts."""
        return self._engine.get_function_address(name)


def _target_machine(level: int) -> Any:
    import llvmlite.binding as llvm

    target = this_target()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
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
