"""The notebook of the tour runs, and its stored outputs are up to date."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def cells():
    notebook = json.loads(TOUR.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(cell):
    """Return the stored output of a cell."""
    texts = [out.get("text", out.get("data", {}).get("text/plain")) for out in cell["outputs"]]
    return "".join("".join(message) for message in texts).strip()


def run(source, names):
    """Run a cell; return its output, and the value of its last line if it is an expression."""
    lines, value = source.splitlines(), None
    printed = StringIO()
    with redirect_stdout(printed):
        try:
            last = compile(lines[-1], "last", "eval")
        except SyntaxError:
            last = None
        body = lines if last is None else lines[:-1]
        exec("\n".join(body), names)
        value = None if last is None else eval(last, names)
    return printed.getvalue().strip() or ("" if value is None else repr(value))


def test_every_cell_has_the_stored_output():
    names: dict[str, object] = {}
    for cell in cells():
        assert run("".join(cell["source"]), names) == stored(cell)


def test_the_notebook_was_run_from_top_to_bottom():
    assert [cell["execution_count"] for cell in cells()] == list(range(1, len(cells()) + 1))
