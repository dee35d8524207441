"""Fuzz the readers of files, states and object files, guided by coverage.

    python tools/fuzz.py --seconds 600            all targets, one after the other
    python tools/fuzz.py --seconds 60 --target urdf
    python tools/fuzz.py --collect                copy a few inputs to tests/fuzz/corpus

Needs the package atheris. Inputs that reach new code are kept in build/fuzz/<target>/corpus, so
that the next run goes on from there. A defect is an exception that the reader does not document,
a process that dies, more than 4 GB of memory, or 20 s for one input. The input is written to
build/fuzz/<target>/defects, together with the traceback, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "fuzz"
MEMORY = 4 << 30  # [bytes] of address space; beyond it, an allocation raises MemoryError
SLOWEST = 20  # [s] for one input
LONGEST = 20_000  # [bytes] of an input
CORPUS_BYTES = 20_000  # of a target's inputs in tests/fuzz/corpus


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the readers of linkwork.")
    parser.add_argument("--seconds", type=int, default=600, help="time for all targets together")
    parser.add_argument("--target", action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--collect", action="store_true", help="choose inputs for tests/fuzz/corpus; do not fuzz"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    os.environ["LINKWORK_CACHE"] = "off"
    if args.child:
        return fuzz(args.child, args.seconds)

    from tests.support.fuzz_targets import TARGETS

    names = args.target or list(TARGETS)
    if args.collect:
        for name in names:
            collect(name)
        return 0
    weights = {name: TARGETS[name].weight for name in names}
    share = args.seconds / sum(weights.values())
    reports = [started(name, max(round(share * weight), 1)) for name, weight in weights.items()]
    print(f"{'target':16}{'executions':>12}{'coverage':>10}{'defects':>9}")
    for name, executions, coverage, defects in reports:
        print(f"{name:16}{executions:>12}{coverage:>10}{defects:>9}")
    return int(any(report[-1] for report in reports))


def started(name: str, seconds: int) -> tuple[str, str, str, int]:
    """Run one target in a process of its own: executions, edges covered, and defects."""
    folder = FOLDER / name
    for part in ("corpus", "defects", "temporary"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--child", name, "--seconds", str(seconds)]
    done = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, errors="replace"
    )
    (folder / "log.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    executions = re.findall(r"number_of_executed_units: (\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+)", done.stderr)
    defects = len(list((folder / "defects").glob("*.input")))
    if done.returncode:  # it died, ran out of memory, or hung: libFuzzer has written the input
        print(f"{name}: exit code {done.returncode}, see {folder / 'log.txt'}", file=sys.stderr)
        defects += 1
    return name, (executions or ["-"])[-1], (coverage or ["-"])[-1], defects


def fuzz(name: str, seconds: int) -> int:
    """Fuzz one target in this process."""
    import atheris

    folder = FOLDER / name
    tempfile.tempdir = str(folder / "temporary")
    with atheris.instrument_imports(include=["linkwork"]):
        from tests.support.fuzz_targets import CORPUS, TARGETS

        target = TARGETS[name]
        for seed in target.seeds():
            (folder / "corpus" / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
            target.run(seed)  # here, for linkwork imports its modules when they are first used
    known: set[str] = set()

    def run(data: bytes) -> None:
        try:
            target.run(data)
        except Exception as error:  # noqa: BLE001 - every exception that arrives is a defect
            note_defect(folder / "defects", data, error, known)

    for file in list(
        (folder / "defects").glob("*.input")
    ):  # those of earlier runs, if they are left
        data = file.read_bytes()
        file.unlink()
        run(data)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        rng = Random(seed)
        if target.mutate is None or (target.bytewise and rng.random() < 0.4):
            return atheris.Mutate(data, largest)
        changed = target.mutate(data, rng)
        return changed if len(changed) <= largest else data

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    options = [
        f"-max_total_time={seconds}",
        f"-timeout={SLOWEST}",
        f"-max_len={LONGEST}",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        "-artifact_prefix=defects/died-",
    ]
    folders = [str(folder / "corpus"), *([str(CORPUS / name)] if (CORPUS / name).is_dir() else [])]
    setup: dict[str, Any] = {"custom_mutator": mutate}
    atheris.Setup([sys.argv[0], *options, *folders], run, **setup)
    atheris.Fuzz()
    return 0


def collect(name: str) -> None:
    """Copy the inputs that reach most lines of linkwork for their size; defects stay there."""
    from tests.support.fuzz_targets import CORPUS, TARGETS

    target, kept = TARGETS[name], CORPUS / name
    kept.mkdir(parents=True, exist_ok=True)
    files = [*(FOLDER / name / "corpus").glob("*"), *kept.glob("*")]
    inputs = {*target.seeds(), *(file.read_bytes() for file in files)}
    reached = {data: lines_reached(target.run, data) for data in inputs}
    covered: set[tuple[str, int]] = set()
    for file in kept.glob("*"):
        if file.name.startswith("defect-"):
            covered |= reached.pop(file.read_bytes(), set())
        else:
            file.unlink()
    size = 0
    while reached:
        best = max(reached, key=lambda data: len(reached[data] - covered) / (len(data) + 100))
        new = reached.pop(best) - covered
        if not new or size + len(best) > CORPUS_BYTES:
            break
        covered |= new
        size += len(best)
        (kept / hashlib.sha1(best).hexdigest()[:12]).write_bytes(best)
    print(f"{name:16}{len(list(kept.glob('*'))):>6} inputs{len(covered):>7} lines")


def lines_reached(run: Callable[[bytes], None], data: bytes) -> set[tuple[str, int]]:
    lines: set[tuple[str, int]] = set()

    def of_call(frame: FrameType, *_: Any) -> Any:
        file = frame.f_code.co_filename
        if "linkwork" not in file or "tests" in file:
            return None

        def of_line(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                lines.add((file, frame.f_lineno))
            return of_line

        return of_line

    sys.settrace(of_call)
    try:
        run(data)
    except Exception as error:  # noqa: BLE001 - a defect that is not mended yet
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.settrace(None)
    return lines


def note_defect(folder: Path, data: bytes, error: Exception, known: set[str]) -> None:
    """Write down the input and the traceback, once for each place that raises."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [f"{f.filename}:{f.lineno}" for f in frames if "linkwork" in f.filename][-1:]
    key = hashlib.sha1(f"{type(error).__name__} {inner}".encode()).hexdigest()[:12]
    if key not in known:
        known.add(key)
        (folder / f"{key}.input").write_bytes(data)
        text = "".join(traceback.format_exception(error))
        (folder / f"{key}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
