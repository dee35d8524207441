"""Links and joints with adam's attributes, and the tree they form.

Inertia   along the axes of the link, about its center of mass: the rotation of `<inertial>` is
          applied to the tensor, so that `inertial.origin.rpy` is 0
Joints    `homogeneous(q)` is the pose of the child in the parent, `spatial_transform(q)` transforms
          velocities from the axes of the parent to those of the child, `motion_subspace()` (6, 1)
          is in the axes of the child
Tree      links are nodes, joints are arcs, frames are omitted; depth first from the root. The arcs
          of a node are in the order of the file; an arc that is reversed because of another root
          is the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam.core import NumpyLike
from linkwork.model.inertia import Inertia
from linkwork.model.joints import KINDS
from linkwork.model.joints.motion import child_H_parent, motion_subspace, neutral_transform
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.source import inertia as spatial_inertia
from linkwork.spatial.source import motion


@dataclass(frozen=True, slots=True)
class AdamPose:
    """Position [m], and roll, pitch and yaw [rad]."""

    pose: Pose

    @staticmethod
    def build(xyz: ArrayLike, rpy: ArrayLike, math: Any = None) -> AdamPose:
        """Build a pose; `math` is not used."""
        del math
        x, y, z, roll, pitch, yaw = np.array([*np.ravel(xyz), *np.ravel(rpy)], float).tolist()
        return AdamPose(Pose((x, y, z), (roll, pitch, yaw)))

    def get_xyz(self) -> NumpyLike:
        """(3,) position [m]."""
        return NumpyLike(self.pose.xyz)

    def get_rpy(self) -> NumpyLike:
        """(3,) roll, pitch and yaw [rad]."""
        return NumpyLike(self.pose.rpy)

    xyz, rpy = property(get_xyz), property(get_rpy)


@dataclass(frozen=True, slots=True)
class AdamInertia:
    """Inertia tensor about the center of mass, along the axes of the link [kg m^2]."""

    ixx: float
    ixy: float
    ixz: float
    iyy: float
    iyz: float
    izz: float

    def get_matrix(self) -> NumpyLike:
        """(3, 3) inertia tensor."""
        return NumpyLike(Inertia(tensor=astuple(self)).matrix())

    matrix = property(get_matrix)


@dataclass(frozen=True, slots=True)
class AdamInertial:
    """Mass [kg], tensor, and position of the center of mass on the link."""

    mass: NumpyLike
    inertia: AdamInertia
    origin: AdamPose


@dataclass(frozen=True, slots=True)
class AdamLink:
    """A link or a frame."""

    part: Link

    name = property(attrgetter("part.name"), doc="Name of the link.")
    visuals = property(attrgetter("part.visuals"), doc="Shapes for drawing.")
    collisions = property(attrgetter("part.collisions"), doc="Shapes for collision detection.")

    @property
    def inertial(self) -> AdamInertial:
        """Mass, tensor and center of mass."""
        inertia = self.part.inertia
        origin = AdamPose(replace(IDENTITY, xyz=inertia.com))
        return AdamInertial(NumpyLike(inertia.mass), AdamInertia(*inertia.tensor), origin)

    def spatial_inertia(self) -> NumpyLike:
        """(6, 6) inertia about the origin of the link, rows and columns [linear; angular]."""
        return NumpyLike(spatial_inertia.matrix(self.part.inertia.parameters()))

    def homogeneous(self) -> NumpyLike:
        """(4, 4) pose of the center of mass, along the axes of the link."""
        return NumpyLike(self.inertial.origin.pose.matrix())


@dataclass(frozen=True, slots=True)
class AdamLimits:
    """Limits of a joint as in the file, whatever its type."""

    lower: float  # [rad] or [m]
    upper: float
    effort: float  # [N m] or [N]
    velocity: float  # [rad/s] or [m/s]


@dataclass(frozen=True, slots=True)
class AdamJoint:
    """A joint from its parent to its child; in a tree with another root it may be reversed."""

    part: Joint
    parent: str
    child: str
    type: str  # revolute, continuous, prismatic or fixed, or a kind of linkwork
    limit: AdamLimits
    idx: int | None  # index in the joint vector; None if the joint does not move

    name = property(attrgetter("part.name"), doc="Name of the joint.")

    @property
    def axis(self) -> NumpyLike | None:
        """(3,) unit vector in the joint frame; None for a fixed joint."""
        return None if self.part.kind == "fixed" else NumpyLike(self.part.axis)

    @property
    def origin(self) -> AdamPose:
        """Pose of the joint on its parent in the file."""
        return AdamPose(self.part.first_H_joint)

    def reversed(self) -> AdamJoint:
        """Return the joint from its child to its parent."""
        return replace(self, parent=self.child, child=self.parent)

    def homogeneous(self, q: ArrayLike) -> NumpyLike:
        """(..., 4, 4) pose of the child in the parent at positions q (...)."""
        theta, nq = np.asarray(q, dtype=float), KINDS[self.part.kind].nq
        if nq > 1:  # not supported by adam: locked
            neutral = neutral_transform(self.part, child=self.parent)
            return NumpyLike(np.broadcast_to(neutral, (*theta.shape, 4, 4)))
        theta = np.broadcast_to(theta[..., None], (*theta.shape, nq))
        return NumpyLike(child_H_parent(self.part, theta, child=self.parent))

    def spatial_transform(self, q: ArrayLike) -> NumpyLike:
        """(..., 6, 6) transform of velocities from the axes of the parent to those of the child."""
        return NumpyLike(motion.motion_transform(self.reversed().homogeneous(q).array))

    def motion_subspace(self) -> NumpyLike:
        """(6, 1) velocity of the child, in its axes, for one unit of joint velocity."""
        if KINDS[self.part.kind].nv != 1:
            return NumpyLike(np.zeros((6, 1)))
        return NumpyLike(motion_subspace(self.part, [0.0], child=self.child))


@dataclass(eq=False)
class Node:
    """A link, the joints to its children, and the joint to its parent."""

    link: AdamLink
    arcs: list[AdamJoint] = field(default_factory=list[AdamJoint])
    children: list[Node] = field(default_factory=list["Node"], repr=False)
    parent: AdamLink | None = None
    parent_arc: AdamJoint | None = None

    name = property(attrgetter("link.name"), doc="Name of the link.")

    def get_elements(self) -> tuple[AdamLink, AdamJoint | None, AdamLink | None]:
        """Return the link, the joint to its parent, and the parent."""
        return self.link, self.parent_arc, self.parent


@dataclass(frozen=True)
class Tree:
    """Nodes by name, in the order of the file; iteration is depth first from the root."""

    graph: Mapping[str, Node]
    root: str
    ordered_nodes_list: tuple[str, ...]

    def get_ordered_nodes_list(self, start: str) -> list[str]:
        """Return the names of a link and of all below it, depth first."""
        return _depth_first(self.graph, start)

    def get_idx_from_name(self, name: str) -> int:
        """Return the index of a link in the order."""
        return self.ordered_nodes_list.index(name)

    def get_name_from_idx(self, idx: int) -> str:
        """Return the name of the link with an index."""
        return self.ordered_nodes_list[idx]

    def get_node_from_name(self, name: str) -> Node:
        """Return the node of a link."""
        return self.graph[name]

    def __iter__(self) -> Iterator[Node]:
        return (self.graph[name] for name in self.ordered_nodes_list)

    def __reversed__(self) -> Iterator[Node]:
        return (self.graph[name] for name in reversed(self.ordered_nodes_list))

    def __getitem__(self, key: int) -> Node:
        return self.graph[self.ordered_nodes_list[key]]

    def __len__(self) -> int:
        return len(self.ordered_nodes_list)


def tree_of(links: Mapping[str, AdamLink], joints: Iterable[AdamJoint], root: str) -> Tree:
    """Build the tree of some links from a root, over the joints between them."""
    inner = [joint for joint in joints if joint.parent in links and joint.child in links]
    above = {joint.child: joint for joint in inner}
    backwards: dict[str, AdamJoint] = {}  # joints from the root to the root of the file
    link = root
    while link in above:
        joint = above[link].reversed()
        backwards[joint.name] = joint
        link = joint.child
    graph = {name: Node(link) for name, link in links.items()}
    outwards = [joint for joint in inner if joint.name not in backwards]
    for joint in (*outwards, *backwards.values()):
        parent, child = graph[joint.parent], graph[joint.child]
        parent.arcs.append(joint)
        parent.children.append(child)
        child.parent, child.parent_arc = parent.link, joint
    return Tree(graph, root, tuple(_depth_first(graph, root)))


def _depth_first(graph: Mapping[str, Node], start: str) -> list[str]:
    names: list[str] = []
    stack = [graph[start]]
    while stack:
        node = stack.pop()
        names.append(node.name)
        stack.extend(reversed(node.children))
    return names
