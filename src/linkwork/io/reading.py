"""What every reader of a file format returns."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.errors import Finding
from linkwork.model.model import Model


@dataclass(frozen=True, slots=True)
class Reading:
    """What came out of a file: a model unless there were errors, and all findings."""

    model: Model | None
    findings: tuple[Finding, ...]
