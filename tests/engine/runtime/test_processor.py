"""The machine is known without LLVM, so that code from the cache is run without loading it."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from types import SimpleNamespace

import pytest
from tests.support.kernels import floater, output_of

from linkwork.engine.runtime import processor as machine
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64

only_here = pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="LLVM knows the machine there")

BLOCK = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: A processor: fast
flags\t\t: fpu sse2 avx avx2{more}
power management:

processor\t: 1
vendor_id\t: Another
"""


@pytest.fixture
def said(monkeypatch):
    """Lets the system say something else of its processor."""

    def say(text):
        facts = dict(part.split("=") for part in text.split(";"))
        monkeypatch.setattr(machine, "_processor", lambda path: facts)
        return machine._by_system()

    return say


@only_here
def test_the_system_and_llvm_agree_on_the_width_of_vectors():
    actual = machine._by_system()
    assert actual
    assert actual.lanes == machine._by_llvm().lanes


@only_here
@pytest.mark.parametrize(
    ("flags", "lanes"),
    [("sse2 avx", 2), ("avx avx2 fma", 4), ("avx2 avx512f avx512dq", 8), ("avx512fp16", 2)],
)
def test_flags_tell_the_width_of_vectors(said, flags, lanes):
    assert said(f"vendor_id=A;cpu family=1;model=2;flags={flags}").lanes == lanes


@only_here
def test_another_processor_has_another_name(said):
    texts = [
        "vendor_id=A;cpu family=1;model=2;flags=sse2 avx2",
        "vendor_id=B;cpu family=1;model=2;flags=sse2 avx2",
        "vendor_id=A;cpu family=2;model=2;flags=sse2 avx2",
        "vendor_id=A;cpu family=1;model=3;flags=sse2 avx2",
        "vendor_id=A;cpu family=1;model=2;flags=sse2 avx2 fma",
    ]
    assert len({said(text).name for text in texts}) == len(texts)
    same = "vendor_id=A;cpu family=1;model=2;flags=sse2 avx2;cpu MHz=2445.432"
    assert said(same) == said(texts[0])


@only_here
def test_another_llvmlite_has_another_name(monkeypatch):
    before = machine._by_system()
    monkeypatch.setattr(machine, "_llvmlite_version", lambda: "another")
    after = machine._by_system()
    assert before
    assert after
    assert before.name != after.name


def test_only_the_first_processor_is_read(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(BLOCK.format(more=" fma") * 100, encoding="utf-8")
    facts = machine._processor(path)
    assert facts["processor"] == "0"
    assert facts["vendor_id"] == "GenuineIntel"
    assert facts["model"] == "85"
    assert facts["model name"] == "A processor: fast"
    assert facts["flags"] == "fpu sse2 avx avx2 fma"
    assert machine._processor(tmp_path / "missing") == {}


@pytest.mark.parametrize("missing", ["vendor_id", "cpu family", "model", "flags"])
def test_llvm_is_asked_where_the_system_says_too_little(said, missing):
    facts = {"vendor_id": "A", "cpu family": "1", "model": "2", "flags": "sse2"}
    del facts[missing]
    assert said(";".join(f"{name}={value}" for name, value in facts.items())) is None


@pytest.mark.parametrize("spec", [None, ModuleSpec("llvmlite", None, origin="/missing/x.py")])
def test_llvm_is_asked_where_its_version_is_not_known(spec, monkeypatch):
    monkeypatch.setattr(machine, "PathFinder", SimpleNamespace(find_spec=lambda name: spec))
    assert machine._by_system() is None
    machine.this_machine.cache_clear()
    try:
        assert machine.this_machine() == machine._by_llvm()
        floater(gravity=(0.0, 0.0, -2.5)).warmup("com")
    finally:
        machine.this_machine.cache_clear()


@only_here
@pytest.mark.parametrize(
    "options", ["", "dtype=np.float32", "floating=False, representation='body'"]
)
def test_code_from_the_cache_is_run_without_llvm_and_without_tracing(options, tmp_path):
    story = """
    kd = floater({options})
    q, nu, tau = motion(kd, 13)
    {warmup}
    found = [kd.mass_matrix(q[0]), kd.mass_matrix(q), kd.forward_dynamics(q, nu, tau)]
    {check}
    print([part.tobytes().hex() for part in found])
    """
    warmup = "kd.warmup('mass_matrix', 'forward_dynamics')"
    check = """
    assert "llvmlite" not in sys.modules
    for name in ("mass_matrix", "forward_dynamics"):
        assert kd.function(name).code.cached_program is None
    """.strip()
    first = output_of(story.format(options=options, warmup=warmup, check=""), cache=tmp_path)
    second = output_of(story.format(options=options, warmup="", check=check), cache=tmp_path)
    assert first == second


@only_here
def test_a_function_of_ones_own_is_run_without_llvm(tmp_path):
    story = """
    @lw.compile(x=3)
    def function(x):
        return np.arctan2(x, 2.0) + np.exp(x)
    {first}
    result = function(np.array([0.1, 0.2, 0.3]))
    {then}
    print(result.tobytes().hex())
    """
    check = 'assert "llvmlite" not in sys.modules'
    first = output_of(story.format(first="function.warmup()", then=""), cache=tmp_path)
    assert output_of(story.format(first="", then=check), cache=tmp_path) == first
