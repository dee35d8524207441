"""The page in a real browser, drawn in software: without shadows and reflections, which are slow.

These tests are there where Chromium is; `make test-viewer` installs it.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from tests.support.browser import Browser
from tests.support.page import Page, soon, within

import linkwork as lw

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTH, HEIGHT = 1000, 560
LEFT = 600  # pixels from here on are controls
PATIENCE = 60  # [s]; machines that test are busy
POSTURE = {"shoulder_pitch": 0.5, "elbow_pitch": 0.9, "wrist_pitch": 0.4}


@pytest.fixture(scope="module")
def browser():
    with Browser(WIDTH, HEIGHT) as browser:
        yield browser


@contextmanager
def opened(browser, thing):
    """A viewer and its page, which writes no errors while it is open."""
    with lw.view(thing, port=0) as viewer:
        viewer.server.scene.configure_default_lights(cast_shadow=False)
        viewer.server.scene.configure_environment_map(None)
        browser.messages.clear()
        browser.open(viewer.url)
        soon(viewer.server.get_clients, PATIENCE)
        still(browser)
        yield viewer
        assert browser.messages == []
        browser.open("about:blank")  # a page whose server is gone would complain


@pytest.fixture(scope="module")
def viewer(browser):
    """The arm; opened once, for opening a page is most of the work."""
    with opened(browser, lw.robots.load("arm")) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def fixed():
    return lw.KinDyn(lw.robots.load("arm"), floating=False)


@pytest.fixture
def at_rest(viewer, fixed, browser):
    """The arm, folded, nothing dragged; and what the page looks like."""
    viewer.drag(None)
    viewer.show(fixed.q(POSTURE))
    viewer.flush()
    return still(browser)


def still(browser):
    """Wait until something is drawn and does not change any more."""
    before = browser.image()
    for _ in range(PATIENCE):
        time.sleep(0.2)
        after = browser.image()
        if np.array_equal(after, before) and after[:, :LEFT].std() > 3:
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


def test_a_slider_moves_a_link(browser, viewer, fixed, at_rest):
    before = viewer.q()
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
    browser.drag(thumb, (thumb[0] - 30, thumb[1]))
    k = fixed.joint_names.index("shoulder_pitch")
    soon(lambda: viewer.q()[k] < before[k] - 0.2, PATIENCE)
    after = still(browser)

    assert changed(at_rest, after) > 500
    assert np.flatnonzero(viewer.q() != before).tolist() == [k]
    link = fixed.model.joint("elbow_pitch").second
    drawn = viewer.server.scene.get_handle_by_name(f"/arm/links/{link}").position
    np.testing.assert_allclose(drawn, fixed.transform(link, viewer.q())[:3, 3], atol=1e-5)


def test_a_dragged_frame_is_followed(browser, viewer, fixed, at_rest):
    viewer.drag("tool")
    viewer.flush()
    still(browser)
    start = fixed.transform("tool", viewer.q())
    axis = start[:3, 1]
    target = -0.06 * axis  # within reach, without turning the elbow over

    def moved():
        return fixed.transform("tool", viewer.q())[:3, 3] - start[:3, 3]

    # A page on a busy machine can miss the press of the button: as a person would, try again.
    for _ in range(5):
        scale = viewer.server.scene.get_handle_by_name("/arm/drag").scale
        tip = fixed.transform("tool", viewer.q())[:3, 3] + 0.86 * scale * axis  # the arrow's head
        browser.drag(on_screen(viewer, tip), on_screen(viewer, tip + target), steps=12)
        if within(15, lambda: moved() @ target > 0.03 * 0.06):
            break
    after = still(browser)
    assert moved() @ target > 0.03 * 0.06
    assert np.linalg.norm(moved() - (moved() @ axis) * axis) < 2e-3
    rotation = fixed.transform("tool", viewer.q())[:3, :3]
    np.testing.assert_allclose(rotation, start[:3, :3], atol=0.01)
    assert changed(at_rest, after) > 300


def test_a_click_on_a_link_shows_its_triad(browser, viewer, fixed, at_rest):
    x, y = on_screen(viewer, fixed.transform(fixed.base, viewer.q())[:3, 3] + [0, 0, 0.08])
    browser.click(x, y)
    triad = f"/arm/frames/{fixed.base}"
    soon(lambda: viewer.server.scene.get_handle_by_name(triad) is not None, PATIENCE)
    browser.click(x + 1, y)
    soon(lambda: not viewer.server.scene.get_handle_by_name(triad).visible, PATIENCE)


def test_charts_are_drawn_and_the_page_turns_dark(browser, viewer, fixed, at_rest):
    browser.click_text("Forces")
    bars = "document.querySelectorAll('svg > rect[fill]').length"
    soon(lambda: browser.run(bars) >= len(fixed.joint_names), PATIENCE)
    with Page(viewer) as page:
        page.set("Dark", True)
        dark = still(browser)
        page.set("Dark", False)
    browser.click_text("Joints")
    assert dark.mean() < at_rest.mean() - 60


def test_a_workcell_grips(browser, viewer):
    del viewer  # opened before: one page after the other
    cell = lw.load_workcell("pick_and_place")
    with opened(browser, cell) as shown:
        before = still(browser)
        shown.grip("ball", cell.device("arm").end)
        shown.show(np.full(cell.device("arm").nq, 0.02), robot="arm")
        shown.flush()
        assert changed(before, still(browser)) > 200


def test_a_simulation_is_pushed(browser, viewer):
    del viewer  # opened before: one page after the other
    ball = lw.Link(name="ball", inertia=lw.solid_sphere(1.0, 0.1))
    ball = replace(
        ball, collisions=(lw.Shape(lw.Sphere(0.1)),), visuals=(lw.Shape(lw.Sphere(0.1)),)
    )
    sim = lw.Simulation(lw.Model(name="ball", links=(ball,)), ground=True)
    with opened(browser, sim) as shown:
        shown.simulate(start=False)
        browser.click_text("Simulate")
        still(browser)
        browser.click_text("+y")
        soon(lambda: shown._controller(None).live.x.nu[1] > 0.4, PATIENCE)
        before = still(browser)
        browser.click_text("step")
        soon(lambda: shown._controller(None).live.time == sim.dt, PATIENCE)
        with Page(shown) as page:
            page.set("Run", True)
            soon(lambda: shown.q()[1] > 0.1, PATIENCE)  # it rolls to the side
            page.set("Run", False)
            soon(lambda: not shown._controller(None).live.running, PATIENCE)
        assert changed(before, still(browser)) > 100
