"""Pairs of frames whose collisions are ignored: `<CollisionSetup>` and `<ProximitySetup>`.

    <CollisionSetup file="a.xml"/>      <Exclude> with <FramePair first="" second=""/> in that file
    <ProximitySetup file="b.xml"/>      rules <Exclude PatternA="" PatternB=""/> and <Include .../>:
                                        patterns for names; the last rule that matches decides.
                                        UseIncludeAll="false" starts with no pairs

In a pattern, * stands for any letters and ? for one letter; a pattern that starts with REGEX is a
regular expression. In a device, names and patterns refer to its frames. Both elements may also
contain what their file would: so linkwork writes them. Frames that are fixed to each other are
never checked, whatever ExcludeStaticPairs states, and Volatile has no meaning here.
"""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from linkwork.errors import ParseError, SourceError, nearest, shown
from linkwork.io.xml.documents import parse_xml, read_source
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.files.elements import CellPart, Scope, full_name, lookup
from linkwork.workcell.files.shapes import CellMeshes

SETUPS = ("CollisionSetup", "ProximitySetup")
_RULES = ("Include", "Exclude")
_REGEX = "REGEX"  # start of a pattern that is a regular expression


def read_setup(part: CellPart, meshes: CellMeshes) -> CellPart | None:
    """Return the contents of a setup, from its file if it has one; None without that file."""
    name = part.attribute("file")
    if name is None:
        return part
    lookup = meshes.finder(part).find(name)
    if lookup.path is None:
        reason = "whose file does not exist in the allowed folders"
        part.report.ignore(part.element, f"<{part.tag}> {reason}")
        return None
    path = Path(lookup.path)
    try:
        document = parse_xml(read_source(path), any_end_tag=True)
    except SourceError as error:
        part.error(f"cannot read {shown(name)}: {error}")
        return None
    except ParseError as error:
        part.report.extend(error.findings)
        return None
    part.report.add_locations(str(path), document.lines)
    part.report.extend(document.findings)
    inner = CellPart(document.root, part.owner, part.report)
    if inner.tag != part.tag:
        inner.error(f"expected <{part.tag}> as the root, got <{inner.tag.lstrip(':')}>")
        return None
    return inner


def excluded_pairs(
    setups: Sequence[tuple[CellPart, Scope]], frames: Sequence[CellFrame]
) -> list[tuple[str, str]]:
    """Return the pairs of frames that setups exclude."""
    pairs: dict[tuple[str, str], None] = {}
    for setup, scope in setups:
        read = _listed if setup.tag == "CollisionSetup" else _by_rules
        pairs.update(dict.fromkeys(read(setup, scope, frames)))
    return list(pairs)


def _listed(
    setup: CellPart, scope: Scope, frames: Sequence[CellFrame]
) -> Iterator[tuple[str, str]]:
    names = {frame.name for frame in frames}
    for group in setup.parts():
        for part in group.parts() if group.tag == "Exclude" else ():
            ends: list[str] = []
            for attribute in ("first", "second"):
                if not (name := part.required_attribute(attribute)).strip():
                    continue
                full = lookup(name, scope, names)
                if full is None:
                    part.warning(f"no frame named {shown(name)}; {nearest(name, names)}")
                else:
                    ends.append(full)
            if len(ends) == 2:
                yield ends[0], ends[1]


def _by_rules(
    setup: CellPart, scope: Scope, frames: Sequence[CellFrame]
) -> Iterator[tuple[str, str]]:
    prefix = full_name("", scope)
    rules: list[tuple[str, re.Pattern[str], re.Pattern[str]]] = []
    for part in setup.parts():
        if part.tag in _RULES:
            patterns = [part.required_attribute(f"Pattern{side}") for side in "AB"]
            try:
                first, second = (_compiled(pattern, prefix) for pattern in patterns)
            except (re.error, OverflowError, RecursionError) as error:
                part.error(f"{' and '.join(map(shown, patterns))}: {error}")
                continue
            rules.append((part.tag, first, second))
    includes_all = (setup.attribute("UseIncludeAll") or "true").lower() != "false"
    with_shapes = [frame.name for frame in frames if frame.collisions]
    for a, b in combinations(with_shapes, 2):
        included = includes_all
        for kind, first, second in rules:
            if any(first.fullmatch(x) and second.fullmatch(y) for x, y in ((a, b), (b, a))):
                included = kind == "Include"
        if not included:
            yield a, b


def _compiled(pattern: str, prefix: str) -> re.Pattern[str]:
    """Convert a pattern to a regular expression for names that start with the device."""
    regex = pattern.removeprefix(_REGEX)
    if regex not in ("", pattern):
        re.compile(regex)  # so that an error has the position in the pattern
        return re.compile(f"{re.escape(prefix)}(?:{regex})")
    return re.compile(fnmatch.translate(glob.escape(prefix) + pattern.replace("[", "[[]")))
