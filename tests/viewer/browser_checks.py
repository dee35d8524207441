"""The page in a real browser. `make test-viewer` runs this; `make test` needs no browser.

The pages are drawn in software, so this takes a minute or two.
"""

from __future__ import annotations

import time
from contextlib import contextmanager

import numpy as np
import pytest
from tests.support.browser import Browser
from tests.support.page import soon

import linkwork as lw

POSTURE = {"shoulder_pitch": 0.5, "elbow_pitch": 0.9, "wrist_pitch": 0.4}
LEFT = 790  # pixels from here on are controls


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def arm():
    return lw.robots.load("arm")


@pytest.fixture
def fixed(arm):
    return lw.KinDyn(arm, floating=False)


def opened(browser, viewer):
    """Open the page, wait until all is drawn; what it looks like."""
    browser.messages.clear()
    browser.open(viewer.url)
    soon(viewer.server.get_clients, 120)
    return still(browser)


@contextmanager
def shown(browser, thing):
    """A viewer whose page is left before it is closed, as the page would complain."""
    with lw.view(thing, port=0) as viewer:
        yield viewer
        assert browser.messages == []
        browser.open("about:blank")
        soon(lambda: not viewer.server.get_clients())


def still(browser):
    """Wait until the page does not change any more."""
    before = browser.image()
    for _ in range(120):
        time.sleep(0.7)
        after = browser.image()
        if (
            np.mean(np.abs(after.astype(int) - before.astype(int))) < 0.01
            and after[:, :LEFT].std() > 3
        ):
            return after
        before = after
    raise AssertionError("the page does not come to rest")


def changed(before, after):
    """How many pixels of the scene have changed clearly."""
    difference = np.abs(after[:, :LEFT].astype(int) - before[:, :LEFT].astype(int)).max(axis=-1)
    return int((difference > 24).sum())


def on_screen(viewer, point):
    """Pixel of a point of the world."""
    camera = next(iter(viewer.server.get_clients().values())).camera
    seen = lw.spatial.quat.to_rotation(camera.wxyz).T @ (np.asarray(point) - camera.position)
    focal = camera.image_height / 2 / np.tan(camera.fov / 2)
    x, y = focal * seen[:2] / seen[2]
    return float(x + camera.image_width / 2), float(y + camera.image_height / 2)


def test_the_page_loads_without_errors_and_a_slider_moves_a_link(browser, arm, fixed):
    with shown(browser, arm) as viewer:
        before = opened(browser, viewer)
        thumb = browser.run(
            """(() => {
              const label = [...document.querySelectorAll('label, div')]
                .filter(e => e.textContent.trim() === 'shoulder_pitch').pop();
              let row = label;
              while (!row.querySelector('[role=slider]')) row = row.parentElement;
              const box = row.querySelector('[role=slider]').getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            })()"""
        )
        browser.drag(thumb, (thumb[0] + 45, thumb[1]))
        k = fixed.joint_names.index("shoulder_pitch")
        soon(lambda: viewer.q()[k] > 0.3)
        after = still(browser)

        assert changed(before, after) > 2000
        assert np.count_nonzero(viewer.q()) == 1
        link = arm.joint("elbow_pitch").second
        drawn = viewer.server.scene.get_handle_by_name(f"/arm/links/{link}").position
        np.testing.assert_allclose(drawn, fixed.transform(link, viewer.q())[:3, 3], atol=1e-5)


def test_a_dragged_frame_is_followed(browser, arm, fixed):
    with shown(browser, arm) as viewer:
        viewer.show(fixed.q(POSTURE))
        viewer.drag("tool")
        before = opened(browser, viewer)
        start = fixed.transform("tool", viewer.q())
        scale = viewer.server.scene.get_handle_by_name("/arm/drag").scale
        axis = start[:3, 1]
        tip = start[:3, 3] + 0.93 * scale * axis
        way_to_go = -0.06 * axis  # within reach, without turning the elbow over
        grip, to = on_screen(viewer, tip), on_screen(viewer, tip + way_to_go)
        browser.drag(grip, to, steps=12)

        def way():
            return fixed.transform("tool", viewer.q())[:3, 3] - start[:3, 3]

        soon(lambda: way() @ way_to_go > 0.03 * 0.06)
        after = still(browser)
        assert np.linalg.norm(way() - (way() @ axis) * axis) < 2e-3
        np.testing.assert_allclose(
            fixed.transform("tool", viewer.q())[:3, :3], start[:3, :3], atol=0.01
        )
        assert changed(before, after) > 300


def test_a_click_on_a_link_shows_its_triad(browser, arm, fixed):
    with shown(browser, arm) as viewer:
        opened(browser, viewer)
        x, y = on_screen(viewer, fixed.transform(fixed.base, viewer.q())[:3, 3] + [0, 0, 0.08])
        browser.click(x, y)
        triads = viewer._stage(None).triads
        soon(lambda: len(triads.shown) == 1)
        browser.click(x + 1, y)
        soon(lambda: not triads.shown)


def test_charts_are_drawn_and_the_page_turns_dark(browser, arm, fixed):
    with shown(browser, arm) as viewer:
        light = opened(browser, viewer)
        browser.click_text("Forces")
        time.sleep(1.0)
        assert browser.run("document.querySelectorAll('svg rect[fill]').length") >= len(
            fixed.joint_names
        )
        size = browser.run(
            "(() => {const i = document.querySelector('img[alt$=matrix]');"
            " return [i.naturalWidth, i.getBoundingClientRect().width]})()"
        )
        assert size[0] == fixed.nv  # a pixel for each entry of the mass matrix
        assert size[1] > 100
        viewer._theme.value = True
        dark = still(browser)
        assert dark.mean() < light.mean() - 60


@pytest.mark.parametrize("name", ["pick_and_place", "mobile_manipulator"])
def test_a_workcell_loads_without_errors(browser, name):
    cell = lw.load_workcell(name)
    with shown(browser, cell) as viewer:
        before = opened(browser, viewer)
        viewer.grip(viewer._cell.viewed.objects[0], cell.device("arm").end)
        viewer.show(np.full(cell.device("arm").nq, 0.02))
        viewer.flush()
        assert changed(before, still(browser)) > 300
