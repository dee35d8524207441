"""The tree that adam makes of a model: links are nodes, joints are arcs, frames are left out.

Order     depth first from the root; the arcs of a node in the order of the file, and the arc that
          leads against the file, if the root is not the file's, last
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from linkwork.compat.adam.parts import AdamJoint, AdamLink


@dataclass(eq=False)
class Node:
    """A link, the joints that lead away from the root, and the one that leads to it."""

    link: AdamLink
    arcs: list[AdamJoint] = field(default_factory=list[AdamJoint])
    children: list[Node] = field(default_factory=list["Node"], repr=False)
    parent: AdamLink | None = None
    parent_arc: AdamJoint | None = None

    @property
    def name(self) -> str:
        """Name of the link."""
        return self.link.name

    def get_elements(self) -> tuple[AdamLink, AdamJoint | None, AdamLink | None]:
        """The link, the joint that holds it, and its parent."""
        return self.link, self.parent_arc, self.parent


@dataclass(frozen=True)
class Tree:
    """Nodes by name, in the order of the file; iteration is depth first from the root."""

    graph: Mapping[str, Node]
    root: str
    ordered_nodes_list: tuple[str, ...]

    def get_ordered_nodes_list(self, start: str) -> list[str]:
        """Names of a link and of all beyond it, depth first."""
        return _depth_first(self.graph, start)

    def get_idx_from_name(self, name: str) -> int:
        """Index of a link in the order."""
        return self.ordered_nodes_list.index(name)

    def get_name_from_idx(self, idx: int) -> str:
        """Name of the link with an index."""
        return self.ordered_nodes_list[idx]

    def get_node_from_name(self, name: str) -> Node:
        """The node of a link."""
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
    """The tree of some links from a root, over the joints between them."""
    inner = [joint for joint in joints if joint.parent in links and joint.child in links]
    above = {joint.child: joint for joint in inner}
    against: list[AdamJoint] = []  # joints from the root back to the file's root
    while above.get(against[-1].child if against else root):
        against.append(above[against[-1].child if against else root].reversed())
    backwards = {joint.name for joint in against}
    graph = {name: Node(link) for name, link in links.items()}
    for joint in (*(joint for joint in inner if joint.name not in backwards), *against):
        near, beyond = graph[joint.parent], graph[joint.child]
        near.arcs.append(joint)
        near.children.append(beyond)
        beyond.parent, beyond.parent_arc = near.link, joint
    return Tree(graph, root, tuple(_depth_first(graph, root)))


def _depth_first(graph: Mapping[str, Node], start: str) -> list[str]:
    found: list[str] = []
    waiting = [graph[start]]
    while waiting:
        node = waiting.pop()
        found.append(node.name)
        waiting.extend(reversed(node.children))
    return found
