"""A plugin of pytest: the body of each test runs in a thread whose stack has 64 KB."""

from __future__ import annotations

import threading

import pytest

BYTES = 65536


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test function in a thread of its own; its error is the error of the test."""
    names = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in names}
    errors: list[BaseException] = []

    def body() -> None:
        try:
            pyfuncitem.obj(**given)
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
