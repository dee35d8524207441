"""What a simulation needs besides the robot: ground, contacts, actuators, options. Frozen data.

A `Scene` belongs to one `Model` and one choice of its base. Whoever makes one may rely on this:

Names      links, joints and frames are those of the model. The model has no `mimic` and no
           `constraints` of its own: joints that depend on others are `Equality` rows here
Joints     positions are those of linkwork: theta = qpos - qpos0. Limits, spring references and the
           gains of actuators are written in theta; `references` has qpos0 where it is not 0
Flags      what a flag of MuJoCo disables (contact, limit, frictionloss, equality, spring, damper,
           gravity, actuation, clampctrl) is left out by the maker: no row, gain 0, no range
Soft rows  `Softness` has the numbers of the file. Limits of solref (refsafe), clamps of solimp,
           impratio and the sharing of R between the rows of a contact are applied by the solver
Contacts   combined already (priority, condim, friction, solmix, pairs). `margin` is the distance at
           which forces begin, so the position of a contact row is the distance minus the margin
Weights    `link_weights` and `joint_weights` are `body_invweight0` and `dof_invweight0`. If they
           are None, they are computed from the model at zero positions
Order      contacts, limits, friction and equalities are solved in the order of their tuples, which
           changes results by rounding only
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeAlias

from linkwork.errors import SourceLocation
from linkwork.model.geometry import Box, Capsule, Cylinder, Primitive, Sphere
from linkwork.model.numbers import Triple
from linkwork.model.pose import IDENTITY, Pose

Numbers: TypeAlias = tuple[float, ...]
Range: TypeAlias = tuple[float, float]
ANY: Range = (-inf, inf)
INITIAL = "initial"  # the keyframe of the positions in a file, MuJoCo's qpos0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How time is discretized, and properties of all contacts."""

    timestep: float = 0.002  # [s]
    gravity: Triple = (0.0, 0.0, -9.80665)  # [m/s^2]; the default of MJCF is -9.81
    integrator: Literal["Euler", "implicitfast"] = "Euler"
    cone: Literal["pyramidal", "elliptic"] = "pyramidal"
    impratio: float = 1.0
    eulerdamp: bool = True  # whether Euler treats damping of joints implicitly
    refsafe: bool = True  # whether a time constant of solref is at least two steps


@dataclass(frozen=True, slots=True)
class Softness:
    """Parameters of MuJoCo's soft constraints: solref and solimp."""

    solref: tuple[float, float] = (0.02, 1.0)  # time constant [s], damping ratio; or -k, -b
    solimp: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)


SOFT = Softness()


@dataclass(frozen=True, slots=True)
class Plane:
    """The half space below the x-y plane of its frame; z points out of the ground."""


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """An ellipsoid about its origin."""

    radii: Triple  # [m]


@dataclass(frozen=True, slots=True)
class Hull:
    """A convex polyhedron: its corners, and its faces with their normals."""

    points: tuple[Triple, ...]  # [m]
    faces: tuple[tuple[int, ...], ...] = ()  # the indices of their corners
    normals: tuple[Triple, ...] = ()  # of the faces, outward


MovingShape: TypeAlias = Sphere | Capsule | Box | Cylinder | Ellipsoid | Hull | Primitive
FixedShape: TypeAlias = Plane | Box


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactPair:
    """A shape of a link against a fixed shape of the world."""

    name: str  # unique, such as "FL floor"
    link: str
    shape: MovingShape
    link_H_shape: Pose = IDENTITY
    fixed: FixedShape = Plane()
    world_H_fixed: Pose = IDENTITY
    # MuJoCo's normal points from geom1 to geom2; a plane is always geom1
    moving_first: bool = False
    condim: Literal[1, 3, 4, 6] = 3
    friction: tuple[float, float, float, float, float] = (1.0, 1.0, 0.005, 0.0001, 0.0001)
    softness: Softness = SOFT
    solref_friction: tuple[float, float] = (0.0, 0.0)  # of friction rows; zeros: as the normal
    margin: float = 0.0  # [m]
    gap: float = 0.0  # [m] beyond the margin, in which a contact is reported without a force
    shape_name: str = ""  # of the geoms in the file
    fixed_name: str = ""
    location: SourceLocation | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLimit:
    """Limits of a joint with one coordinate, or of the angle of a ball joint (its upper bound)."""

    joint: str
    lower: float = -inf
    upper: float = inf
    margin: float = 0.0
    softness: Softness = SOFT


@dataclass(frozen=True, slots=True, kw_only=True)
class DryFriction:
    """Coulomb friction in each velocity coordinate of a joint."""

    joint: str
    loss: float  # [N m] or [N]
    softness: Softness = SOFT


@dataclass(frozen=True, slots=True, kw_only=True)
class Equality:
    """A soft equation between two links, a link and the world, or the positions of joints.

    "connect": the anchors coincide. "weld": the anchors are frames that coincide; the error of the
    rotation counts `torque_scale` times. "joint": theta_first + c = polynomial(theta_second + c'),
    with c, c' the references of the joints already folded into the coefficients.
    """

    name: str
    kind: Literal["connect", "weld", "joint"]
    first: str  # a link; of "joint" a joint
    second: str | None = None  # None: the world; of "joint": no other joint
    first_H_anchor: Pose = IDENTITY
    second_H_anchor: Pose = IDENTITY
    torque_scale: float = 1.0
    coefficients: Numbers = ()  # lowest power first: theta_first = c0 + c1 theta_second + ...
    softness: Softness = SOFT


@dataclass(frozen=True, slots=True, kw_only=True)
class JointForces:
    """Passive forces of a joint, its rotor, and the range of what actuators may exert on it."""

    joint: str
    stiffness: float = 0.0
    spring_reference: Numbers = (0.0,)  # theta; of a ball joint a quaternion wxyz
    damping: float = 0.0  # of each velocity coordinate
    armature: float = 0.0
    force_range: Range = ANY  # actuatorfrcrange
    gravity_by_actuators: bool = False  # actuatorgravcomp


@dataclass(frozen=True, slots=True, kw_only=True)
class ActuatorModel:
    """An actuator on a joint with one coordinate.

    With length l = gear * theta and its rate v, and with w = u, or the activation if there is one,

        force = clip((g0 + g1 l + g2 v) w + b0 + b1 l + b2 v, force_range)
    """

    name: str
    joint: str
    gear: float = 1.0
    gain: Triple = (1.0, 0.0, 0.0)
    bias: Triple = (0.0, 0.0, 0.0)
    dynamics: Literal["none", "integrator", "filter", "filterexact"] = "none"
    time_constant: float = 1.0  # of a filter [s]
    control_range: Range = ANY
    force_range: Range = ANY
    activation_range: Range = ANY
    early: bool = False  # whether the force uses the next activation (actearly)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor:
    """A sensor, with MuJoCo's name of its kind, such as "gyro" or "framepos"."""

    name: str
    kind: str
    object: str  # name of the site, link, joint or actuator
    object_kind: str = ""  # "site", "body", "xbody", "geom", "joint", "actuator"
    link: str = ""  # that the object is fixed to
    link_H_object: Pose = IDENTITY
    reference: str = ""  # another frame in which the result is expressed; empty: the world
    reference_link: str = ""
    link_H_reference: Pose = IDENTITY
    shape: MovingShape | None = None  # of the site, for "touch"
    size: int = 1
    cutoff: float = 0.0  # 0: none


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyframe:
    """A state with a name. Empty tuples: neutral q, zeros."""

    name: str
    q: Numbers = ()
    nu: Numbers = ()
    activation: Numbers = ()
    control: Numbers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that a simulation of a `Model` needs besides the model."""

    base: str | None = None  # as `KinDyn` takes them
    floating: bool = True
    options: Options = Options()
    contacts: tuple[ContactPair, ...] = ()
    limits: tuple[JointLimit, ...] = ()
    frictions: tuple[DryFriction, ...] = ()
    equalities: tuple[Equality, ...] = ()
    joints: tuple[JointForces, ...] = ()  # of joints that are not here, all is zero
    gravity_compensation: tuple[tuple[str, float], ...] = ()  # link, fraction of its weight
    actuators: tuple[ActuatorModel, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    keyframes: tuple[Keyframe, ...] = ()
    references: tuple[tuple[str, float], ...] = ()  # joint, qpos0
    ignored: tuple[str, ...] = ()  # what the file has and the simulation leaves out, one text each
    # link, (translation, rotation); joint, one number for each velocity coordinate; "" is the base
    link_weights: tuple[tuple[str, tuple[float, float]], ...] | None = None
    joint_weights: tuple[tuple[str, Numbers], ...] | None = None

    def joint_forces(self) -> Mapping[str, JointForces]:
        """The passive forces by joint."""
        return {one.joint: one for one in self.joints}
