"""A plugin of pytest: the body of each test runs in a thread whose stack has 64 KB.

It has 128 KB before Python 3.11, where calls of Python functions use it too, since Python 3.14,
which keeps a part of it free, and on 64-bit ARM, where glibc rejects smaller ones.
"""

from __future__ import annotations

import sys
import threading

import numpy.random  # noqa: F401 - not by a thread with a small stack
import pytest
from tests.support.kernels import SMALLEST_STACK

BYTES = SMALLEST_STACK if (3, 11) <= sys.version_info < (3, 14) else 131072


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test function in a separate thread; its error is the error of the test."""
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    errors: list[BaseException] = []

    def body() -> None:
        try:
            pyfuncitem.obj(**arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            errors.append(error)

    before = threading.stack_size(BYTES)
    thread = threading.Thread(target=body)
    thread.start()
    threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return True
