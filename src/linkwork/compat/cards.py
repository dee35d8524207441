"""Convention cards: how each library represents the quantities that all of them compute.

    print(card("pinocchio").quaternion)

`page` writes all of them as Markdown, which is docs/convention_cards.md. A card has only known
facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from linkwork.errors import name_not_found


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The conventions of one library, one sentence each; "none" where it has no such quantity."""

    name: str
    version: str  # of the library, and the source of the facts
    q: str
    quaternion: str
    base_velocity: str
    six_vectors: str
    jacobian: str
    acceleration: str
    joint_order: str
    continuous: str
    mimic: str
    fixed_joints: str
    gravity: str
    inertia: str
    wrench: str
    regressor: str
    to_linkwork: str


LABELS: Mapping[str, str] = MappingProxyType(
    {
        "version": "facts from",
        "q": "configuration",
        "quaternion": "quaternion",
        "base_velocity": "base velocity",
        "six_vectors": "6-vectors",
        "jacobian": "frame Jacobian",
        "acceleration": "acceleration",
        "joint_order": "joint order",
        "continuous": "continuous joints",
        "mimic": "mimic joints",
        "fixed_joints": "fixed joints",
        "gravity": "gravity",
        "inertia": "inertia of a link",
        "wrench": "external wrench",
        "regressor": "parameters",
        "to_linkwork": "to linkwork",
    }
)

LINKWORK = Card(
    name="linkwork",
    version="this version",
    q="[base position (3), base quaternion (4), s]; only s if the base is fixed",
    quaternion="w x y z",
    base_velocity="mixed (default), body or inertial, an option of KinDyn",
    six_vectors="[linear; angular]",
    jacobian="columns as nu; rows in the representation of the KinDyn, as the frame's velocity",
    acceleration="time derivative of the velocity in the same representation; without gravity",
    joint_order="order of the file, whatever the base",
    continuous="one angle without limits; kind revolute_cos_sin has (cos, sin)",
    mimic="no coordinates, exact in all algorithms; load(mimic=False) makes them free",
    fixed_joints="links and their frames stay; merged inside the algorithms only",
    gravity="acceleration of free fall in the world, (0, 0, -9.80665); an option of KinDyn",
    inertia="mass, CoM, and tensor about the CoM along the link's axes",
    wrench="on any frame by name, dual to the frame's velocity; positive on the robot",
    regressor="m, m c (3), Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the link's origin",
    to_linkwork="no conversion",
)

PINOCCHIO = Card(
    name="pinocchio",
    version="pin 4.1, most by tests",
    q="[base position (3), base quaternion (4), joints]; only joints without a free-flyer",
    quaternion="x y z w",
    base_velocity="body: axes of the base, at its origin",
    six_vectors="[linear; angular]",
    jacobian="rows LOCAL (body), WORLD (inertial) or LOCAL_WORLD_ALIGNED (mixed); columns always "
    "for the body base velocity",
    acceleration="a is the derivative of v. Frame accelerations are spatial: only in LOCAL and "
    "WORLD are they the derivative of the velocity. The derivative in mixed is "
    "getFrameClassicalAcceleration in LOCAL_WORLD_ALIGNED",
    joint_order="depth first, siblings in the alphabetical order of their joints",
    continuous="(cos, sin), two coordinates and one velocity",
    mimic="free joints by default; with mimic=True without coordinates, and without ABA",
    fixed_joints="merged: the inertia is added to the parent joint, link and joint stay as frames",
    gravity="model.gravity.linear = (0, 0, -9.81)",
    inertia="mass, lever (CoM), and tensor about the CoM along the axes of the joint",
    wrench="fext: one per joint, in the joint's frame at its origin; positive on the robot",
    regressor="m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the joint's origin",
    to_linkwork="Conventions(kd, pin_model) of linkwork.compat.pinocchio",
)

IDYNTREE = Card(
    name="idyntree",
    version="idyntree 15.1, most by tests",
    q="base pose as a 4 x 4 matrix, and s",
    quaternion="w x y z (Rotation.asQuaternion)",
    base_velocity="mixed (default), body or inertial, a mode of KinDynComputations",
    six_vectors="[linear; angular]",
    jacobian="6 + n columns; rows and base columns in the current representation",
    acceleration="time derivative of the velocity in the same representation; without gravity",
    joint_order="its own traversal of the model, or the list passed for a reduced model",
    continuous="one angle",
    mimic="ignored: the joints are free",
    fixed_joints="links and joints stay; a link without mass that is the root, or ends the tree on "
    "a fixed joint, becomes a frame",
    gravity="an argument of setRobotState: acceleration of free fall in the world (3)",
    inertia="SpatialInertia: mass, CoM, and tensor about the origin of the link",
    wrench="one per link, dual to the link's velocity; generalizedExternalForces is -sum J^T f",
    regressor="m, m c (3), Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the link's origin",
    to_linkwork="q = [H[:3, 3], quat.from_rotation(H[:3, :3]), s by names]; nu is the same",
)

ADAM = Card(
    name="adam",
    version="adam-robotics 0.5, from its sources",
    q="base pose as a 4 x 4 matrix, and s",
    quaternion="none in the algorithms; x y z w in its inverse kinematics",
    base_velocity="mixed (default), body or inertial, a mode of KinDynComputations",
    six_vectors="[linear; angular]",
    jacobian="6 + n columns; rows and base columns in the current representation",
    acceleration="time derivative of the velocity in the same representation; without gravity",
    joint_order="the list of names, if passed, else the order of the file",
    continuous="one angle",
    mimic="ignored: the joints are free",
    fixed_joints="both links stay; joints that are not listed are locked at 0",
    gravity="(0, 0, -9.80665), rounded to float32 (9.80665016) except in CasADi",
    inertia="as URDF: mass, origin of the inertial, tensor about the CoM",
    wrench="on frames by name, dual to the frame's velocity; positive on the robot",
    regressor="none",
    to_linkwork="q = [H[:3, 3], quat.from_rotation(H[:3, :3]), s by names]; nu is the same",
)

MUJOCO = Card(
    name="mujoco",
    version="mujoco 4.0, most by tests",
    q="[position (3), quaternion (4)] of a free joint, then the joints",
    quaternion="w x y z",
    base_velocity="linear in the axes of the world, angular in the axes of the body; at its origin",
    six_vectors="qvel of a free joint is [linear; angular]; cvel, cacc and mj_objectVelocity are "
    "[angular; linear]",
    jacobian="jacp and jacr separately, rows in the axes of the world (mixed); columns for qvel",
    acceleration="qacc is the derivative of qvel; cacc contains -gravity",
    joint_order="depth first, in the order of the file; a body may have several joints",
    continuous="one angle",
    mimic="joint equalities: constraints of the solver; both joints stay in qpos",
    fixed_joints="a body without joints; those of URDF files are merged by default",
    gravity="option.gravity = (0, 0, -9.81)",
    inertia="principal moments about the CoM, in the pose body_ipos, body_iquat. M has armature",
    wrench="xfrc_applied: [force; torque] at the CoM of a body, axes of the world",
    regressor="none",
    to_linkwork="Conventions of linkwork.compat.mujoco",
)

DRAKE = Card(
    name="drake",
    version="MultibodyPlant of 1.51",
    q="[quaternion (4), position (3)] of a floating body, then the joints",
    quaternion="w x y z",
    base_velocity="mixed, but angular first: axes of the world, at the origin of the body",
    six_vectors="[angular; linear]",
    jacobian="CalcJacobianSpatialVelocity: frame, point and axes are arguments; columns for v or "
    "q_dot",
    acceleration="vdot is the derivative of v; spatial accelerations have the classical one of a "
    "point; without gravity",
    joint_order="that of the plant: joint.position_start(), joint.velocity_start()",
    continuous="one angle without limits",
    mimic="a coupler constraint of the discrete solver; both joints stay in q",
    fixed_joints="weld joints; the bodies stay",
    gravity="gravity_field(): (0, 0, -9.81); CalcInverseDynamics does not include it, "
    "CalcGravityGeneralizedForces is -gravity_force",
    inertia="SpatialInertia: mass, CoM, and unit inertia about the origin of the body",
    wrench="ExternallyAppliedSpatialForce: [torque; force] at a point of the body, axes of the "
    "world",
    regressor="none",
    to_linkwork="mixed; q = [q[4:7], q[:4], joints by names], nu = [v[3:6], v[:3], joints by "
    "names]",
)

PINNZOO = Card(
    name="pinnzoo",
    version="from its sources",
    q="x = [q; v], q = [base position (3), base quaternion (4), joints]",
    quaternion="w x y z",
    base_velocity="body: axes of the base, at its origin",
    six_vectors="[linear; angular]",
    jacobian="kinematics_jacobian: derivative with respect to x, four columns for the quaternion",
    acceleration="v_dot is the derivative of v",
    joint_order="as Pinocchio; change_order to others",
    continuous="rejected",
    mimic="ignored: the joints are free",
    fixed_joints="merged, as Pinocchio",
    gravity="(0, 0, -9.81)",
    inertia="as Pinocchio",
    wrench="none; forces at points through the Jacobian",
    regressor="none",
    to_linkwork="linkwork.compat.pinnzoo: model.kd has q and nu = v of x, in the same order",
)

ROBWORK = Card(
    name="robwork",
    version="from its sources",
    q="Q: the joints of one device; poses of frames are in the State",
    quaternion="x y z w; RPY(a, b, c) = Rz(a) Ry(b) Rx(c), degrees in files",
    base_velocity="none",
    six_vectors="[linear; angular]",
    jacobian="baseJend: axes of the device's base, at the origin of the end frame",
    acceleration="none",
    joint_order="along the path from base to end, or as listed",
    continuous="one angle",
    mimic="DependentJoint: no coordinate in Q",
    fixed_joints="FixedFrame, a frame like others",
    gravity="none in kinematics",
    inertia="none in kinematics",
    wrench="none",
    regressor="none",
    to_linkwork="linkwork.compat.robwork for code, lw.load_workcell for files; s by names",
)

CARDS = (LINKWORK, PINOCCHIO, IDYNTREE, ADAM, MUJOCO, DRAKE, PINNZOO, ROBWORK)


def card(name: str) -> Card:
    """Return the card of a library.

    Raises:
        NameNotFoundError: there is no card with that name.
    """
    cards = {one.name: one for one in all_cards()}
    if name.lower() not in cards:
        raise name_not_found("convention card", name, cards)
    return cards[name.lower()]


def all_cards() -> tuple[Card, ...]:
    """Every card, linkwork's first."""
    return CARDS


def rows(one: Card) -> tuple[tuple[str, str], ...]:
    """Return (label, text) of each fact of a card."""
    names = [field.name for field in fields(one) if field.name != "name"]
    return tuple((LABELS[name], getattr(one, name)) for name in names)


HEAD = """# Convention cards

How linkwork and other libraries represent the quantities that all of them compute. `linkwork
conventions NAME` prints one card; `linkwork.compat.cards.card(name)` returns it as data. The
representations mixed, body and inertial are explained in
[Velocity representations](representations.md). Most facts about Pinocchio, iDynTree and MuJoCo
(orders, axes, signs, defaults) are compared with the packages by tests; the others are from their
documentation and sources.
"""


def page() -> str:
    """Return all cards as Markdown."""
    parts = [HEAD]
    for one in all_cards():
        lines = [f"| {label} | {text} |" for label, text in rows(one)]
        head = [f"## {one.name}", "", "| subject | convention |", "|---|---|"]
        parts.append("\n".join([*head, *lines, ""]))
    return "\n".join(parts)
