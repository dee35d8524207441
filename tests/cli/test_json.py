"""The JSON that commands print is that of the standard library, at any depth."""

from __future__ import annotations

import json

import pytest

from linkwork.cli.output import json_pieces

VALUES = [
    {},
    [],
    {"a": []},
    [[], {}, [[]]],
    {"a": 1, "b": [1.5, None, True, 'x\n"ä\x9b'], 'c"': {"d": {"e": -1e-300}}},
    [{"link": "a", "joints": [{"joint": "j", "to": {"link": "b", "joints": []}}]}],
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_it_is_what_the_standard_library_writes(value):
    assert "".join(json_pieces(value)) == json.dumps(value, indent=2)


def test_depth_is_no_matter():
    deep: list[object] = []
    for _ in range(5_000):  # the standard library ends at 1,000; the indentation grows with it
        deep = [deep]

    written = "".join(piece.strip() for piece in json_pieces(deep))

    assert written.replace("\n", "").replace(" ", "") == "[" * 5_001 + "]" * 5_001
