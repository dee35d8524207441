"""Start or resume a batch, or verify its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linkwork.batch import chunks, import_zarr, store
from linkwork.batch import journal as journals
from linkwork.batch.chunks import Outcome, WorkerEnvironment
from linkwork.batch.journal import Journal
from linkwork.batch.plan import Plan
from linkwork.batch.runners import Runner
from linkwork.errors import LinkworkError, StateError, escaped

MOST_REJECTED = 100  # a run is stopped when this many of its chunks were rejected

Earlier: TypeAlias = tuple[dict[str, Any], dict[int, str]]
"""The first line of the journal of an earlier run, and the digests of its chunks."""


@dataclass
class Report:
    """Counts of a run."""

    plan: Plan
    done: int = 0  # chunks that are done, including those of earlier runs
    computed: int = 0  # chunks of this run
    again: int = 0  # chunks that were done, and whose files are missing or truncated
    rejected: list[Outcome] = field(default_factory=list[Outcome])
    verified: int = 0
    damaged: list[Outcome] = field(default_factory=list[Outcome])


OnChunk: TypeAlias = Callable[[Report], None]


def run(
    plan: Plan,
    runner: Runner,
    report: Report,
    *,
    mixed: bool = False,
    on_chunk: OnChunk | None = None,
) -> None:
    """Compute all chunks that are not done yet.

    Args:
        plan: what to compute.
        runner: computes the chunks.
        report: updated after each chunk, so it is also correct if the run ends with an exception.
        mixed: whether processors may differ, and with them the last bits of results.
        on_chunk: called after each chunk.
    """
    import_zarr()
    earlier = earlier_run(plan)
    environment = _environment(plan, runner, mixed)
    journal = _open_journal(plan, environment, earlier, mixed)
    try:
        store.create(plan)
        store.remove_partial(plan)
        stamp = plan.states.stamp()
        if journal.head["stamp"] != stamp:
            _check_states(plan, runner, journal)
            journal.change_head(stamp=stamp)
        broken = [chunk for chunk in journal.done if not store.is_complete(plan, chunk)]
        if broken:
            journal.remove(broken)
            report.again = len(broken)
        report.done = len(journal.done)
        remaining = [chunk for chunk in range(plan.n_chunks) if chunk not in journal.done]
        for outcome in runner.run(chunks.compute, plan, remaining):
            if outcome.error:
                report.rejected.append(outcome)
                _check_rejected(report)
            else:
                _check_processor(outcome, environment, mixed)
                journal.add(outcome.chunk, outcome.digest)
                report.done += 1
                report.computed += 1
            if on_chunk:
                on_chunk(report)
    finally:
        journal.close()


def verify(
    plan: Plan, runner: Runner, report: Report, *, sample: int, on_chunk: OnChunk | None = None
) -> None:
    """Compute some of the chunks that are done again, and compare them bit for bit.

    A chunk that differs no longer counts as done: the next run computes it.

    Args:
        plan: what was computed.
        runner: computes the chunks; it must have the same processor as the run.
        report: updated after each chunk.
        sample: number of chunks: the first, the last, and others at equal distances.
        on_chunk: called after each chunk.
    """
    earlier = earlier_run(plan)
    if earlier is None:
        raise StateError(f"{escaped(str(plan.out))}: there are no results to verify yet")
    journal = _open_journal(plan, _environment(plan, runner, mixed=True), earlier, mixed=False)
    try:
        done = sorted(journal.done)
        count = min(sample, len(done))
        chosen = np.unique(np.linspace(0, len(done) - 1, count).round().astype(int))
        for outcome in runner.run(chunks.verify, plan, [done[k] for k in chosen]):
            report.verified += 1
            if outcome.error:
                report.damaged.append(outcome)
                journal.remove([outcome.chunk])
            if on_chunk:
                on_chunk(report)
    finally:
        journal.close()


def journal_path(plan: Plan) -> Path:
    """Return the path of the journal of a plan, next to the results."""
    return plan.out.with_name(f"{plan.out.name}.journal")


def earlier_run(plan: Plan) -> Earlier | None:
    """Return the journal of an earlier run of the same plan, or None if there was none.

    Raises:
        StateError: there are files that do not belong to this plan.
    """
    earlier, out = journals.read(journal_path(plan)), escaped(str(plan.out))
    if earlier is None:
        if plan.out.exists():
            message = f"{out} exists, and was not created by `linkwork batch`"
            raise StateError(f"{message}; use another --out, or remove it")
        return None
    before = earlier[0]["facts"]
    for name, value in plan.facts.items():
        if before.get(name) != value:
            message = f"{out} was started with {_describe_change(name, before.get(name), value)}"
            raise StateError(f"{message}; use another --out, or remove it and its .journal")
    return earlier


def _describe_change(name: str, before: Any, now: Any) -> str:
    if name == "linkwork":
        return f"linkwork {before}, and this is {now}"
    if name == "robot" and before[0] == now[0]:
        return f"another robot or other options than this {now[0]!r}"
    if name == "robot":
        return f"robot {before[0]!r}, not {now[0]!r}"
    if name in ("sources", "states"):
        return "other states" if name == "states" else "other sources of linkwork"
    if name == "functions":
        return f"functions {', '.join(before)}, not {', '.join(now)}"
    return f"{name} {before}, not {now}"


def _environment(plan: Plan, runner: Runner, mixed: bool) -> WorkerEnvironment:
    """Return the environment of the results: one version of linkwork, and one processor type."""
    environments = sorted(runner.environments(), key=str)
    for environment in environments:
        environment.check(plan)
    names = [environment.processor for environment in environments]
    if len(names) > 1 and not mixed:
        message = f"the workers have different processors ({'; '.join(names)})"
        raise LinkworkError(f"{message}, which round differently; --mixed-processors allows it")
    return environments[0]


def _check_processor(outcome: Outcome, environment: WorkerEnvironment, mixed: bool) -> None:
    """Raise if a worker that joined later has another processor than those at the start."""
    if outcome.processor != environment.processor and not mixed:
        message = f"a worker with another processor ({outcome.processor}) has joined"
        raise LinkworkError(f"{message}, which may round differently; --mixed-processors allows it")


def _open_journal(
    plan: Plan, environment: WorkerEnvironment, earlier: Earlier | None, mixed: bool
) -> Journal:
    with store.writing(plan.out.parent):
        plan.out.parent.mkdir(parents=True, exist_ok=True)
    processor = environment.processor
    if earlier is None:
        head = {"facts": plan.facts, "stamp": plan.states.stamp(), "processor": processor}
        return Journal(journal_path(plan), head, {})
    head, done = earlier
    if head["processor"] != processor and not mixed:
        message = f"{escaped(str(plan.out))} was started on {head['processor']}, and this is"
        message = f"{message} {processor}, which may round differently"
        raise LinkworkError(f"{message}; --mixed-processors allows it")
    # The stamp stays that of the earlier run: `run` compares it with the file of the states.
    return Journal(journal_path(plan), {**head, "processor": processor}, done)


def _check_states(plan: Plan, runner: Runner, journal: Journal) -> None:
    """Raise if a chunk that is done was computed from other states than those in the file now."""
    for outcome in runner.run(chunks.states_digest, plan, list(journal.done)):
        if outcome.digest != journal.done[outcome.chunk]:
            start, stop = plan.span(outcome.chunk)
            message = f"{escaped(str(plan.out))}: rows {start:,} to {stop - 1:,} were computed from"
            raise StateError(f"{message} other states than there are now; use another --out")


def _check_rejected(report: Report) -> None:
    if len(report.rejected) >= MOST_REJECTED:
        message = f"{len(report.rejected)} chunks were rejected, so the run was stopped"
        raise LinkworkError(f"{message}\n{list_errors(report.plan, report.rejected)}")


def list_errors(plan: Plan, outcomes: Sequence[Outcome], most: int = 5) -> str:
    """List the errors of chunks, one line for each chunk."""
    lines = [
        f"rows {plan.span(one.chunk)[0]:,} to {plan.span(one.chunk)[1] - 1:,}: {one.error}"
        for one in outcomes[:most]
    ]
    more = [f"... and {len(outcomes) - most:,} more"] if len(outcomes) > most else []
    return "\n".join([*lines, *more])
