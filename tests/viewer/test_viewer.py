"""The viewer from a program and from its page, up to the browser: server and websocket."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import urllib.request
import warnings

import numpy as np
import pytest
from tests.support.page import CAMERA, Page, soon

import linkwork as lw
from linkwork.viewer.drawing import PHYSICAL, UNPHYSICAL, linear
from linkwork.viewer.robot_controller import RobotController
from linkwork.viewer.server import open_server


@pytest.fixture(scope="module")
def arm():
    return lw.robots.load("arm")


@pytest.fixture
def viewer(arm):
    with lw.view(arm, port=0) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def fixed(arm):
    return lw.KinDyn(arm, floating=False)


def drawn_pose(viewer, name):
    """Pose of a node of the scene."""
    handle = viewer.server.scene.get_handle_by_name(name)
    R = lw.spatial.quat.to_rotation(handle.wxyz)
    return lw.spatial.se3.pose(R, handle.position)


def test_every_link_is_drawn_where_it_is(viewer, fixed):
    q = fixed.random(seed=4)
    viewer.show(q)
    viewer.flush()

    names = [name for name in fixed.model.link_names if fixed.model.link(name).visuals]
    assert len(names) > 5
    for name in names:
        found = drawn_pose(viewer, f"/arm/links/{name}")
        np.testing.assert_allclose(found, fixed.transform(name, q), atol=1e-6)
    np.testing.assert_array_equal(viewer.q(), q)


def test_the_page_is_there_and_for_this_machine_only(viewer):
    assert viewer.url.startswith("http://127.0.0.1:")
    assert viewer.server.get_host() == "127.0.0.1"
    with urllib.request.urlopen(viewer.url, timeout=30) as answer:
        assert b"<html" in answer.read()
    assert viewer.url in viewer._repr_html_()
    assert "iframe" in viewer._repr_html_()
    assert repr(viewer) == f"<Viewer of arm at {viewer.url}>"
    assert viewer.server.request_share_url() is None


def test_a_slider_of_the_page_moves_a_link(viewer, fixed):
    with Page(viewer) as page:
        page.set("elbow_pitch", 0.8)
        k = fixed.joint_names.index("elbow_pitch")
        soon(lambda: viewer.q()[k] == 0.8)
        viewer.flush()

        q = fixed.q(elbow_pitch=0.8)
        name = fixed.model.joint("elbow_pitch").second
        expected = fixed.transform(name, q)
        np.testing.assert_allclose(drawn_pose(viewer, f"/arm/links/{name}"), expected, atol=1e-6)


def test_a_dragged_frame_is_followed(viewer, fixed):
    viewer.show(fixed.q(elbow_pitch=0.9, shoulder_pitch=0.4, wrist_pitch=0.3))
    viewer.drag("tool")
    viewer.flush()
    start = drawn_pose(viewer, "/arm/drag")
    np.testing.assert_allclose(start, fixed.transform("tool", viewer.q()), atol=1e-6)
    target = start[:3, 3] + np.array([-0.03, 0.05, 0.02])
    with Page(viewer) as page:
        wxyz = lw.spatial.quat.from_rotation(start[:3, :3])

        def there():
            return np.allclose(fixed.transform("tool", viewer.q())[:3, 3], target, atol=3e-4)

        page.drag("/arm/drag", target, there, wxyz)
        soon(lambda: "reached" in page.text())


def test_the_base_is_moved_by_its_handles(viewer):
    target = (0.5, 0.25, 0.1)

    def moved():
        viewer.flush()
        return np.allclose(drawn_pose(viewer, "/arm/links/base")[:3, 3], target)

    with Page(viewer) as page:
        page.set("Move base", True)
        soon(lambda: viewer.server.scene.get_handle_by_name("/arm/base") is not None)
        page.drag("/arm/base", target, moved)
        page.set("Move base", False)
        soon(lambda: viewer.server.scene.get_handle_by_name("/arm/base") is None)


def test_showing_does_not_let_controls_answer(viewer, fixed):
    """Sliders are set to where the joints are, within their limits; q stays what it was."""
    q = fixed.random(seed=9)
    q[0] = 10.0  # beyond its limit
    viewer.show(q)
    viewer.flush()

    np.testing.assert_array_equal(viewer.q(), q)
    with Page(viewer) as page:

        def sliders():
            return [page.control(name)["value"] for name in fixed.joint_names]

        expected = [fixed.limits.upper[0], *q[1:]]
        soon(lambda: np.allclose(sliders(), expected, atol=1e-12))


def test_charts_follow_the_robot(viewer, fixed):
    viewer.inspect("tool", manipulability=True)
    with Page(viewer) as page:
        for seed in range(3):
            q = fixed.random(seed=seed)
            viewer.show(q, np.full(fixed.nv, 0.5))
            viewer.flush()
            force = fixed.gravity_force(q)[1]
            soon(lambda force=force: f"{force:.3g} / " in page.text())
            soon(lambda: "velocity [m/s]" in page.text())
        viewer.inspect(None)
        viewer.flush()
        soon(lambda: "velocity [m/s]" not in page.text())


def test_what_is_drawn_over_a_robot_moves_with_it(viewer, fixed):
    viewer.look(com=True, inertias=True, torques=True, opacity=0.5)
    viewer.inspect("tool", manipulability=True)
    viewer.frames("tool")
    node = viewer.server.scene.get_handle_by_name
    for seed in (1, 2):
        q = fixed.random(seed=seed)
        viewer.show(q, np.ones(fixed.nv))
        viewer.flush()
        com = fixed.com(q)
        np.testing.assert_allclose(node("/arm/com").position, com, atol=1e-6)
        np.testing.assert_allclose(node("/arm/com_ground").position[:2], com[:2], atol=1e-6)
        tool = fixed.transform("tool", q)
        np.testing.assert_allclose(drawn_pose(viewer, "/arm/frames/tool"), tool, atol=1e-6)
        ellipsoid = node("/arm/manipulability")
        np.testing.assert_allclose(ellipsoid.batched_positions[0], tool[:3, 3], atol=1e-6)
        arrows = node("/arm/velocity").points
        v = fixed.velocity("tool", q, np.ones(fixed.nv))
        np.testing.assert_allclose((arrows[0, 1] - arrows[0, 0]) / 0.5, v[:3], atol=1e-5)
        links = [link for link in fixed.model.links if link.inertia.mass > 0]
        centers = [fixed.transform(x.name, q) @ [*x.inertia.com, 1] for x in links]
        placed = node("/arm/inertias").batched_positions
        np.testing.assert_allclose(placed, np.array(centers)[:, :3], atol=1e-6)
    viewer.look(com=False, inertias=False, torques=False)
    viewer.frames("tool", visible=False)
    viewer.flush()
    hidden = ("/arm/com", "/arm/com_line", "/arm/inertias", "/arm/torques", "/arm/frames/tool")
    assert not any(node(name).visible for name in hidden)


def test_unphysical_inertias_are_red():
    bad = lw.Inertia(1.0, (0, 0, 0), (0.1, 0, 0, 0.1, 0, 0.3))
    links = (lw.Link(name="bad", inertia=bad), lw.Link(name="a/b", inertia=lw.solid_sphere(1, 0.1)))
    joint = lw.Joint(name="j", kind="revolute", first="bad", second="a/b")
    with lw.view(lw.Model(name="x/y", links=links, joints=(joint,)), port=0) as viewer:
        viewer.look(inertias=True)
        viewer.flush()
        colors = viewer.server.scene.get_handle_by_name("/x%2Fy/inertias").batched_colors
        assert colors.tolist() == linear([UNPHYSICAL, PHYSICAL]).tolist()
        assert colors[0, 0] > 5 * colors[0, 1:].max()
        viewer.frames("a/b")
        assert viewer.server.scene.get_handle_by_name("/x%2Fy/frames/a%2Fb") is not None


def test_a_trajectory_is_played_and_can_be_set_to_a_time(viewer, fixed, tmp_path):
    n = fixed.nq
    rows = np.linspace(0, 0.4, 21)[:, None] * np.ones(n) * 0.05
    np.save(tmp_path / "motion.npy", rows)
    viewer.play(tmp_path / "motion.npy", start=False)
    with Page(viewer) as page:
        assert page.control("Time [s]")["max"] == pytest.approx(0.4)
        page.set("Time [s]", 0.2)
        soon(lambda: np.allclose(viewer.q(), rows[10], atol=1e-9))
        page.set("Play", True)
        soon(lambda: not np.allclose(viewer.q(), rows[10], atol=1e-9))
        page.set("elbow_pitch", 0.5)  # taking hold of a joint stops it
        k = fixed.joint_names.index("elbow_pitch")
        soon(lambda: viewer.q()[k] == 0.5 and not page.control("Play")["value"])
        with pytest.raises(lw.ArgumentError, match="times"):
            viewer.play(tmp_path / "motion.npy", [0.0])
        viewer.play(rows, np.arange(21.0))
        soon(lambda: page.control("Time [s]")["max"] == 20)
        soon(lambda: page.control("Time [s]")["value"] > 0)


def test_a_file_from_the_page_is_read_or_rejected_with_a_message(viewer):
    button = "Open a trajectory (.npy, .csv)"
    with Page(viewer) as page:
        page.upload(button, "motion.csv", b"elbow_pitch\n0.1\n0.2\n")
        soon(lambda: "motion.csv: 2 samples" in page.text())
        page.upload(button, "../../motion.csv", b"elbow_pich\n0.1\n")
        soon(lambda: page.notifications)
        assert "'elbow_pitch'" in page.notifications[0]


def test_traces_and_arrows(viewer, fixed):
    trace = viewer.trace("tool", length=5)
    poses = []
    for seed in range(8):
        q = fixed.random(seed=seed)
        viewer.show(q)
        viewer.show(q)
        poses.append(fixed.transform("tool", q)[:3, 3])
    viewer.flush()
    np.testing.assert_allclose(trace.points, poses[-5:], atol=1e-12)
    line = viewer.server.scene.get_handle_by_name("/arm/traces/tool")
    np.testing.assert_allclose(line.points[:, 1], poses[-4:], atol=1e-6)
    trace.remove()
    assert viewer.server.scene.get_handle_by_name("/arm/traces/tool") is None

    viewer.arrow("force", (0, 0, 1), (0.1, 0, 0))
    arrow = viewer.arrow("force", (0, 0, 1), [0, 0, 0.2], color=(255, 0, 0))
    np.testing.assert_allclose(arrow.points, [[[0, 0, 1], [0, 0, 1.2]]], atol=1e-6)
    arrow.remove()


def test_several_robots_stand_side_by_side(arm):
    dog = lw.robots.load("quadruped")
    with lw.view(arm, arm, {"dog": lw.KinDyn(dog)}, port=0) as viewer:
        assert viewer.robots == ("arm", "arm 2", "dog")
        bases = ("/arm/links/base", "/arm 2/links/base", "/dog/links/trunk")
        sides = [drawn_pose(viewer, name)[1, 3] for name in bases]
        assert sides[0] + 0.3 < sides[1] < sides[2] - 0.3
        ground = viewer.server.scene.get_handle_by_name("/ground")
        assert ground.position[2] == pytest.approx(0.0, abs=1e-9)
        viewer.show({"arm 2": [0.1] * 8})
        np.testing.assert_allclose(viewer.q("arm 2"), 0.1)
        assert not np.allclose(viewer.q("arm"), 0.1)
        assert viewer.q("dog").shape == (19,)
        with Page(viewer) as page:
            visible = [page.control(name)["visible"] for name in viewer.robots]
        assert visible == [True, False, False]
        with pytest.raises(lw.ArgumentError, match="arm, arm 2, dog"):
            viewer.show([0.1] * 8)
        with pytest.raises(lw.NameNotFoundError, match=r"'dig'.*arm, arm 2, dog"):
            viewer.q("dig")


def test_light_and_dark(arm):
    with lw.view(arm, port=0, dark=True) as viewer:

        def brightness():
            return sum(viewer.server.scene.get_handle_by_name("/ground").cell_color)

        dark = brightness()
        with Page(viewer) as page:
            page.set("Dark", False)
            soon(lambda: brightness() > dark)


def test_many_threads_may_show(viewer, fixed):
    def work(seed):
        for k in range(20):
            viewer.show(fixed.random(seed=seed + k))
            viewer.flush()

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    viewer.flush()
    name = fixed.model.joint("elbow_pitch").second
    expected = fixed.transform(name, viewer.q())
    np.testing.assert_allclose(drawn_pose(viewer, f"/arm/links/{name}"), expected, atol=1e-6)


def test_closing_ends_the_threads_and_frees_the_port(arm):
    viewer = lw.view(arm, port=0)
    port = viewer.server.get_port()
    viewer.close()
    viewer.close()
    viewer.wait()
    assert "closed" in repr(viewer)
    assert not any(thread.name == "linkwork viewer" for thread in threading.enumerate())
    with lw.view(arm, port=port) as again:
        assert again.server.get_port() == port


def test_a_port_in_use_is_rejected(arm):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(lw.SourceError, match=f"127.0.0.1:{port}"):
            lw.view(arm, port=port)


@pytest.mark.parametrize(
    ("things", "facts"),
    [
        ((), "at least one robot"),
        (("arm",), "'arm'.*lw.load"),
        ((3,), "Model.*KinDyn.*WorkCell.*3"),
    ],
)
def test_other_objects_than_robots_are_rejected(things, facts):
    with pytest.raises(lw.ArgumentError, match=facts):
        lw.view(*things, port=0)


@pytest.mark.parametrize("port", ["80", 70000, True, -1])
def test_a_port_is_a_number(port):
    with pytest.raises(lw.ArgumentError, match="port: expected"):
        open_server("127.0.0.1", port, "x")


def test_bad_calls_say_what_is_wanted(viewer):
    for call in (viewer.trace, viewer.drag, viewer.frames, viewer.inspect):
        with pytest.raises(lw.NameNotFoundError, match=r"'tol'.*'tool'"):
            call("tol")
    with pytest.raises(lw.ValueRangeError, match=r"length.*1"):
        viewer.trace("tool", length=1)
    with pytest.raises(lw.ShapeError, match=r"vector.*\(3,\).*\(2,\)"):
        viewer.arrow("a", (0, 0, 0), (1, 2))
    with pytest.raises(lw.ValueRangeError, match=r"start.*finite"):
        viewer.arrow("a", (0, 0, np.inf), (1, 2, 3))
    with pytest.raises(lw.ArgumentError, match=r"start.*'x'"):
        viewer.arrow("a", "x", (1, 2, 3))
    with pytest.raises(lw.ArgumentError, match=r"name.*1"):
        viewer.arrow(1, (0, 0, 0), (1, 2, 3))
    with pytest.raises(lw.ArgumentError, match="no workcell"):
        viewer.grip("a", "b")
    with pytest.raises(lw.ArgumentError, match="no workcell"):
        _ = viewer.state
    with pytest.raises(lw.ArgumentError, match="no workcell"):
        viewer.show(lw.load_workcell("two_arms").state())


@pytest.mark.parametrize("package", ["viser", "trimesh"])
def test_a_missing_package_is_named_with_the_extra(arm, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(lw.MissingPackageError, match="pip install viser trimesh"):
        lw.view(arm, port=0)


def test_a_failure_of_drawing_is_reported_and_the_page_goes_on(viewer, fixed, monkeypatch):
    """In the thread that draws, an exception once ended drawing for good, in silence."""
    draw, failures = RobotController.draw, []

    def failing(self):
        failures.append(None)
        raise RuntimeError("no such texture")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monkeypatch.setattr(RobotController, "draw", failing)
        for seed in (1, 2):
            viewer.show(fixed.random(seed=seed))
            soon(lambda seed=seed: len(failures) >= seed)
        monkeypatch.setattr(RobotController, "draw", draw)
        q = fixed.random(seed=3)
        viewer.show(q)
        expected = fixed.transform("wrist", q)
        soon(lambda: np.allclose(drawn_pose(viewer, "/arm/links/wrist"), expected, atol=1e-6))
    (warning,) = caught
    assert warning.category is lw.LinkworkWarning
    assert "RuntimeError: no such texture" in str(warning.message)


def test_a_trace_may_be_cleared_while_it_is_drawn(viewer, fixed):
    trace = viewer.trace("tool")
    stop = threading.Event()
    problems = []

    def draw():
        while not stop.is_set():
            try:
                trace.draw()
            except Exception as error:  # noqa: BLE001 - whatever it is
                problems.append(error)

    thread = threading.Thread(target=draw)
    thread.start()
    for seed in range(40):
        viewer.show(fixed.random(seed=seed))
        if seed % 5 == 4:
            trace.clear()
    trace.remove()
    stop.set()
    thread.join()
    assert not problems
    assert not len(trace.points)


def test_the_camera_moves_back_for_a_trajectory_that_leaves_the_view(viewer, arm):
    near = lw.KinDyn(arm).neutral()
    far = near.copy()
    far[:3] = [0.0, 25.0, 0.0]
    with Page(viewer):
        (client,) = viewer.server.get_clients().values()
        before = np.array(client.camera.position)
        viewer.play(np.stack([near, far]), [0.0, 1.0], start=False)
        assert np.linalg.norm(client.camera.position) > 2 * np.linalg.norm(before)


def test_a_page_without_a_finite_camera_does_not_disturb_others(viewer, arm):
    q = np.tile(lw.KinDyn(arm).neutral(), (2, 1))
    q[1, 1] = 50.0
    with Page(viewer) as wrong, Page(viewer):
        wrong._send({**CAMERA, "position": (np.nan,) * 3, "image_width": 2**62})
        clients = viewer.server.get_clients()
        soon(lambda: np.isnan(clients[0].camera.position).all())
        soon(lambda: len(viewer.server.get_clients()) == 2)
        viewer.play(q, [0.0, 1.0], start=False)
        assert np.linalg.norm(viewer.server.get_clients()[1].camera.position) > 50.0


@pytest.mark.parametrize(
    ("ending", "hinted"),
    [
        ("", True),
        ("viewer.close()", False),
        ("threading.Timer(1, viewer.close).start(); viewer.wait()", False),
    ],
)
def test_a_script_that_ends_before_anybody_looks_says_so(ending, hinted):
    script = "import threading, linkwork as lw; viewer = lw.view(lw.load('pendulum'), port=0); "
    done = subprocess.run(
        [sys.executable, "-c", script + ending],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip

    assert ("viewer.wait()" in done.stderr) == hinted
    assert done.stdout == ""
