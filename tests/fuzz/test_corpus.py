"""Inputs from fuzzing are accepted, or rejected with documented errors; see tools/fuzz.py."""

from __future__ import annotations

from random import Random

import pytest
from tests.support.fuzz_targets import CORPUS, TARGETS

LARGEST_CORPUS = 300_000  # [bytes]


@pytest.mark.parametrize("name", TARGETS)
def test_corpus_and_mutated_inputs_cause_no_undocumented_error(name):
    target, rng = TARGETS[name], Random(0)
    inputs = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    for data in inputs:
        target.run(data)
        if target.mutate is not None:
            target.run(target.mutate(data, rng))

    assert inputs


def test_corpus_is_small():
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST_CORPUS
    assert {path.parent.name for path in files} == set(TARGETS)


@pytest.mark.parametrize("name", ["urdf", "object"])
def test_undocumented_error_of_a_reader_is_detected(name, monkeypatch):
    """Targets that catch too many exceptions would never fail."""
    reader = {
        "urdf": "lw.load",
        "object": "LoadedObject",
    }[name]

    def fail(*_, **__):
        raise KeyError("a defect")

    monkeypatch.setattr(f"tests.support.fuzz_targets.{reader}", fail)
    with pytest.raises(KeyError, match="a defect"):
        TARGETS[name].run(b"<robot/>")
