"""Fuzz targets: the readers of all external inputs, each with one input of bytes.

A target returns if the input is accepted or rejected with the error that its reader documents.
Anything else that it raises is a defect. What is accepted is used as well: it must survive being
written and read again, or be consistent.

Digests and checksums are computed by the targets, so that mutated inputs reach the code behind
them. Mutators change elements, JSON values or fields of tables, where changes of single bytes would
seldom get beyond the parser.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from lxml import etree

import linkwork as lw
from linkwork.engine.runtime.elf import ObjectError
from linkwork.engine.runtime.objects import LoadedObject
from linkwork.errors import LinkworkError, LinkworkWarning
from linkwork.io.mesh_files import read_ac3d
from linkwork.viewer.trajectories import read_trajectory

CORPUS = Path(__file__).parent.parent / "fuzz" / "corpus"

Mutator = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """A reader, inputs to start from, and how to change them.

    `bytewise` says whether single bytes may be changed too. Not where that could write programs:
    xacro evaluates Python.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    mutate: Mutator | None = None
    bytewise: bool = True
    weight: int = 1  # share of the time


# Descriptions in XML.


def run_urdf(data: bytes) -> None:
    if b"xacro" in data or b"mujoco" in data:  # which have targets of their own
        return
    model = _outcome(lambda: lw.load(data)) or _outcome(lambda: lw.load(data, repair=True))
    if model is not None:
        assert _outcome(lambda: lw.load(lw.dump_urdf(model))) == model


def run_workcell(data: bytes) -> None:
    cell = _outcome(lambda: lw.load_workcell(data))
    if cell is None:
        return
    text = _outcome(lambda: lw.dump_workcell(cell))  # names with line breaks are rejected
    if text is not None:
        assert _outcome(lambda: lw.load_workcell(text)) == cell


def run_mjcf(data: bytes) -> None:
    if b"xacro" in data:
        return
    for mimic in (False, True):
        _outcome(lambda m=mimic: lw.load(data, mimic=m))


def run_sdf(data: bytes) -> None:
    if b"xacro" in data or b"mujoco" in data:
        return
    for mimic in (False, True):
        model = _outcome(lambda m=mimic: lw.load(data, mimic=m))
        if model is not None and len(model.joints) < len(model.links) and not model.constraints:
            _outcome(lambda m=model: lw.dump_urdf(m.rerooted()))
    _outcome(lambda: lw.load_workcell(data))


def run_srdf(data: bytes) -> None:
    srdf = _outcome(lambda: lw.load_srdf(data, _arm()))
    if srdf is not None:
        names = [one.name for one in srdf.configurations]
        assert [one.name for one in srdf.added_to(_arm()).configurations] == names


@cache
def _arm() -> lw.Model:
    return lw.load("arm")


def run_usd(data: bytes) -> None:
    if data.startswith(b"#usda"):
        _outcome(lambda: lw.load(data))


def run_xacro(data: bytes) -> None:
    _outcome(lambda: lw.load(data, xacro_args={"a": "1"}))


def _outcome(action: Callable[[], Any]) -> Any:
    """The result; None if the input is rejected. Warnings of others than linkwork are defects."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinkworkWarning)
        try:
            return action()
        except LinkworkError:
            return None


# Machine code.


def run_object(data: bytes) -> None:
    """Loads an object file, with relocations; its code is never called."""
    with contextlib.suppress(ObjectError):
        LoadedObject(data)


# Files of numbers.


def run_trajectory_csv(data: bytes) -> None:
    _outcome(lambda: read_trajectory(_robot(), _file("q.csv", data)))


def run_trajectory_npy(data: bytes) -> None:
    _outcome(lambda: read_trajectory(_robot(), _file("q.npy", data)))


@cache
def _robot() -> lw.KinDyn:
    return lw.KinDyn(lw.robots.load("pendulum"))


@cache
def _folder() -> Path:
    return Path(_holder().name)


@cache
def _holder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="linkwork-fuzz-")


def _file(name: str, data: bytes) -> Path:
    path = _folder() / f"{os.getpid()}-{name}"
    path.write_bytes(data)
    return path


# Inputs to start from.


URDF = b"""<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><inertial><origin xyz="0 0 1" rpy="0 0 1"/><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><visual><origin xyz="1 0 0"/>
<geometry><box size="1 2 3"/></geometry><material name="red"/></visual><collision><geometry>
<mesh filename="package://p/a.stl" scale="1 1 1"/></geometry></collision></link>
<link name="a"><inertial><mass value="1"/><inertia ixx="9" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
</inertial></link><link name="b"/><link name="c"/><link name="d"/><link name="e" linkwork="frame"/>
<joint name="j1" type="revolute"><origin xyz="0 0 1" rpy="1 0 0"/><parent link="base"/>
<child link="a"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="3" velocity="4"/>
<dynamics damping="0.1" friction="0.2" armature="0.3"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 2"/>
<limit effort="1" velocity="1" lower="0" upper="1"/><mimic joint="j1" multiplier="2" offset="1"/>
<safety_controller k_velocity="1"/></joint>
<joint name="j3" type="floating"><parent link="b"/><child link="c"/></joint>
<joint name="j4" type="helical"><parent link="b"/><child link="d"/><axis xyz="1 0 0" pitch="0.1"/>
</joint><joint name="j5" type="fixed"><parent link="d"/><child link="e"/></joint>
<transmission name="t"/><gazebo reference="a"/></robot>"""

WORKCELL = b"""<WorkCell name="rich">
<Define id="look"><Drawable name="l"><RGB>1 0 0 0.5</RGB>
<Box x="1" y="2" z="3"/></Drawable></Define>
<Frame name="table" refframe="WORLD"><RPY>90 10 5</RPY><Pos>1 2 3</Pos><Use id="look"/>
<Property name="p" desc="d" type="double">1</Property></Frame>
<SerialDevice name="arm"><Frame name="Base"/>
<Joint name="J1" type="Revolute"><Transform>1 0 0 .1 0 1 0 .2 0 0 1 .3</Transform>
<PosLimit min="-90" max="90"/><VelLimit max="90"/><AccLimit max="90"/></Joint>
<DHJoint name="J2" alpha="90" a="0.1" d="0.2" offset="10" type="schilling"/>
<DHJoint name="J4" alpha="9" a="0.1" b="0.2" offset="10" type="HGP" state="Passive"/>
<Joint name="J5" type="Prismatic"><Depend on="J1" gain="2" offset="0.5"/></Joint>
<Joint name="J6" type="Spherical"/>
<Frame name="TCP" type="EndEffector"/><PosLimit refjoint="J2" min="0" max="1"/>
<Q name="Home">0.1 0.2 0.3 0.4 0.5</Q></SerialDevice>
<TreeDevice name="hand"><Frame name="palm"/><SerialChain name="a"><Joint name="f" type="Revolute"/>
</SerialChain><Joint name="g" refframe="palm" type="Universal"/></TreeDevice>
<MobileDevice name="cart" basename="Base"><AxelWidth>0.5</AxelWidth><LeftWheel name="L"/>
<RightWheel name="R"/><Frame name="Top" refframe="Base"/></MobileDevice>
<Frame name="box" refframe="cart.Top" type="Movable" daf="true"><Property name="linkwork.link">
<link name="box"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></Property>
<Property name="linkwork.home">0 0 1 1 0 0 0</Property>
<Property name="linkwork.parent">table</Property></Frame>
<Joint name="screw" refframe="table" type="linkwork"><Property name="linkwork.motion">
<motion kind="helical" axis="1 0 0" pitch="0.1"><limit lower="-1" upper="1"/></motion>
</Property></Joint>
<Robot name="bot" refframe="table"><Pos>0 0 1</Pos><robot name="bot"><link name="base"/>
<link name="tip"/><joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
<axis xyz="0 0 1"/></joint></robot><Q name="Home">0.5</Q></Robot>
<Device name="both" kind="joint" base="WORLD"><End name="bot.tip"/><Of name="bot.tip"/>
<Of name="arm.J1"/></Device>
<Drawable name="floor" refframe="WORLD"><Sphere radius="1"/><Polytope file="a.stl"/><Plane/>
</Drawable><Include file="other.xml"/><CollisionSetup file="x"/></WorkCell>"""

MJCF = b"""<mujoco model="m"><compiler angle="radian"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.1" armature="0.01"/></default><worldbody>
<body name="base" pos="0 0 1"><freejoint name="root"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="box" size="1 1 1" mass="2"/>
<site name="s" pos="0 0 1"/><camera name="c"/>
<body name="one"><joint name="j1" type="hinge" axis="0 1 0" range="-1 1" limited="true"/>
<joint name="j2" type="slide" axis="1 0 0" frictionloss="0.5" stiffness="3" ref="0.1"/>
<geom type="sphere" size="0.1" pos="0 0 1"/></body>
<body name="two" quat="1 0 0 1"><joint name="j3" type="ball"/><geom type="capsule" size="0.1 1"/>
</body></body></worldbody>
<equality><joint joint1="j1" joint2="j2" polycoef="0 2 0 0 0"/></equality>
<actuator><motor name="a" joint="j1" gear="2" ctrlrange="-1 1"/></actuator></mujoco>"""

SDF = b"""<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity>
<frame name="table"><pose degrees="true">1 0 0 0 0 90</pose></frame>
<model name="m" canonical_link="base" placement_frame="tip">
<pose relative_to="table">0 0 1 0 0 0</pose><static>0</static>
<link name="base"><inertial auto="true"><density>10</density></inertial><collision name="c">
<pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry></collision></link>
<link name="a"><pose relative_to="j1">1 0 0 0 0 1</pose><inertial><pose>0 0 1 0 0 1</pose>
<mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial><visual name="v">
<pose relative_to="base">0 0 0 1 0 0</pose><geometry><mesh><uri>model://p/a.stl</uri>
<scale>1 1 1</scale></mesh></geometry><material><diffuse>1 0 0 1</diffuse></material></visual>
</link>
<link name="r"/><joint name="j1" type="revolute"><pose relative_to="base">0 0 1 0 0 0</pose>
<parent>base</parent><child>a</child><axis><xyz expressed_in="__model__">0 0 1</xyz>
<limit><lower>-1</lower><upper>1</upper><effort>-1</effort></limit>
<dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="j3" type="revolute"><parent>base</parent><child>r</child><axis/></joint>
<model name="n"><link name="x"/><link name="y"/><joint name="g" type="screw"><parent>x</parent>
<child>y</child><screw_thread_pitch>1</screw_thread_pitch><axis><mimic joint="h"/></axis></joint>
<joint name="h" type="prismatic"><parent>world</parent><child>x</child><axis/></joint></model>
<joint name="j2" type="universal"><parent>a</parent><child>n::x</child><axis/>
<axis2><xyz>1 0 0</xyz></axis2></joint>
<joint name="k" type="gearbox"><parent>r</parent><child>a</child><axis/><axis2/>
<gearbox_ratio>2</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body></joint>
<frame name="tip" attached_to="n::y"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose></frame>
</model></world></sdf>"""

SRDF = b"""<robot name="arm"><group name="all"><chain base_link="base" tip_link="tool"/></group>
<group name="part"><link name="wrist"/><joint name="elbow_pitch"/><group name="all"/></group>
<group_state name="home" group="all"><joint name="elbow_pitch" value="0.5"/></group_state>
<group_state name="home" group="part"><joint name="elbow_pitch" value="1"/></group_state>
<end_effector name="hand" parent_link="wrist" group="part" parent_group="all"/>
<virtual_joint name="v" type="floating" parent_frame="world" child_link="base"/>
<passive_joint name="elbow_pitch"/><disable_default_collisions link="base"/>
<enable_collisions link1="base" link2="wrist"/><link_sphere_approximation link="wrist">
<sphere center="0 0 1" radius="0.1"/></link_sphere_approximation>
<disable_collisions link1="base" link2="wrist" reason="Never"/><gripper name="g"/></robot>"""

USD = b"""#usda 1.0
(
    metersPerUnit = 0.01
    kilogramsPerUnit = 2
    upAxis = "Y"
    defaultPrim = "r"
)
def PhysicsScene "scene"
{
    float physics:gravityMagnitude = 9.81
    vector3f physics:gravityDirection = (0, 0, -1)
}
def Xform "r" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 2
        float physics:density = 30
        point3f physics:centerOfMass = (0, 0, 1)
        float3 physics:diagonalInertia = (1, 2, 3)
        quatf physics:principalAxes = (1, 0, 0, 0)
        double3 xformOp:translate = (1, 2, 3)
        quatf xformOp:orient = (0.6, 0.8, 0, 0)
        double3 xformOp:scale = (2, 1, 1)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]
    }
    def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])
    {
        bool physics:kinematicEnabled = 0
        def Cylinder "c" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"])
        {
            double radius = 1
            double height = 2
            uniform token axis = "X"
            float physics:mass = 1
            color3f[] primvars:displayColor = [(1, 0, 0)]
        }
        def Mesh "m" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            int[] faceVertexCounts = [3, 3, 3, 3]
            int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        }
    }
    def PhysicsRevoluteJoint "j" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
    {
        rel physics:body0 = </r/a>
        rel physics:body1 = </r/b>
        point3f physics:localPos0 = (0, 0, 1)
        quatf physics:localRot0 = (1, 0, 0, 0)
        uniform token physics:axis = "Z"
        float physics:lowerLimit = -90
        float physics:upperLimit = inf
        float drive:angular:physics:stiffness = 3
        float physxJoint:armature = 0.1
    }
    def PhysicsJoint "k" (prepend apiSchemas = ["PhysicsLimitAPI:transX", "PhysicsLimitAPI:rotX"])
    {
        rel physics:body1 = </r/a>
        float limit:transX:physics:low = 1
        float limit:transX:physics:high = -1
        float limit:rotX:physics:low = 0
        bool physics:excludeFromArticulation = 1
    }
}
"""

XACRO = b"""<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="a" default="2"/><xacro:property name="x" value="${1 + 2}"/>
<xacro:macro name="leg" params="name *origin size:=1"><link name="${name}"/>
<joint name="j_${name}" type="fixed"><parent link="base"/><child link="${name}"/>
<xacro:insert_block name="origin"/></joint></xacro:macro>
<link name="base"/><xacro:leg name="one"><origin xyz="${x} 0 $(arg a)"/></xacro:leg>
<xacro:if value="${x > 2}"><xacro:leg name="two"><origin xyz="0 0 0"/></xacro:leg></xacro:if>
<xacro:include filename="missing.xacro"/></robot>"""


def object_seeds() -> list[bytes]:
    """Object files of this machine; others would be rejected immediately."""
    from linkwork.engine.runtime.compiler import compiled

    texts = (
        """define double @f(double %x) {
          %y = fadd double %x, 1.5
          ret double %y
        }""",
        """declare double @atan2(double, double)
        define double @f(double %x) {
          %a = call double @atan2(double %x, double 2.0)
          ret double %a
        }""",
        """@count = internal global double 2.0
        @space = internal global [99 x double] zeroinitializer, align 64
        define double @f(double %x) {
          %old = load double, ptr @count
          store double %x, ptr @space
          ret double %old
        }""",
    )
    return [compiled(text) for text in texts]


def npy_seeds() -> list[bytes]:
    seeds = []
    for shape, dtype in (((3, 8), float), ((2, 1), "f4"), ((2, 2), "i4")):
        file = io.BytesIO()
        np.save(file, np.ones(shape, dtype))
        seeds.append(file.getvalue())
    return seeds


def csv_seeds() -> list[bytes]:
    joint = next(joint.name for joint in _robot().model.joints if joint.nq)
    return [f"t,{joint}\n0,1\n1,2\n".encode(), b"# q\n0.5;1\n1.5;2\n", b"1\n2\n"]


# Mutators.


PLAIN_WORDS = """
0 1 -1 -0 1e-3 0.1 1e7 1e150 1e308 -1e308 1e999 5e-324 nan inf -inf 0x10 1_0 1,5 +1 . base link
joint revolute fixed prismatic continuous floating planar spherical universal helical xyz rpy name
type parent child mimic origin axis limit WORLD arm arm.J1 J1 box table Revolute Movable true HGP
linkwork linkwork.link look Frame Use Define Include SerialDevice ../../x.xml j1 j2 ball slide
999999999999 -2147483649
"""
ODD_WORDS = [*PLAIN_WORDS.split(), "", " ", "0 0 0", "1 2", "1e308 1e308 1e308", "\xe9", "\n"]
SRDF_WORDS = [*ODD_WORDS, "base", "wrist", "tool", "elbow_pitch", "all", "part", "home", "hand"]
PLAIN_XACRO_WORDS = """
${x} ${1/0} ${unknown} ${[1][5]} ${'a'*3} $$ ${ } ${pi} ${x $( ${radians(90)} *origin **o leg
xacro:leg size name base one 1 0 true x:=2 ^ ^|3 ${load_yaml('missing.yaml')} ${x.y}
${dict(a=1)['b']} ${''} x name:=^ a
"""
XACRO_WORDS = [*PLAIN_XACRO_WORDS.split(), "$(arg a)", "$(find none)", "$(eval 1 +)", "", " "]


USD_NUMBERS = b"0 -1 nan inf -inf 1e38 1e-38 1e308 360 0.5 -0".split()


def xml_mutator(words: Sequence[str]) -> Mutator:
    """Changes elements and attributes of an XML text; other texts stay as they are."""

    def mutate(data: bytes, rng: Random) -> bytes:
        try:
            root: Any = etree.fromstring(data)
        except etree.XMLSyntaxError:
            return data
        for _ in range(rng.randint(1, 4)):
            every = [element for element in root.iter() if isinstance(element.tag, str)]
            _change_element(rng.choice(every), rng.choice(every), rng, words)
        return etree.tostring(root)

    return mutate


def mutate_usda(data: bytes, rng: Random) -> bytes:
    """Exchange, repeat or remove lines of a USD text, or replace words and numbers in them."""
    head, *lines = data.split(b"\n")
    words = re.findall(rb"[-\w.:]+", data) or [b"def"]
    for _ in range(rng.randint(1, 4)):
        k = rng.randrange(max(len(lines), 1))
        line, other = lines[k : k + 1], rng.choice(lines or [b""])
        match rng.randrange(6):
            case 0:
                lines[k : k + 1] = []
            case 1:
                lines[k : k + 1] = [other]
            case 2:
                lines[k : k + 1] = [*line, other]
            case _:
                old = re.findall(rb"[-\w.:]+", b"".join(line))
                new = rng.choice((rng.choice(words), rng.choice(USD_NUMBERS)))
                if old:
                    lines[k] = lines[k].replace(rng.choice(old), new, 1)
    return b"\n".join([head, *lines])


def _change_element(element: Any, other: Any, rng: Random, words: Sequence[str]) -> None:
    names, word = list(element.attrib), rng.choice(words)
    match rng.randrange(9):
        case 0 if names:
            element.set(rng.choice(names), word)
        case 1 if names:
            name = rng.choice(names)
            parts = element.get(name, "").split() or [""]
            parts[rng.randrange(len(parts))] = word
            element.set(name, " ".join(parts))
        case 2 if names:
            element.attrib.pop(rng.choice(names))
        case 3 if other.attrib:
            name = rng.choice(list(other.attrib))
            element.set(name, other.get(name))
        case 4 if element.getparent() is not None:
            element.getparent().remove(element)
        case 5 if element.getparent() is not None:
            element.addnext(etree.fromstring(etree.tostring(element, with_tail=False)))
        case 6 if len(etree.tostring(element)) < 10_000:
            other.append(etree.fromstring(etree.tostring(element, with_tail=False)))
        case 7:
            element.tag = other.tag
        case _:
            element.text = word


def mutate_fields(data: bytes, rng: Random) -> bytes:
    """Set aligned integers of 2, 4 or 8 bytes, as the tables of object files have them."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        size = rng.choice((1, 2, 4, 8))
        point = rng.randrange(max(len(data) // size, 1)) * size
        old = int.from_bytes(changed[point : point + size], "little")
        new = rng.choice((0, 1, 2, 4, 8, old + 1, old - 1, old * 2, rng.getrandbits(8), 1 << 30))
        new = rng.choice((new, new, (1 << 8 * size) - 1, 1 << (8 * size - 1), rng.getrandbits(64)))
        changed[point : point + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(changed)


def run_ac3d(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        for vertices, faces, _ in read_ac3d(data):
            assert faces.shape[1:] == (3,)
            assert 0 <= faces.min() <= faces.max() < len(vertices)


AC3D = b"""AC3Db
MATERIAL "a" rgb 1 0 0 amb 0 0 0 emis 0 0 0 spec 0 0 0 shi 1 trans 0
OBJECT world
kids 1
OBJECT poly
loc 1 0 0
rot 0 -1 0 1 0 0 0 0 1
numvert 5
0 0 0
2 0 0
2 2 0
1 1 0
0 2 0
numsurf 1
SURF 0x10
mat 0
refs 5
0 0 0
1 0 0
2 0 0
3 0 0
4 0 0
kids 0
"""


TARGETS: dict[str, Target] = {
    "urdf": Target(run_urdf, lambda: [URDF], xml_mutator(ODD_WORDS), weight=3),
    "workcell": Target(run_workcell, lambda: [WORKCELL], xml_mutator(ODD_WORDS), weight=3),
    "mjcf": Target(run_mjcf, lambda: [MJCF], xml_mutator(ODD_WORDS)),
    "sdf": Target(run_sdf, lambda: [SDF], xml_mutator(ODD_WORDS), weight=3),
    "srdf": Target(run_srdf, lambda: [SRDF], xml_mutator(SRDF_WORDS)),
    "usd": Target(run_usd, lambda: [USD], mutate_usda),
    "xacro": Target(run_xacro, lambda: [XACRO], xml_mutator(XACRO_WORDS), bytewise=False),
    "object": Target(run_object, object_seeds, mutate_fields),
    "trajectory_csv": Target(run_trajectory_csv, csv_seeds),
    "trajectory_npy": Target(run_trajectory_npy, npy_seeds),
    "ac3d": Target(run_ac3d, lambda: [AC3D]),
}
