"""Random robots, random configurations, and a comparison relative to the largest entry.

`random_model` builds arbitrary trees: every kind of joint, joints that point against the
tree, two mounts each, axis-aligned and tilted, heavy and massless links, dependent joints and
chains of them, additional frames. `random_q` draws configurations of any robot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork import Inertia, Mimic, Model, ModelBuilder, Pose
from linkwork.model.joints import KINDS
from linkwork.model.layout import Layout

ALL_KINDS = tuple(KINDS)
MOVING_KINDS = tuple(kind for kind in ALL_KINDS if kind != "fixed")
SEVERAL_VELOCITIES = tuple(name for name, kind in KINDS.items() if kind.nv > 1)
ONE_VELOCITY_AT_MOST = tuple(name for name, kind in KINDS.items() if kind.nv <= 1)

BATCHES = [(), (1,), (7,), (3, 5), (0,)]


def random_model(
    rng: np.random.Generator,
    n_links: int,
    kinds: Sequence[str] = ALL_KINDS,
    *,
    mimic: bool = True,
    frames: bool = True,
    name: str = "random",
) -> Model:
    """A random robot that is never singular: all of its bodies have a mass.

    Links without mass hang on others by fixed joints; without `"fixed"` in `kinds` there are none.

    Args:
        rng: the random generator; the same state gives the same robot.
        n_links: number of links; with more than `len(kinds)` of them, every kind occurs.
        kinds: the kinds of joints to use.
        mimic: whether joints may depend on others, directly or by way of a third.
        frames: whether to add frames, about one to every two links, two at least.
        name: the name of the robot.
    """
    builder = ModelBuilder(name)
    names = [f"link{number}" for number in range(n_links)]
    # the link at index k of `order` is attached to one at a smaller index
    order = [names[index] for index in rng.permutation(n_links)]
    hosts = [order[int(rng.integers(index))] for index in range(1, n_links)]
    chosen = _shuffled_cycle(rng, kinds, n_links - 1)
    massless = {
        link
        for link, kind in zip(order[1:], chosen, strict=True)
        if kind == "fixed" and rng.random() < 0.5
    }
    for link in names:
        builder.add_link(link, inertia=Inertia() if link in massless else random_inertia(rng))
    mimics = _random_mimics(rng, chosen) if mimic else {}
    for number in rng.permutation(n_links - 1).tolist():  # the order in s has nothing to do with it
        ends = (hosts[number], order[number + 1])
        first, second = ends if rng.random() < 0.5 else ends[::-1]
        kind = chosen[number]
        builder.add_joint(
            f"joint{number}",
            kind,
            first,
            second,
            axis=random_axis(rng),
            pitch=float(rng.uniform(-0.5, 0.5)) if KINDS[kind].has_pitch else 0.0,
            first_H_joint=random_pose(rng),
            joint_H_second=random_pose(rng),
            mimic=mimics.get(number),
        )
    for number in range(max(2, n_links // 2) if frames else 0):
        builder.add_frame(f"frame{number}", str(rng.choice(names)), random_pose(rng))
    return builder.build()


def random_q(layout: Layout, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> np.ndarray:
    """(*batch, nq) random configurations: unit quaternions, (cos, sin) on the circle.

    A joint with one coordinate stays within its limits where both are finite; else it moves within
    one turn, or one meter, either way.
    """
    q = np.zeros((*batch, layout.nq))
    if layout.floating:
        q[..., layout.base_position] = rng.normal(size=(*batch, 3))
        q[..., layout.base_wxyz] = random_wxyz(rng, batch)
    for name in layout.joint_names:
        joint = layout.model.joint(name)
        limits = (joint.limits.lower, joint.limits.upper)
        q[..., layout.q[name]] = random_theta(joint.kind, rng, batch, limits)
    return q


def random_theta(
    kind: str,
    rng: np.random.Generator,
    batch: tuple[int, ...] = (),
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> np.ndarray:
    """(*batch, nq) random positions of one joint."""
    turn = np.pi if kind in ("revolute", "helical", "universal") else 1.0
    lower, upper = limits if np.isfinite(limits).all() else (-turn, turn)
    match kind:
        case "revolute_cos_sin":
            angle = rng.uniform(-np.pi, np.pi, size=batch)
            return np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        case "planar":
            return rng.uniform(-1, 1, size=(*batch, 3)) * [1.0, 1.0, np.pi]
        case "spherical":
            return random_wxyz(rng, batch)
        case "floating":
            return np.concatenate([rng.normal(size=(*batch, 3)), random_wxyz(rng, batch)], axis=-1)
        case _:
            return rng.uniform(lower, upper, size=(*batch, KINDS[kind].nq))


def random_wxyz(rng: np.random.Generator, batch: tuple[int, ...] = ()) -> np.ndarray:
    """(*batch, 4) unit quaternions, evenly spread."""
    wxyz = rng.normal(size=(*batch, 4))
    return wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True)


def random_axis(rng: np.random.Generator) -> tuple[float, ...]:
    """An axis: along x, y or z either way, or tilted."""
    if rng.random() < 0.5:
        return tuple((rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]).tolist())
    axis = rng.normal(size=3)
    return tuple((axis / np.linalg.norm(axis)).tolist())


def random_pose(rng: np.random.Generator) -> Pose:
    """A pose: the identity, shifted only, turned by right angles, or anything."""
    xyz = tuple(rng.normal(size=3).tolist())
    match int(rng.integers(5)):
        case 0:
            return Pose()
        case 1:
            return Pose(xyz=xyz)
        case 2:
            return Pose(xyz=xyz, rpy=tuple((rng.integers(-2, 3, size=3) * (np.pi / 2)).tolist()))
        case _:
            return Pose(xyz=xyz, rpy=tuple(rng.uniform(-np.pi, np.pi, size=3).tolist()))


def random_inertia(rng: np.random.Generator) -> Inertia:
    """The inertia of some body with volume, its mass off the origin, its axes tilted."""
    mass = float(rng.uniform(0.2, 3.0))
    spread = rng.normal(size=(3, 3)) * 0.3
    sigma = mass * (spread @ spread.T + 0.01 * np.eye(3))  # second moments of mass about the CoM
    tensor = np.trace(sigma) * np.eye(3) - sigma
    six = tensor[np.triu_indices(3)]
    return Inertia(mass, tuple((0.3 * rng.normal(size=3)).tolist()), tuple(six.tolist()))


def assert_close(
    actual: ArrayLike, expected: ArrayLike, rtol: float = 1e-12, *, scale: float | None = None
) -> None:
    """Equal in shape, and in value up to `rtol` times the largest entry of `expected`.

    `scale` takes the place of the largest entry where `expected` is zero or nearly so. What is not
    a number is close to nothing.
    """
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    largest = np.abs(expected).max(initial=0.0) if scale is None else scale
    error = np.abs(actual - expected).max(initial=0.0)
    assert error <= rtol * largest, f"error {error:.3e} > {rtol:.1e} * {largest:.3e}"


def _shuffled_cycle(rng: np.random.Generator, kinds: Sequence[str], count: int) -> list[str]:
    """`count` kinds in random order, each about as often as the others."""
    shuffled = [kinds[index] for index in rng.permutation(len(kinds))]
    cycle = [shuffled[index % len(shuffled)] for index in range(count)]
    return [cycle[index] for index in rng.permutation(count)]


def _random_mimics(rng: np.random.Generator, kinds: Sequence[str]) -> dict[int, Mimic]:
    """Some joints with one coordinate depend on one before them, which may depend on another."""
    able = [number for number, kind in enumerate(kinds) if KINDS[kind].nq == 1]
    able = [able[index] for index in rng.permutation(len(able))]
    return {
        number: Mimic(
            joint=f"joint{able[int(rng.integers(index))]}",
            multiplier=float(rng.uniform(-2, 2)),
            offset=float(rng.uniform(-1, 1)),
        )
        for index, number in enumerate(able)
        if index and rng.random() < 0.5
    }
