"""Take the pictures of the viewer that the documentation shows; needs Chromium.

python tools/make_viewer_pictures.py
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from pictures_sources import record  # noqa: E402
from tests.support.browser import Browser  # noqa: E402
from tests.support.page import soon  # noqa: E402

import linkwork as lw  # noqa: E402

FOLDER = REPOSITORY / "docs" / "images"
WIDTH, HEIGHT = 1280, 760
REST = 300  # pictures after which a page that still changes is given up
# Chromium says on the page that it draws in software; readers need not know.
HIDE_NOTES = (
    "[...document.querySelectorAll('button')]"
    ".filter(e => e.closest('.mantine-Notification-root')).forEach(e => e.click())"
)
REACHING = {"shoulder_yaw": 0.25, "shoulder_pitch": 0.45, "elbow_pitch": 0.9, "wrist_pitch": 0.4}


def arm(browser: Browser, viewer: Any) -> None:
    """Center of mass, loads, manipulability, and the charts of the joints."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    viewer.show(kd.q(REACHING))
    viewer.look(com=True, torques=True)
    viewer.inspect("tool", manipulability=True)
    viewer.frames("tool")
    browser.click_text("Forces")


def humanoid(browser: Browser, viewer: Any) -> None:
    """A stride, inertias inside of see-through links, and the charts of its joints."""
    kd = lw.KinDyn(lw.robots.load("humanoid"), floating=False)
    stride = {
        "l_hip_pitch": -0.5, "l_knee": 0.6, "r_hip_pitch": 0.2, "r_knee": 0.35,
        "l_shoulder_pitch": 0.4, "r_shoulder_pitch": -0.7, "l_elbow": -0.8, "r_elbow": -1.2,
    }  # fmt: skip
    viewer.show(kd.q({name: angle for name, angle in stride.items() if name in kd.joint_names}))
    viewer.look(com=True, inertias=True, opacity=0.45)
    browser.click_text("Forces")


def workcell(browser: Browser, viewer: Any) -> None:
    """The gripper holds the cube above the table."""
    cell = lw.load_workcell("pick_and_place")
    state = cell.state()
    hand = np.diag([1.0, -1.0, -1.0, 1.0])  # points down
    hand[:3, 3] = cell.world_H_frame("cube", state)[:3, 3]
    state = cell.grip(cell.ik(state, {"arm.tcp": hand}).state, "cube", "arm.tcp")
    hand[2, 3] += 0.12
    viewer.show(cell.ik(state, {"arm.tcp": hand}).state)
    browser.click_text("Forces")


STANCE = np.tile([0.0, 0.7, -1.4], 4)


def quadruped() -> lw.Simulation:
    """The quadruped on its feet, held by servos."""
    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    return lw.Simulation(lw.load("quadruped"), ground=feet, friction=0.8, servos=(200.0, 8.0))


def standing(browser: Browser, viewer: Any) -> None:
    """A quadruped that has landed, and the forces at its feet."""
    sim = quadruped()
    x = sim.place_on_ground(sim.state(q=[0, 0, 0, 1, 0, 0, 0, *STANCE]), 0.05)
    states = sim.rollout(x, np.tile(STANCE, (1000, 1)))
    viewer.simulate(lw.SimulationState(*(part[-1] for part in states)), STANCE, start=False)
    browser.click_text("Simulate")


PICTURES: dict[str, tuple[Callable[[], Any], Callable[[Browser, Any], None], bool]] = {
    "viewer": (lambda: lw.robots.load("arm"), arm, False),
    "viewer_dark": (lambda: lw.robots.load("humanoid"), humanoid, True),
    "viewer_simulation": (quadruped, standing, False),
    "viewer_workcell": (lambda: lw.load_workcell("pick_and_place"), workcell, False),
}


def main() -> None:
    """Take all of them, or those that are named."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    wanted = options.parse_args().names or list(PICTURES)
    for name in wanted:
        load, pose, dark = PICTURES[name]
        with Browser(WIDTH, HEIGHT) as browser, lw.view(load(), port=0, dark=dark) as viewer:
            browser.open(viewer.url)
            soon(viewer.server.get_clients, 300)
            _settled(browser)
            browser.run(HIDE_NOTES)
            pose(browser, viewer)
            viewer.flush()
            image = _settled(browser)
        few = image.quantize(256, kmeans=4, dither=Image.Dither.NONE)  # a third of the size
        few.save(FOLDER / f"{name}.png", optimize=True)
        record(name)
        size = (FOLDER / f"{name}.png").stat().st_size
        sys.stdout.write(f"docs/images/{name}.png: {size // 1000} kB\n")


def _settled(browser: Browser) -> Image.Image:
    """The page when it is drawn and changes no more."""
    before = b""
    for _ in range(REST):
        time.sleep(0.5)
        after = browser.png()
        image = Image.open(io.BytesIO(after)).convert("RGB")
        if after == before and np.asarray(image)[:, : WIDTH // 2].std() > 3:
            return image
        before = after
    text = "the page does not come to rest"
    raise RuntimeError(text)


if __name__ == "__main__":
    main()
