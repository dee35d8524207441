"""Workcells of RobWork's examples and tests, rewritten as XML."""

from __future__ import annotations

from math import degrees, pi

# The cell of RobWork's printed tree: a bench with walls, an arm of seven joints, and an item.
SNIPPETS = """<WorkCell name="workcell.wu">
<Frame name="Pos-0" refframe="WORLD"><Pos>0 0 0.25</Pos></Frame>
<Frame name="Wall-1" refframe="Pos-0"><Pos>0.5 0.5 0</Pos></Frame>
<Frame name="Wall-2" refframe="Pos-0"><RPY>90 0 0</RPY><Pos>-0.5 0.5 0</Pos></Frame>
<Frame name="Cylinder-1" refframe="WORLD"><Pos>-0.6 -0.1 0.5</Pos></Frame>
<Frame name="Floor" refframe="WORLD"><Pos>0 0 -0.0125</Pos></Frame>
<Frame name="Device" refframe="WORLD"/>
{joints}<Frame name="Device.TCP" refframe="Device.J6"/>
<Frame name="Item" refframe="WORLD" type="Movable" daf="true"><Pos>0 0.5 0.5125</Pos></Frame>
<Device name="Device" kind="serial" base="Device"><End name="Device.TCP"/></Device>
</WorkCell>"""
SNIPPETS_HOME = (0.98, 1.503, -1.521, -0.76, -0.237, -0.895, 0.0)
# (pitch in degrees, position, height of the middle of its cylinder) of each joint
_JOINTS = (
    (0, "0 0 0", 0.05),
    (-90, "0 0 0.1", 0),
    (90, "0.5 0 0", -0.25),
    (-90, "0 0 0", 0),
    (90, "0.5 0 0", -0.25),
    (-90, "0 0 0", 0),
    (90, "0.1 0 0", -0.05),
)


def snippets_cell() -> str:
    """The XML of the cell, each joint before the frame of its geometry, as RobWork prints them."""
    lines: list[str] = []
    for k, (pitch, position, middle) in enumerate(_JOINTS):
        on = f"Device.J{k - 1}" if k else "Device"
        pose = f"<RPY>0 {pitch} 0</RPY><Pos>{position}</Pos>"
        home = f'<Property name="linkwork.home">{SNIPPETS_HOME[k]}</Property>'
        lines.append(
            f'<Joint name="Device.J{k}" refframe="{on}" type="Revolute">{pose}{home}</Joint>\n'
            f'<Frame name="Device.J{k}Geo" refframe="Device.J{k}"><Pos>0 0 {middle}</Pos></Frame>\n'
        )
    return SNIPPETS.format(joints="".join(lines))


# What RobWork prints of it, with vectors as its current versions print them.
PRINTED_TREE = """WorkCell[workcell.wu]
WORLD at Vector3D(0, 0, 0)
 Pos-0 at Vector3D(0, 0, 0.25)
  Wall-1 at Vector3D(0.5, 0.5, 0.25)
  Wall-2 at Vector3D(-0.5, 0.5, 0.25)
 Cylinder-1 at Vector3D(-0.6, -0.1, 0.5)
 Floor at Vector3D(0, 0, -0.0125)
 Device at Vector3D(0, 0, 0)
  Device.J0 at Vector3D(0, 0, 0)
   Device.J0Geo at Vector3D(0, 0, 0.05)
   Device.J1 at Vector3D(0, 0, 0.1)
    Device.J1Geo at Vector3D(0, 0, 0.1)
    Device.J2 at Vector3D(-0.414295, 0.277871, 0.133872)
     Device.J2Geo at Vector3D(-0.207147, 0.138936, 0.116936)
     Device.J3 at Vector3D(-0.414295, 0.277871, 0.133872)
      Device.J3Geo at Vector3D(-0.414295, 0.277871, 0.133872)
      Device.J4 at Vector3D(-0.90526, 0.192917, 0.17553)
       Device.J4Geo at Vector3D(-0.659778, 0.235394, 0.154701)
       Device.J5 at Vector3D(-0.90526, 0.192917, 0.17553)
        Device.J5Geo at Vector3D(-0.90526, 0.192917, 0.17553)
        Device.J6 at Vector3D(-0.955356, 0.107485, 0.161679)
         Device.J6Geo at Vector3D(-0.930308, 0.150201, 0.168605)
         Device.TCP at Vector3D(-0.955356, 0.107485, 0.161679)
 Item at Vector3D(0, 0.5, 0.5125)
"""


def dh_device(name: str, parameters: list[tuple[float, float, float]], tool: str = "") -> str:
    """A serial device of revolute joints by (alpha, a, d) of Craig's convention, and a tool."""
    joints = "".join(
        f'<DHJoint name="Joint{k + 1}" alpha="{degrees(alpha)}" a="{a}" d="{d}" offset="0"/>'
        for k, (alpha, a, d) in enumerate(parameters)
    )
    end = f'<Frame name="Tool">{tool}</Frame>'
    return f'<SerialDevice name="{name}"><Frame name="Base"/>{joints}{end}</SerialDevice>'


PUMA_SIZES = (0.4318, -1.15005, 0.0203, -0.4318)  # a2, d3, a3, d4 [m]


def puma_560() -> str:
    """The PUMA 560 of Craig's book, as a workcell."""
    a2, d3, a3, d4 = PUMA_SIZES
    turn = pi / 2
    rows = [(0, 0, 0), (-turn, 0, 0), (0, a2, d3), (-turn, a3, d4), (turn, 0, 0), (-turn, 0, 0)]
    return dh_device("PUMA560", rows)


def kr16() -> str:
    """A KUKA KR16 with a tool, on an inverted base."""
    turn, s = pi / 2, 0.5**0.5
    rows = [
        *[(0, 0, 0), (turn, 0.26, 0), (0, 0.68, 0)],
        *[(turn, -0.035, -0.67), (-turn, 0, 0), (turn, 0, 0)],
    ]
    tool = f"<Transform>0 {-s} {-s} -0.141 -1 0 0 0 0 {s} {-s} -0.299</Transform>"
    mount = '<Frame name="mount"><RPY>180 0 180</RPY><Pos>2 0 1</Pos></Frame>'
    return f'<WorkCell name="kr16">{mount}{dh_device("KR16", rows, tool)}</WorkCell>'
