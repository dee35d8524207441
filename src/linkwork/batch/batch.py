"""A batch from its start, or from where it was stopped, to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from linkwork.batch import journal as journals
from linkwork.batch import store, work
from linkwork.batch.journal import Journal
from linkwork.batch.packages import package
from linkwork.batch.plan import Place, Plan
from linkwork.batch.work import Outcome
from linkwork.errors import LinkworkError, StateError, escaped

MOST_REFUSED = 100  # a run in which so many chunks are refused is stopped


class Runner(Protocol):
    """What runs a task for many chunks."""

    def places(self) -> set[Place]:
        """What computes there."""
        ...

    def run(
        self, task: Callable[..., Outcome], plan: Plan, chunks: Iterable[int]
    ) -> Iterator[Outcome]:
        """Do a task for each chunk; outcomes come in any order."""
        ...

    def memory(self) -> int:
        """Bytes of memory in use."""
        ...


@dataclass
class Report:
    """What a run did."""

    plan: Plan
    done: int = 0  # chunks that are done, those of earlier runs too
    computed: int = 0  # chunks of this run
    again: int = 0  # chunks that were done and whose files are not whole any more
    refused: list[Outcome] = field(default_factory=list[Outcome])
    verified: int = 0
    damaged: list[Outcome] = field(default_factory=list[Outcome])


Tell = Callable[[Report], None]


def run(
    plan: Plan, runner: Runner, report: Report, *, mixed: bool = False, tell: Tell | None = None
) -> None:
    """Compute all chunks that are not done yet.

    Args:
        plan: what to compute.
        runner: what computes it.
        report: what is done is counted there, also if the run is stopped by an exception.
        mixed: whether processors may differ, and with them the last bits of results.
        tell: called after each chunk.
    """
    package("zarr")
    known = _known(plan)
    place = _place(plan, runner, mixed)
    journal = _journal(plan, place, known, mixed)
    try:
        store.create(plan)
        store.remove_partial(plan)
        stamp = plan.states.stamp()
        if journal.head["stamp"] != stamp:
            _check_states(plan, runner, journal)
            journal.change_head(stamp=stamp)
        broken = [chunk for chunk in journal.done if not store.is_whole(plan, chunk)]
        if broken:
            journal.remove(broken)
            report.again = len(broken)
        report.done = len(journal.done)
        left = [chunk for chunk in range(plan.n_chunks) if chunk not in journal.done]
        for outcome in runner.run(work.compute, plan, left):
            if outcome.refused:
                report.refused.append(outcome)
                _check_refused(report)
            else:
                _check_processor(outcome, place, mixed)
                journal.add(outcome.chunk, outcome.digest)
                report.done += 1
                report.computed += 1
            if tell:
                tell(report)
    finally:
        journal.close()


def verify(
    plan: Plan, runner: Runner, report: Report, *, sample: int, tell: Tell | None = None
) -> None:
    """Compute some of the chunks that are done again, and compare them bit for bit.

    A chunk that differs does not count as done any more: the next run computes it.

    Args:
        plan: what was computed.
        runner: what computes it again; it must have the processor of the run.
        report: what is found is counted there.
        sample: how many chunks: the first, the last, and others chosen evenly.
        tell: called after each chunk.
    """
    known = _known(plan)
    if known is None:
        raise StateError(f"{escaped(str(plan.out))}: nothing was computed yet")
    place = _place(plan, runner, mixed=True)
    journal = _journal(plan, place, known, mixed=False)
    try:
        done = sorted(journal.done)
        chosen = np.unique(
            np.linspace(0, len(done) - 1, min(sample, len(done))).round().astype(int)
        )
        for outcome in runner.run(work.verify, plan, [done[k] for k in chosen]):
            report.verified += 1
            if outcome.refused:
                report.damaged.append(outcome)
                journal.remove([outcome.chunk])
            if tell:
                tell(report)
    finally:
        journal.close()


def journal_path(plan: Plan) -> Path:
    """Where the journal of a plan is: beside the results."""
    return plan.out.with_name(f"{plan.out.name}.journal")


def _known(plan: Plan) -> tuple[dict[str, Any], dict[int, str]] | None:
    """What an earlier run did; refuses to write into what no run or another one has made."""
    known, shown = journals.read(journal_path(plan)), escaped(str(plan.out))
    if known is None:
        if plan.out.exists():
            text = f"{shown} exists, and was not made by `linkwork batch`"
            raise StateError(f"{text}; give another --out, or remove it")
        return None
    if not _is_head(known[0]):
        text = f"{shown}.journal is damaged: its first line does not describe a run"
        raise StateError(f"{text}; give another --out, or remove it and the results")
    before, now = known[0]["facts"], plan.facts
    for name, value in now.items():
        if before.get(name) != value:
            text = f"{shown} was begun with {_told(name, before.get(name), value)}"
            raise StateError(f"{text}; give another --out, or remove it and its .journal")
    return known


def _is_head(head: dict[str, Any]) -> bool:
    """Whether the first line of a journal says what was computed, from what, and on what."""
    facts = head.get("facts")
    if not isinstance(facts, dict) or not isinstance(head.get("processor"), str):
        return False
    lists = (facts.get("robot"), facts.get("functions"))
    return "stamp" in head and all(
        isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)
        for texts in lists
    )


def _told(name: str, before: Any, now: Any) -> str:
    if name in ("linkwork", "sources"):
        own = f"linkwork {before}" if name == "linkwork" else "other sources of linkwork"
        return f"{own}, and this is {now if name == 'linkwork' else 'changed since'}"
    if name == "robot" and before[0] == now[0]:
        return f"another robot or other options than this {now[0]!r}"
    if name == "robot":
        return f"robot {before[0]!r}, not {now[0]!r}"
    if name == "states":
        return "other states"
    if name == "functions":
        return f"functions {', '.join(before)}, not {', '.join(now)}"
    return f"{name} {before}, not {now}"


def _place(plan: Plan, runner: Runner, mixed: bool) -> Place:
    """What the results are computed with: one version of linkwork, and one kind of processor."""
    places = sorted(runner.places(), key=str)
    for place in places:
        place.check(plan)
    names = [place.processor for place in places]
    if len(names) > 1 and not mixed:
        text = f"the workers have different processors ({'; '.join(names)})"
        raise LinkworkError(f"{text}, which round differently; --mixed-processors allows it")
    return places[0]


def _check_processor(outcome: Outcome, place: Place, mixed: bool) -> None:
    """A worker that came later may have another processor than those that were there."""
    if outcome.processor != place.processor and not mixed:
        text = f"a worker with another processor ({outcome.processor}) has joined"
        raise LinkworkError(f"{text}, which may round differently; --mixed-processors allows it")


def _journal(
    plan: Plan, place: Place, known: tuple[dict[str, Any], dict[int, str]] | None, mixed: bool
) -> Journal:
    with store.writing(plan.out.parent):
        plan.out.parent.mkdir(parents=True, exist_ok=True)
    # The file of the states may have been written to since: `run` looks at it first.
    stamp = plan.states.stamp() if known is None else known[0]["stamp"]
    head = {"facts": plan.facts, "stamp": stamp, "processor": place.processor}
    done = {} if known is None else known[1]
    if known is not None and known[0]["processor"] != place.processor and not mixed:
        text = f"{escaped(str(plan.out))} was begun on {known[0]['processor']}"
        text = f"{text}, and this is {place.processor}, which may round differently"
        raise LinkworkError(f"{text}; --mixed-processors goes on all the same")
    return Journal(journal_path(plan), head, done)


def _check_states(plan: Plan, runner: Runner, journal: Journal) -> None:
    """The file of the states was written to: chunks that are done must have had the same states."""
    for outcome in runner.run(work.states_digest, plan, list(journal.done)):
        if outcome.digest != journal.done[outcome.chunk]:
            start, stop = plan.span(outcome.chunk)
            text = f"{escaped(str(plan.out))}: rows {start:,} to {stop - 1:,} were computed from"
            raise StateError(f"{text} other states than there are now; give another --out")


def _check_refused(report: Report) -> None:
    if len(report.refused) >= MOST_REFUSED:
        text = f"{len(report.refused)} chunks were refused, so the run is stopped"
        raise LinkworkError(f"{text}\n{refusals(report.plan, report.refused)}")


def refusals(plan: Plan, outcomes: Sequence[Outcome], most: int = 5) -> str:
    """What was refused, a line for each chunk."""
    lines = [
        f"rows {plan.span(one.chunk)[0]:,} to {plan.span(one.chunk)[1] - 1:,}: {one.refused}"
        for one in outcomes[:most]
    ]
    more = [f"... and {len(outcomes) - most:,} more"] if len(outcomes) > most else []
    return "\n".join([*lines, *more])
