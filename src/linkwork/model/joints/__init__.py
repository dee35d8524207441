"""Kinds of joints by name. `kind` defines what a kind is and how to add one.

kind               theta                        nu
fixed              -                            -
revolute           angle [rad]                  angular speed
revolute_cos_sin   cos, sin of the angle        angular speed
prismatic          displacement [m]             speed
helical            angle [rad]                  angular speed; advances by `pitch` per radian
universal          angles about two axes        rates of the angles
planar             x, y in the plane, angle     vx, vy, w in the moving axes
spherical          unit quaternion wxyz         angular velocity in the moving axes
floating           x, y, z, quaternion wxyz     [linear; angular] in the moving axes
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from linkwork.model.joints.kind import Axis as Axis
from linkwork.model.joints.kind import JointKind as JointKind
from linkwork.model.joints.kind import plane_basis as plane_basis
from linkwork.model.joints.one_axis import Fixed, Helical, Prismatic, Revolute, RevoluteCosSin
from linkwork.model.joints.several_axes import Floating, Planar, Spherical, Universal

_ALL: dict[str, JointKind] = {
    kind.name: kind
    for kind in (
        Fixed(),
        Revolute(),
        RevoluteCosSin(),
        Prismatic(),
        Helical(),
        Universal(),
        Planar(),
        Spherical(),
        Floating(),
    )
}
KINDS: Mapping[str, JointKind] = MappingProxyType(_ALL)
