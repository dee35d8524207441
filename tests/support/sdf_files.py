"""SDF files: a small valid one, and a writer that describes a robot in one of many ways.

`sdf_text` writes the poses of links, joints and frames relative to frames that it draws at random,
and axes in the axes of such frames, so that reading must give the same robot each time.
"""

from __future__ import annotations

import numpy as np

from linkwork import Model, Pose
from linkwork.model.graph import walk
from linkwork.model.joints.kind import axes_across
from linkwork.model.pose import as_pose

GOOD = """\
<sdf version="1.9">
  <model name="lamp">
    <link name="base">
      <inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
    </link>
    <link name="arm">
      <pose>1 0 0.5 0 0 0</pose>
      <inertial>
        <pose>0 0 0.5 0 0 0</pose>
        <mass>2</mass>
        <inertia><ixx>0.3</ixx><iyy>0.4</iyy><izz>0.5</izz></inertia>
      </inertial>
      <visual name="body">
        <geometry><box><size>1 2 3</size></box></geometry>
      </visual>
    </link>
    <joint name="hinge" type="revolute">
      <parent>base</parent>
      <child>arm</child>
      <axis>
        <xyz>0 1 0</xyz>
        <limit><lower>-1</lower><upper>1</upper></limit>
      </axis>
    </joint>
  </model>
</sdf>
"""
TYPES = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "spherical": "ball",
    "fixed": "fixed",
    "helical": "screw",
    "universal": "universal",
}


def sdf_text(model: Model, rng: np.random.Generator, version: str = "1.12") -> str:
    """A robot as SDF, with frames drawn at random where the version has them."""
    return _Writer(model, rng, version).text()


class _Writer:
    def __init__(self, model: Model, rng: np.random.Generator, version: str) -> None:
        self.model, self.rng, self.version = model, rng, tuple(map(int, version.split(".")))
        self.has_frames = self.version >= (1, 7)
        self.poses = {"__model__": np.eye(4)}  # of all frames that others may be relative to
        self.link_poses = _poses_at_zero(model)

    def text(self) -> str:
        order = [str(name) for name in self.rng.permutation(self.model.link_names)]
        links = {name: self._link(name) for name in order}  # may refer to those before in `order`
        lines = [links[name] for name in self.model.link_names]
        lines += [self._joint(joint) for joint in self.model.joints]
        lines += [self._frame(frame) for frame in self.model.frames]
        body = "\n".join(lines)
        version = ".".join(map(str, self.version))
        return f'<sdf version="{version}"><model name="{self.model.name}">{body}</model></sdf>'

    def _pose(self, name: str, pose: np.ndarray, default: np.ndarray) -> str:
        """A `<pose>` relative to a frame that is placed already, or to the default."""
        relative_to, reference = "", default
        if self.has_frames and self.rng.random() < 0.7:
            frame = str(self.rng.choice(list(self.poses)))
            relative_to, reference = f' relative_to="{frame}"', self.poses[frame]
        self.poses[name] = pose
        local = np.linalg.inv(reference) @ pose
        if self.version >= (1, 9) and self.rng.random() < 0.3:
            degrees = np.degrees(as_pose(local).rpy)
            return f'<pose degrees="true"{relative_to}>{_numbers(local[:3, 3], degrees)}</pose>'
        return f"<pose{relative_to}>{_numbers(local[:3, 3], as_pose(local).rpy)}</pose>"

    def _link(self, name: str) -> str:
        inertia = self.model.link(name).inertia
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        moments = "".join(
            f"<{tag}>{value!r}</{tag}>" for tag, value in zip(names, inertia.tensor, strict=True)
        )
        pose = self._pose(name, self.link_poses[name], np.eye(4))
        com = f"<pose>{_numbers(inertia.com, (0, 0, 0))}</pose>"
        body = f"{com}<mass>{inertia.mass!r}</mass><inertia>{moments}</inertia>"
        return f'<link name="{name}">{pose}<inertial>{body}</inertial></link>'

    def _joint(self, joint) -> str:
        pose = self.link_poses[joint.second] @ np.linalg.inv(joint.joint_H_second.matrix())
        body = self._pose(joint.name, pose, self.link_poses[joint.second])
        axes = {"axis": joint.axis}
        if joint.kind == "universal":
            axes["axis2"] = axes_across(joint.axis)[0]
        if joint.kind in ("spherical", "fixed"):
            axes = {}
        for tag, axis in axes.items():
            body += self._axis(tag, np.array(axis), pose, joint)
        if joint.kind == "helical":
            pitch = 2 * np.pi * joint.pitch
            new = self.version >= (1, 10)
            body += (
                f"<screw_thread_pitch>{pitch!r}</screw_thread_pitch>"
                if new
                else f"<thread_pitch>{-1 / joint.pitch!r}</thread_pitch>"
            )
        ends = f"<parent>{joint.first}</parent><child>{joint.second}</child>"
        return f'<joint name="{joint.name}" type="{TYPES[joint.kind]}">{ends}{body}</joint>'

    def _axis(self, tag: str, axis: np.ndarray, pose: np.ndarray, joint) -> str:
        frame, extra, attribute = pose, "", ""
        if self.version == (1, 4):
            frame = np.eye(4)
        elif not self.has_frames and self.rng.random() < 0.5:
            frame, extra = np.eye(4), "<use_parent_model_frame>1</use_parent_model_frame>"
        elif self.has_frames and self.rng.random() < 0.5:
            name = str(self.rng.choice(list(self.poses)))
            frame, attribute = self.poses[name], f' expressed_in="{name}"'
        xyz = _numbers(frame[:3, :3].T @ pose[:3, :3] @ axis)
        limits = joint.limits
        bounds = {"lower": limits.lower, "upper": limits.upper, "effort": limits.effort}
        bounds = {name: value for name, value in bounds.items() if np.isfinite(value)}
        text = "".join(f"<{name}>{value!r}</{name}>" for name, value in bounds.items())
        dynamics = f"<damping>{joint.damping!r}</damping><friction>{joint.friction!r}</friction>"
        mimic = ""
        if joint.mimic:
            values = f"<multiplier>{joint.mimic.multiplier!r}</multiplier>"
            reference = 0.5
            offset = joint.mimic.offset + joint.mimic.multiplier * reference
            values += f"<offset>{offset!r}</offset><reference>{reference}</reference>"
            mimic = f'<mimic joint="{joint.mimic.joint}">{values}</mimic>'
        limit = f"<limit>{text}</limit><dynamics>{dynamics}</dynamics>"
        return f"<{tag}><xyz{attribute}>{xyz}</xyz>{limit}{mimic}{extra}</{tag}>"

    def _frame(self, frame) -> str:
        """A frame that is attached to its link, or to another frame or joint on it."""
        pose = self.link_poses[frame.link] @ frame.link_H_frame.matrix()
        attached = [j.name for j in self.model.joints if j.second == frame.link] or [frame.link]
        target = str(self.rng.choice(attached))
        body = self._pose(frame.name, pose, self.poses[target])
        return f'<frame name="{frame.name}" attached_to="{target}">{body}</frame>'


def _poses_at_zero(model: Model) -> dict[str, np.ndarray]:
    """model_H_link while every joint is at zero, for a random-looking pose of the first link."""
    poses = {model.default_base: Pose((0.3, -0.2, 0.1), (0.1, 0.2, -0.3)).matrix()}
    for visit in walk(model, model.default_base):
        joint = visit.joint
        if joint is not None:
            H = joint.first_H_joint.matrix() @ joint.joint_H_second.matrix()
            H = np.linalg.inv(H) if joint.first == visit.link else H
            poses[visit.link] = poses[visit.parent] @ H
    return poses


def _numbers(*groups) -> str:
    return " ".join(repr(float(number)) for group in groups for number in group)
