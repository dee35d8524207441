"""Random MJCF models on the ground, with random options and parameters of everything."""

from __future__ import annotations

import numpy as np

SHAPES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}


class RandomModel:
    """Writes one model; `text` is the file."""

    def __init__(self, seed, most=3):
        self.rng = np.random.default_rng(seed)
        self.most = most  # bodies
        self.joints = []  # name, type
        self.bodies = []
        free = self.chance(0.6)
        bodies = "".join(self.body(free=free and k == 0) for k in range(1 if free else 2))
        self.text = f"""<mujoco><compiler angle="radian" autolimits="true"/>{self.options()}
<worldbody><geom name="floor" type="plane" size="1 1 1" {self.contact()}
euler="{self.numbers(3, 0.2)}"/>{bodies}</worldbody>
<actuator>{"".join(self.actuator() for _ in range(3))}</actuator>
<equality>{self.equality()}</equality></mujoco>"""

    def chance(self, probability):
        return self.rng.random() < probability

    def numbers(self, count, size=1.0):
        return " ".join(f"{x:.4f}" for x in self.rng.normal(size=count) * size)

    def positive(self, count=1, low=0.1, high=1.0):
        return " ".join(f"{x:.4f}" for x in self.rng.uniform(low, high, count))

    def one_of(self, *choices):
        return str(self.rng.choice(choices))

    def solver(self, suffix=""):
        """Random solref and solimp, in both forms."""
        solref = self.one_of("0.02 1", "0.001 1", "0.05 0.7", "-300 -20")
        solimp = self.one_of("0.9 0.95 0.001", "0.5 0.9 0.02 0.3 3", "0 0.99 0.01", "0.9 0.9 0.01")
        return f'solref{suffix}="{solref}" solimp{suffix}="{solimp}"'

    def options(self):
        flags = {name: "disable" for name in ("eulerdamp", "refsafe") if self.chance(0.2)}
        flags |= {
            name: "disable"
            for name in ("gravity", "spring", "damper", "frictionloss", "limit", "clampctrl")
            if self.chance(0.05)
        }
        text = " ".join(f'{name}="{value}"' for name, value in flags.items())
        return f"""<option timestep="{self.one_of("0.001", "0.002", "0.01")}"
cone="{self.one_of("pyramidal", "elliptic")}" impratio="{self.one_of("1", "1", "3", "20")}"
integrator="{self.one_of("Euler", "implicitfast")}"
gravity="{self.numbers(2)} -9.81"><flag {text}/></option>"""

    def contact(self):
        friction = self.positive(3, 0.01, 1)
        return f"""condim="{self.one_of(1, 3, 3, 4, 6)}" friction="{friction}" {self.solver()}
margin="{self.one_of(0, 0, 0.01)}" gap="{self.one_of(0, 0, 0.005)}"
priority="{self.one_of(0, 0, 1)}" solmix="{self.positive()}" """

    def geom(self):
        kind = self.one_of(*SHAPES)
        size = self.positive(SHAPES[kind], 0.04, 0.12)
        return f"""<geom type="{kind}" size="{size}" pos="{self.numbers(3, 0.05)}"
euler="{self.numbers(3)}" {self.contact()}/>"""

    def grows(self):
        return len(self.bodies) < self.most and self.chance(0.7)

    def joint(self, *kinds):
        kind = self.one_of(*(kinds or ("hinge", "hinge", "slide", "ball")))
        name = f"j{len(self.joints)}"
        self.joints.append((name, kind))
        parts = [f'name="{name}" type="{kind}" pos="{self.numbers(3, 0.1)}"']
        if kind != "ball":
            parts.append(f'axis="{self.numbers(3)}" ref="{self.one_of(0, 0, 0.3)}"')
        if self.chance(0.5):
            low = 0 if kind == "ball" else -float(self.positive())
            parts.append(f'range="{low} {self.positive()}" {self.solver("limit")}')
            parts.append(f'margin="{self.one_of(0, 0.05)}"')
        for name, probability in (("stiffness", 0.3), ("damping", 0.5), ("armature", 0.5)):
            if self.chance(probability):
                parts.append(f'{name}="{self.positive()}"')
        if self.chance(0.3):
            parts.append(f'frictionloss="{self.positive()}" {self.solver("friction")}')
        if kind != "ball" and self.chance(0.3):
            parts.append(f'springref="{self.numbers(1)}"')
            parts.append(f'actuatorfrcrange="-{self.positive()} {self.positive()}"')
        return f"<joint {' '.join(parts)}/>"

    def body(self, *, free=False, depth=0):
        name = f"b{len(self.bodies)}"
        self.bodies.append(name)
        joints = "<freejoint/>" if free else self.joint()
        if self.chance(0.15) and not free and "ball" not in joints:
            joints += self.joint("hinge", "slide")
        children = range(2 if depth == 0 else 1) if depth < 2 else ()
        inner = "".join(self.body(depth=depth + 1) for _ in children if self.grows())
        compensation = f'gravcomp="{self.positive()}"' if self.chance(0.15) else ""
        return f"""<body name="{name}" pos="{self.numbers(3, 0.2)}" euler="{self.numbers(3)}"
{compensation}>{joints}{self.geom()}<site name="{name}_site" pos="{self.numbers(3, 0.1)}"/>
{inner}</body>"""

    def actuator(self):
        single = [name for name, kind in self.joints if kind != "ball"]
        if not single:
            return ""
        joint = f'joint="{self.one_of(*single)}" gear="{self.numbers(1)}"'
        ranges = 'ctrlrange="-0.5 0.5"' if self.chance(0.4) else ""
        ranges += ' forcerange="-2 1"' if self.chance(0.3) else ""
        dynamics = self.one_of("none", "integrator", "filter", "filterexact")
        more = 'actearly="true"' if dynamics != "none" and self.chance(0.3) else ""
        return self.one_of(
            f"<motor {joint} {ranges}/>",
            f'<position {joint} kp="{self.positive(1, 1, 9)}" kv="{self.positive()}" {ranges}/>',
            f'<velocity {joint} kv="{self.positive()}" {ranges}/>',
            f'<damper {joint} kv="{self.positive()}" ctrlrange="0 1"/>',
            f"""<general {joint} gaintype="affine" gainprm="{self.numbers(3)}" biastype="affine"
biasprm="{self.numbers(2)} -{self.positive()}" dyntype="{dynamics}" dynprm="{self.positive()}"
{more} {ranges}/>""",
        )

    def equality(self):
        text = ""
        single = [name for name, kind in self.joints if kind != "ball"]
        if len(single) > 1 and self.chance(0.3):
            first, second = self.rng.choice(single, 2, replace=False)
            text += f'<joint joint1="{first}" joint2="{second}" polycoef="{self.numbers(5)}" '
            text += f"{self.solver()}/>"
        if len(self.bodies) > 1 and self.chance(0.3):
            first, second = self.rng.choice(self.bodies, 2, replace=False)
            text += self.one_of(
                f'<connect body1="{first}" body2="{second}" anchor="{self.numbers(3, 0.1)}" ',
                f'<connect site1="{first}_site" site2="{second}_site" ',
                f'<weld body1="{first}" torquescale="{self.positive()}" ',
                f'<weld site1="{first}_site" site2="{second}_site" ',
            )
            text += f"{self.solver()}/>"
        return text
