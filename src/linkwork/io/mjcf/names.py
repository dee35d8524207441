"""Names for the parts of a MuJoCo model, all of them, and no two alike where linkwork wants it so.

Bodies      keep their names; one without is `body3`, by its number
Joints      keep their names; one without is `leg_joint`, or `leg_joint2` if the body has several
Between     the link after joint `a` of the body `leg`, if more joints follow, is `leg_after_a`
Fixed       the joint that holds a body without joints is `leg_fixed`
Sites       keep their names, unless a link has it: then `foot_site`; one without is `leg_site0`

Where even such a name is taken, `_2` or the next free number is put behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from linkwork.io.mjcf.package import MjModel, given_name


@dataclass(frozen=True, slots=True)
class Names:
    """What the parts of a MuJoCo model are called in linkwork; numbers are MuJoCo's ids."""

    model: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    sites: tuple[str, ...]
    between: Mapping[int, str]  # by joint: the link after it, if its body has more joints
    fixed: Mapping[int, str]  # by body: the joint that holds it, where it has none of its own


def names_of(mj: MjModel) -> Names:
    """Name everything, the same way each time."""
    links, joints = _Free(), _Free()
    bodies = links.given_or(_given(mj, "body", mj.nbody), lambda body: f"body{body}")

    def name_of_joint(joint: int) -> str:
        body = int(mj.jnt_bodyid[joint])
        several = mj.body_jntnum[body] > 1
        return f"{bodies[body]}_joint{joint - mj.body_jntadr[body] + 1 if several else ''}"

    moving = joints.given_or(_given(mj, "joint", mj.njnt), name_of_joint)
    fixed = {
        body: joints.fresh(f"{bodies[body]}_fixed")
        for body in range(1, mj.nbody)
        if mj.body_jntnum[body] == 0
    }
    between = {
        joint: links.fresh(f"{bodies[body]}_after_{moving[joint]}")
        for joint, body in enumerate(mj.jnt_bodyid.tolist())
        if joint + 1 < mj.body_jntadr[body] + mj.body_jntnum[body]
    }
    sites = _site_names(mj, bodies, links)
    return Names(_model_name(mj), bodies, moving, sites, between, fixed)


class _Free:
    """Hands out names that nobody has."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name

    def given_or(self, given: Iterator[str], otherwise: Callable[[int], str]) -> tuple[str, ...]:
        """The names given, which come first, and others for the parts that have none."""
        names = list(given)
        self._taken.update(name for name in names if name)
        return tuple(name or self.fresh(otherwise(number)) for number, name in enumerate(names))

    def __contains__(self, name: str) -> bool:
        return name in self._taken


def _given(mj: MjModel, kind: str, count: int) -> Iterator[str]:
    return (given_name(mj, kind, number) for number in range(count))


def _site_names(mj: MjModel, bodies: tuple[str, ...], links: _Free) -> tuple[str, ...]:
    def or_its_site(name: str) -> str:
        return f"{name}_site" if name in links else name

    def by_number(site: int) -> str:
        body = int(mj.site_bodyid[site])
        earlier = mj.site_bodyid[:site] == body
        return f"{bodies[body]}_site{int(earlier.sum())}"

    given = [given_name(mj, "site", site) for site in range(mj.nsite)]
    named = {site: links.fresh(or_its_site(name)) for site, name in enumerate(given) if name}
    return tuple(
        named[site] if site in named else links.fresh(by_number(site)) for site in range(mj.nsite)
    )


def _model_name(mj: MjModel) -> str:
    name = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return name if name.strip() else "robot"
