"""Compilation of LLVM IR to object files, and loading of object files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from linkwork.engine.runtime.elf import ObjectError
from linkwork.engine.runtime.memory import Lease, check_executable
from linkwork.engine.runtime.objects import LoadedObject
from linkwork.engine.runtime.processor import NoMachineCodeError, llvm_binding, this_target
from linkwork.errors import nearest, shown, warn_once

LOCK = threading.RLock()  # held while code is compiled or loaded, and during a fork
# 64-bit addresses: in a large process, code and its constants may be more than 2 GB apart.
RELOCATION = {"reloc": "static", "codemodel": "jitdefault"}
FAST, QUICK = 1, 0  # optimization levels of LLVM: code that runs fast, or that compiles quickly
STACK = 8 * 1024 * 1024  # bytes of stack for LLVM; on ARM, 128 KB are not enough for it
_T = TypeVar("_T")


def setting(name: str, options: tuple[str, ...]) -> str:
    """Return the value of an environment variable; the first option if it is unset or unknown."""
    value = os.environ.get(name, "").lower()
    if value and value not in options:
        text = f"{name}={shown(value)} is unknown; {nearest(value, options)}"
        warn_once(name, f"{text}; using {options[0]!r}")
    return value if value in options else options[0]


def compiled(ir: str, level: int = FAST) -> bytes:
    """Compile a module to an object file."""
    with LOCK:
        check_executable()  # first, since the code could not be loaded without it
        return _with_large_stack(partial(_compile, ir, level))


def _compile(ir: str, level: int) -> bytes:
    """Compile with LOCK held; on return, LLVM's objects are freed."""
    llvm, machine = llvm_binding(), _target_machine(level)
    try:
        module = llvm.parse_assembly(ir)
        module.verify()
        return machine.emit_object(module)
    except RuntimeError as error:
        raise NoMachineCodeError(f"LLVM cannot compile it ({error})") from error


def _with_large_stack(function: Callable[[], _T]) -> _T:
    """Call a function of LLVM, in another thread if that of the caller may have a small stack.

    Threads that are created meanwhile have this stack too, which is only address space.
    """
    if threading.current_thread() is threading.main_thread():
        return function()
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    previous = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=run, name="linkwork compiler")
        thread.start()
    except RuntimeError:  # no memory, or the interpreter ends
        return function()
    finally:
        threading.stack_size(previous)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def load_code(data: bytes) -> LoadedObject | LoadedByLlvm:
    """Load an object file; whatever keeps the address of a function must keep the lease."""
    if setting("LINKWORK_LOADER", ("own", "llvm")) == "own":
        try:
            return LoadedObject(data)
        except ObjectError:  # a format or feature that the loader does not support
            pass
    return LoadedByLlvm(data)


class LoadedByLlvm:
    """An object file loaded by LLVM, which supports every format but has to be imported first."""

    def __init__(self, data: bytes) -> None:
        with LOCK:
            check_executable()
            self._engine: Any = _with_large_stack(partial(_engine, data))
            self.lease = Lease(partial(_close, self._engine))

    def address(self, name: str) -> int:
        """Return the address of a function."""
        with LOCK:
            return self._engine.get_function_address(name)


def _close(engine: Any, lock: Any = LOCK) -> None:
    with lock:  # prevents a fork while LLVM frees memory
        engine.close()


def _engine(data: bytes) -> Any:
    llvm, machine = llvm_binding(), _target_machine(FAST)
    empty = llvm.parse_assembly("")
    empty.triple = this_target().triple
    try:
        engine = llvm.create_mcjit_compiler(empty, machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
    except RuntimeError as error:
        raise NoMachineCodeError(f"LLVM cannot load it ({error})") from error
    return engine


def _target_machine(level: int) -> Any:
    target = this_target()
    return (
        llvm_binding()
        .Target.from_triple(target.triple)
        .create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=level,
            jit=True,
            reloc=RELOCATION["reloc"],
            codemodel=RELOCATION["codemodel"],
        )
    )


def llvmlite_lock() -> Any:
    """Return the lock that llvmlite holds while it calls LLVM; None if there is none.

    It is private to llvmlite. Without it, a fork is still safe if only linkwork uses LLVM, which
    happens under `LOCK`; it is not if another package, such as numba, compiles at the same time.
    """
    ffi: Any = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(ffi, "lib", None), "_lock", None)


_held_locks: list[Any] = []  # the lock of llvmlite, during a fork


def _lock_before_fork() -> None:
    """Acquire the locks: a lock held by another thread would stay locked in the child."""
    LOCK.acquire()
    lock = llvmlite_lock()
    if lock is not None:
        lock.__enter__()
        _held_locks.append(lock)


def _unlock_after_fork() -> None:
    while _held_locks:
        _held_locks.pop().__exit__(None, None, None)
    LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock_before_fork,
        after_in_parent=_unlock_after_fork,
        after_in_child=_unlock_after_fork,
    )
