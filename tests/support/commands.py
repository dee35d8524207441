"""The `linkwork` command, run in this process or in a separate one."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.cli.main import main

COMMAND = Path(sys.executable).with_name("linkwork")
Done = subprocess.CompletedProcess


class Screen(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def run_process(*words: object, **options: object) -> Done[str]:
    """Run the command as a user runs it, with its output in pipes."""
    called = [str(COMMAND), *map(str, words)]
    return subprocess.run(called, capture_output=True, text=True, check=False, **options)


def run_here(*words: object, columns: int | None = None, one_stream: bool = False) -> Done[str]:
    """Run the command in this process: exit code, output and errors as of `run_process`.

    Args:
        words: the arguments of the command.
        columns: the width of the terminal that it writes to; None for pipes.
        one_stream: whether errors are written to the output.
    """
    make = io.StringIO if columns is None else Screen
    output = make()
    errors = output if one_stream else make()
    called = ["linkwork", *map(str, words)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns or 80))
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "argv", called)
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as completed:
            main()
    code = completed.value.code or 0
    return Done(called, code, output.getvalue(), "" if one_stream else errors.getvalue())
