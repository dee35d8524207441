"""Contacts of a MuJoCo model: which geoms may touch the ground, and with which parameters.

MuJoCo's rules, in the order in which they apply:

<pair>       overrides everything below for its two geoms
<exclude>    bodies that never touch each other
Bodies       that cannot move relative to each other never touch; nor do a body and its parent,
             unless the parent is fixed, or the flag filterparent is disabled
Bit masks    contype of one geom and conaffinity of the other have a common bit
Priority     the geom with the higher one determines condim, friction, solref and solimp. If they
             are equal: the larger condim and frictions, and means of solref and solimp weighted by
             solmix; the smaller solref if one of them is in direct form
Margin, gap  the sums of both
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.io.mjcf.package import (
    MjModel,
    Names,
    UniqueNames,
    is_disabled,
    name_in_enum,
    name_in_file,
    pose_of,
)
from linkwork.model.geometry import Box, Capsule, Cylinder, Sphere
from linkwork.model.pose import as_pose
from linkwork.simulation.mjcf.unsupported import Locations
from linkwork.simulation.scene import (
    ContactPair,
    Ellipsoid,
    FixedShape,
    Hull,
    MovingShape,
    Plane,
    Softness,
)
from linkwork.spatial.source import se3

SMALLEST_FRICTION = 1e-5
SMALLEST_MIX = 1e-15  # solmix below this counts as zero
FIXED = ("plane", "box")  # geoms of the world that links may touch
MOVING = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
_ORDER = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")


@dataclass(slots=True)
class ContactReader:
    """Reads the contacts of a compiled model.

    Args:
        mj: the model.
        names: names of its parts in linkwork.
        data: its `MjData` at qpos0, for the poses of geoms of the world.
        locations: lines of elements.
    """

    mj: MjModel
    names: Names
    data: Any
    locations: Locations
    ignored: list[str] = field(default_factory=list)  # texts about what is left out

    def read(self) -> Iterator[ContactPair]:
        """Yield the contacts of links with the world, by link; the others become texts."""
        if is_disabled(self.mj, "contact") or is_disabled(self.mj, "constraint"):
            return
        unique, between, kinds = UniqueNames(), dict[str, None](), dict[str, None]()
        found = {**dict(self._by_masks()), **dict(self._by_pairs())}
        for geoms, pair in sorted(found.items(), key=lambda one: self._links_first(one[0])):
            fixed, moving = sorted(geoms, key=self._moves)
            if self._moves(fixed):
                links = " and ".join(repr(self._link(geom)) for geom in sorted(geoms))
                between[f"contacts between links {links}"] = None
            elif self._kind(fixed) not in FIXED or self._kind(moving) not in MOVING:
                text = f"contact of {self._kind(moving)} {self._name(moving)!r}"
                kinds[f"{text} with {self._kind(fixed)} {self._name(fixed)!r}"] = None
            else:
                yield self._contact(fixed, moving, pair, unique)
        self.ignored += [*kinds, *between]

    def _links_first(self, geoms: tuple[int, int]) -> tuple[int, int, tuple[int, int]]:
        fixed, moving = sorted(geoms, key=self._moves)
        return int(self.mj.geom_bodyid[moving]), moving, (fixed, moving)

    def _moves(self, geom: int) -> bool:
        """Return whether the body of a geom moves; bodies with mocap do not."""
        weld = self.mj.body_weldid[self.mj.geom_bodyid[geom]]
        return bool(self.mj.body_dofnum[weld])

    def _kind(self, geom: int) -> str:
        return name_in_enum("mjtGeom", self.mj.geom_type[geom]).removeprefix("mjGEOM_").lower()

    def _link(self, geom: int) -> str:
        return self.names.bodies[int(self.mj.geom_bodyid[geom])]

    def _name(self, geom: int) -> str:
        """Return the name of a geom, or one from its body."""
        body = int(self.mj.geom_bodyid[geom])
        default = f"{self.names.bodies[body]}_geom{geom - self.mj.body_geomadr[body]}"
        return name_in_file(self.mj, "geom", geom) or default

    def _by_pairs(self) -> Iterator[tuple[tuple[int, int], int | None]]:
        for pair in range(self.mj.npair):
            first, second = int(self.mj.pair_geom1[pair]), int(self.mj.pair_geom2[pair])
            bodies = self.mj.geom_bodyid[[first, second]]
            welds = self.mj.body_weldid[bodies]
            if welds[0] != welds[1] and self.mj.body_dofnum[welds].any():
                yield self._key(first, second), pair

    def _by_masks(self) -> Iterator[tuple[tuple[int, int], int | None]]:
        mj = self.mj
        touching = [g for g in range(mj.ngeom) if mj.geom_contype[g] or mj.geom_conaffinity[g]]
        bodies = sorted({int(mj.geom_bodyid[geom]) for geom in touching})
        geoms = {body: [g for g in touching if mj.geom_bodyid[g] == body] for body in bodies}
        excluded = set(mj.exclude_signature.tolist())
        for second in bodies:
            for first in bodies[: bodies.index(second)]:
                if (first << 16) + second in excluded or not self._bodies_touch(first, second):
                    continue
                for a, b in product(geoms[first], geoms[second]):
                    masks = mj.geom_contype[a] & mj.geom_conaffinity[b]
                    if masks or mj.geom_contype[b] & mj.geom_conaffinity[a]:
                        yield self._key(a, b), None

    def _bodies_touch(self, first: int, second: int) -> bool:
        mj = self.mj
        a, b = int(mj.body_weldid[first]), int(mj.body_weldid[second])
        if a == b or not (mj.body_dofnum[a] or mj.body_dofnum[b]):
            return False
        if a == 0 or b == 0 or is_disabled(mj, "filterparent"):
            return True
        parents = mj.body_weldid[mj.body_parentid[[a, b]]].tolist()
        return a != parents[1] and b != parents[0]

    def _key(self, first: int, second: int) -> tuple[int, int]:
        """Return two geoms in MuJoCo's order: by type, and else as they are."""
        kinds = [_ORDER.index(self._kind(geom)) for geom in (first, second)]
        return (first, second) if kinds[0] <= kinds[1] else (second, first)

    def _contact(
        self, fixed: int, moving: int, pair: int | None, unique: UniqueNames
    ) -> ContactPair:
        mj = self.mj
        combined = self._combined(fixed, moving) if pair is None else self._of_pair(pair)
        world_R, world_p = self.data.geom_xmat[fixed].reshape(3, 3), self.data.geom_xpos[fixed]
        name = f"{self._name(moving)} {self._name(fixed)}"
        shape = self._shape(moving)
        kind, moving_kind = self._kind(fixed), self._kind(moving)
        return ContactPair(
            name=unique.unique(name),
            link=self._link(moving),
            shape=shape,
            link_H_shape=pose_of(mj.geom_pos[moving], mj.geom_quat[moving]),
            fixed=self._fixed_shape(fixed),
            world_H_fixed=as_pose(se3.pose(world_R, world_p)),
            moving_first=_ORDER.index(moving_kind) < _ORDER.index(kind),
            shape_name=self._name(moving),
            fixed_name=self._name(fixed),
            location=self.locations.of("geom", name_in_file(mj, "geom", moving), moving),
            **combined,
        )

    def _of_pair(self, pair: int) -> dict[str, Any]:
        mj = self.mj
        return _parameters(
            condim=int(mj.pair_dim[pair]),
            friction=mj.pair_friction[pair],
            softness=softness(mj.pair_solref[pair], mj.pair_solimp[pair]),
            solref_friction=tuple(mj.pair_solreffriction[pair].tolist()),
            margin=float(mj.pair_margin[pair]),
            gap=float(mj.pair_gap[pair]),
        )

    def _combined(self, first: int, second: int) -> dict[str, Any]:
        mj, both = self.mj, [first, second]
        margin, gap = float(mj.geom_margin[both].sum()), float(mj.geom_gap[both].sum())
        condims, frictions = mj.geom_condim[both], mj.geom_friction[both]
        solref, solimp = mj.geom_solref[both], mj.geom_solimp[both]
        priority = mj.geom_priority[both]
        weights = np.array(_mix(*mj.geom_solmix[both].tolist()))
        if priority[0] != priority[1]:
            chosen = int(priority.argmax())
            weights = np.eye(2)[chosen]
            condims, frictions = condims[[chosen]], frictions[[chosen]]
            solref = solref[[chosen, chosen]]
        standard = bool((solref[:, 0] > 0).all())
        mixed = weights @ solref if standard else solref.min(axis=0)
        slide, spin, roll = frictions.max(axis=0)
        return _parameters(
            condim=int(condims.max()),
            friction=np.array([slide, slide, spin, roll, roll]),
            softness=softness(mixed, weights @ solimp),
            margin=margin,
            gap=gap,
        )

    def _fixed_shape(self, geom: int) -> FixedShape:
        if self._kind(geom) == "plane":
            return Plane()
        x, y, z = (2 * self.mj.geom_size[geom]).tolist()
        return Box((x, y, z))

    def _shape(self, geom: int) -> MovingShape:
        x, y, z = self.mj.geom_size[geom].tolist()
        match self._kind(geom):
            case "sphere":
                return Sphere(x)
            case "capsule":
                return Capsule(x, 2 * y)
            case "cylinder":
                return Cylinder(x, 2 * y)
            case "box":
                return Box((2 * x, 2 * y, 2 * z))
            case "ellipsoid":
                return Ellipsoid((x, y, z))
            case _:
                return hull_of(self.mj, int(self.mj.geom_dataid[geom]))


def hull_of(mj: MjModel, mesh: int) -> Hull:
    """Return the convex hull of a mesh in the frame of its geom."""
    start = int(mj.mesh_vertadr[mesh])
    points = mj.mesh_vert[start : start + int(mj.mesh_vertnum[mesh])].astype(float)
    first, count = int(mj.mesh_polyadr[mesh]), int(mj.mesh_polynum[mesh])
    polygons = slice(first, first + count)
    spans = zip(mj.mesh_polyvertadr[polygons], mj.mesh_polyvertnum[polygons], strict=True)
    faces = [mj.mesh_polyvert[at : at + n] for at, n in spans]
    used = np.unique(np.concatenate(faces)) if faces else np.arange(len(points))
    return Hull(
        points=tuple(map(tuple, points[used].tolist())),
        faces=tuple(tuple(np.searchsorted(used, face).tolist()) for face in faces),
        normals=tuple(map(tuple, mj.mesh_polynormal[polygons].tolist())),
    )


def softness(solref: Array, solimp: Array) -> Softness:
    """Return the parameters of a soft constraint."""
    return Softness(tuple(solref.tolist()), tuple(solimp.tolist()))


def _parameters(*, condim: int, friction: Array, **others: Any) -> dict[str, Any]:
    numbers = np.maximum(friction, SMALLEST_FRICTION).tolist()
    return {"condim": condim, "friction": tuple(numbers), **others}


def _mix(first: float, second: float) -> tuple[float, float]:
    """Return the weights of two geoms by their solmix."""
    if first < SMALLEST_MIX and second < SMALLEST_MIX:
        return 0.5, 0.5
    if first < SMALLEST_MIX or second < SMALLEST_MIX:
        return float(first >= SMALLEST_MIX), float(second >= SMALLEST_MIX)
    return first / (first + second), second / (first + second)
