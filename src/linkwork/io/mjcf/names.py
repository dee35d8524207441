"""Unique names for all parts of a MuJoCo model.

Bodies      keep their names; an unnamed body is `body3`, by its id
Joints      keep their names; an unnamed one is `leg_joint`, or `leg_joint2` if there are several
Between     the massless link after joint `a` of the body `leg`, if more joints follow, is
            `leg_after_a`
Fixed       the fixed joint of a body without joints is `leg_fixed`
Sites       keep their names, unless a link has the same: then `foot_site`; an unnamed site is
            `leg_site0`

If such a name is in use, `_2` or the next free number is appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from linkwork.io.mjcf.package import MjModel, name_in_file


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the parts of a MuJoCo model in linkwork, by MuJoCo's ids."""

    model: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    sites: tuple[str, ...]
    between: Mapping[int, str]  # by joint: the massless link after it, if its body has more joints
    fixed: Mapping[int, str]  # by body without joints: its fixed joint


def names_of(mj: MjModel) -> Names:
    """Name all parts, deterministically."""
    links, joints = UniqueNames(), UniqueNames()
    bodies = links.keep_or_generate(
        _names_in_file(mj, "body", mj.nbody), lambda body: f"body{body}"
    )

    def name_of_joint(joint: int) -> str:
        body = int(mj.jnt_bodyid[joint])
        several = mj.body_jntnum[body] > 1
        return f"{bodies[body]}_joint{joint - mj.body_jntadr[body] + 1 if several else ''}"

    moving = joints.keep_or_generate(_names_in_file(mj, "joint", mj.njnt), name_of_joint)
    fixed = {
        body: joints.unique(fixed_joint_name(bodies[body]))
        for body in range(1, mj.nbody)
        if mj.body_jntnum[body] == 0
    }
    between = {
        joint: links.unique(f"{bodies[body]}_after_{moving[joint]}")
        for joint, body in enumerate(mj.jnt_bodyid.tolist())
        if joint + 1 < mj.body_jntadr[body] + mj.body_jntnum[body]
    }
    sites = _site_names(mj, bodies, links)
    return Names(_model_name(mj), bodies, moving, sites, between, fixed)


def fixed_joint_name(body: str) -> str:
    """Return the name of the fixed joint of a body without joints."""
    return f"{body}_fixed"


class UniqueNames:
    """Generates names that are not in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)

    def unique(self, preferred: str) -> str:
        """Return a name, with a number if it is in use, and add it to the names in use."""
        name, suffix = preferred, 2
        while name in self._used:
            name, suffix = f"{preferred}_{suffix}", suffix + 1
        self._used.add(name)
        return name

    def keep_or_generate(
        self, names: Sequence[str], default: Callable[[int], str]
    ) -> tuple[str, ...]:
        """Keep all names that are not empty, and generate the others by their index."""
        self._used.update(name for name in names if name)
        return tuple(name or self.unique(default(index)) for index, name in enumerate(names))

    def __contains__(self, name: str) -> bool:
        return name in self._used


def _names_in_file(mj: MjModel, kind: str, count: int) -> list[str]:
    return [name_in_file(mj, kind, index) for index in range(count)]


def _site_names(mj: MjModel, bodies: tuple[str, ...], links: UniqueNames) -> tuple[str, ...]:
    def distinct_from_links(name: str) -> str:
        return f"{name}_site" if name in links else name

    def default_name(site: int) -> str:
        body = int(mj.site_bodyid[site])
        earlier = mj.site_bodyid[:site] == body
        return f"{bodies[body]}_site{int(earlier.sum())}"

    names = _names_in_file(mj, "site", mj.nsite)
    named = {
        site: links.unique(distinct_from_links(name)) for site, name in enumerate(names) if name
    }
    return tuple(
        named[site] if site in named else links.unique(default_name(site))
        for site in range(mj.nsite)
    )


def _model_name(mj: MjModel) -> str:
    name = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return name if name.strip() else "robot"
