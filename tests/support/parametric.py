"""A robot whose links are solids, as adam's parametric models require."""

from __future__ import annotations

LINKS = ("trunk", "thigh", "shank", "ball")
JOINTS = ("neck", "hip", "knee")


def link(name: str, shape: str, xyz: str, mass: float = 2.0) -> str:
    """A link with a shape; its inertia is not that of the shape."""
    return f"""
<link name="{name}">
  <inertial><origin xyz="0.01 0.02 0.03" rpy="0 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
  <visual><origin xyz="{xyz}" rpy="0 0 0"/><geometry>{shape}</geometry></visual>
</link>"""


def joint(name: str, parent: str, child: str, xyz: str) -> str:
    """A revolute joint."""
    return f"""
<joint name="{name}" type="revolute">
  <origin xyz="{xyz}" rpy="0.1 0.2 0.3"/><parent link="{parent}"/><child link="{child}"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/>
</joint>"""


def solids() -> str:
    """The robot as a URDF."""
    parts = [
        link("trunk", '<box size="0.2 0.3 0.6"/>', "0.01 0 0.35", 8.0),
        link("thigh", '<cylinder radius="0.05" length="0.5"/>', "0 0.02 -0.25", 4.0),
        link("shank", '<box size="0.1 0.1 0.4"/>', "0 0 -0.2"),
        link("ball", '<sphere radius="0.11"/>', "0 0 0.08"),
        joint("neck", "trunk", "ball", "0 0 0.7"),
        joint("hip", "trunk", "thigh", "0 0.1 -0.05"),
        joint("knee", "thigh", "shank", "0 0 -0.5"),
    ]
    return f'<robot name="solids">{"".join(parts)}</robot>'
