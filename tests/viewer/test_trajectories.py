"""Trajectories from files and arrays, and playing them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.trajectories import Player, read_trajectory, trajectory


@pytest.fixture(scope="module")
def kd():
    return lw.KinDyn(lw.robots.load("double_pendulum"))


def test_an_array_of_joints_or_of_all_of_q_or_with_times(kd, rng):
    s = rng.normal(size=(5, kd.nq - 7))
    q = np.concatenate([np.tile(kd.neutral()[:7], (5, 1)), s], axis=1)
    t = np.array([0.0, 0.5, 0.7, 2.0, 3.0])
    for given, times in (
        (s, None),
        (q, None),
        (s.tolist(), None),
        (s.astype(np.float32), None),
        (np.column_stack([t, s]), t),
        (np.column_stack([t, q]), t),
    ):
        found = trajectory(kd, given)
        np.testing.assert_allclose(found.q, q, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found.times, np.arange(5) * 0.02 if times is None else times)
    np.testing.assert_allclose(trajectory(kd, s, t).times, t)


def test_files_hold_the_same(kd, rng, tmp_path):
    s = rng.normal(size=(4, 2))
    t = np.arange(4) * 0.1
    names = kd.joint_names
    np.save(tmp_path / "a.npy", s)
    np.savetxt(tmp_path / "b.csv", s, delimiter=",")
    np.savetxt(
        tmp_path / "c.csv", s[:, ::-1], delimiter=",", header=f"{names[1]},{names[0]}", comments=""
    )
    np.savetxt(
        tmp_path / "d.csv",
        np.column_stack([s, t]),
        delimiter=",",
        header=f"{names[0]}, {names[1]},time",
        comments="",
    )
    for name in "abcd":
        file = next(tmp_path.glob(f"{name}.*"))
        np.testing.assert_allclose(read_trajectory(kd, file).q[:, 7:], s, rtol=1e-12)
    np.testing.assert_allclose(read_trajectory(kd, tmp_path / "d.csv").times, t)
    assert read_trajectory(kd, str(tmp_path / "a.npy")).duration == pytest.approx(0.06)


def test_joints_that_a_file_does_not_name_stay_neutral(kd, tmp_path):
    (tmp_path / "a.csv").write_text(f"\ufeff{kd.joint_names[1]}\n0.5\n0.7\n")
    found = read_trajectory(kd, tmp_path / "a.csv")

    np.testing.assert_allclose(found.q[:, 7:], [[0, 0.5], [0, 0.7]])


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", "1", (lw.SourceError, "expected a .npy or .csv file")),
        ("a.csv", "", (lw.SourceError, "cannot be read as a table of numbers")),
        ("a.csv", "1,2\n1,x\n", (lw.SourceError, "convert string to float: 'x'")),
        ("a.csv", "1,2\n\n1\n", (lw.SourceError, "inhomogeneous shape")),
        ("a.csv", "1,2\n1,nan\n", (lw.ValueRangeError, "samples: row 1 is not finite")),
        ("a.csv", "1,2,3,4,5\n", (lw.ShapeError, "expected (n, 2) joints or (n, 9) with the base")),
        ("a.csv", "time,joint_1\n", (lw.NameNotFoundError, "no joint of one coordinate")),
        ("a.npy", "nothing", (lw.SourceError, "cannot be read as a .npy file")),
    ],
)
def test_a_wrong_file_is_rejected(kd, tmp_path, name, content, problem):
    error, text = problem
    (tmp_path / name).write_text(content)
    with pytest.raises(error) as raised:
        read_trajectory(kd, tmp_path / name)
    assert text in str(raised.value)
    assert name in str(raised.value)


@pytest.mark.parametrize(
    "change", [("(3, 2)", f"({10**12}, 2)"), ("(3, 2)", "(3, (2"), ("f8", "c8")]
)
def test_a_header_that_does_not_fit_its_file_is_rejected(kd, tmp_path, change):
    """Before memory is allocated; and without a part of the numbers, if they are complex."""
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    old, new = change
    text = path.read_bytes()
    end = text.index(b"\n")
    header = text[:end].replace(old.encode(), new.encode()).rstrip().ljust(end)
    path.write_bytes(header[:end] + text[end:])
    with pytest.raises((lw.SourceError, lw.ArgumentError), match=r"a\.npy"):
        read_trajectory(kd, path)


@pytest.mark.parametrize("bits", [0xFF805100, 0x7FC00000, 0x7F800000])
def test_every_nan_and_infinity_is_one_error_without_a_warning(kd, bits):
    """Also one that signals when it is converted."""
    q = np.full((2, 2), bits, dtype=np.uint32).view(np.float32)
    with pytest.raises(lw.ValueRangeError, match="row 0 is not finite"):
        trajectory(kd, q)


def test_a_table_with_an_endless_cell_is_rejected(kd, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"1,{'9' * 200_000}\n")
    with pytest.raises(lw.SourceError, match=r"a\.csv"):
        read_trajectory(kd, path)


def test_a_missing_file_or_one_of_objects_is_rejected(kd, tmp_path):
    with pytest.raises(lw.MissingFileError, match="no such file"):
        read_trajectory(kd, tmp_path / "b.npy")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(lw.SourceError, match="cannot be read"):
        read_trajectory(kd, tmp_path / "o.npy")
    np.savez(tmp_path / "z.npz", a=np.zeros(2))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    with pytest.raises(lw.SourceError, match="holds several arrays"):
        read_trajectory(kd, tmp_path / "z.npy")


@pytest.mark.parametrize(
    ("q", "times", "error", "text"),
    [
        (np.zeros((0, 2)), None, lw.ShapeError, "has no samples"),
        (np.zeros(2), None, lw.ShapeError, "got (2,)"),
        (np.zeros((2, 2)), [0, 0], lw.ValueRangeError, "row 1 is at 0 s, after 0 s"),
        (np.zeros((2, 2)), [0, 1, 2], lw.ShapeError, "times: expected (2,), got (3,)"),
        ("abc", None, lw.ArgumentError, "'abc'"),
    ],
)
def test_a_wrong_array_is_rejected(kd, q, times, error, text):
    with pytest.raises(error) as raised:
        trajectory(kd, q, times)
    assert text in str(raised.value)


def test_between_samples_the_velocity_is_constant(kd):
    found = trajectory(kd, [[0.0, 0.0], [1.0, -2.0], [1.0, -2.0]], [0.0, 2.0, 3.0])
    q, nu = found.at(kd, 0.5)

    np.testing.assert_allclose(q[7:], [0.25, -0.5], rtol=1e-12)
    np.testing.assert_allclose(nu[6:], [0.5, -1.0], rtol=1e-12)
    np.testing.assert_allclose(found.at(kd, 2.0)[1], 0)
    np.testing.assert_allclose(found.at(kd, 99.0)[0][7:], [1.0, -2.0], rtol=1e-12)
    np.testing.assert_allclose(found.at(kd, -1.0)[0][7:], [0.0, 0.0], atol=1e-15)
    alone = trajectory(kd, [[0.3, 0.4]])
    np.testing.assert_allclose(alone.at(kd, 5.0)[0][7:], [0.3, 0.4])


def test_a_player_follows_its_clock(kd):
    now = [10.0]
    player = Player(kd, trajectory(kd, [[0.0, 0.0], [1.0, 1.0]], [5.0, 7.0]), lambda: now[0])
    player.start()
    now[0] = 10.5
    player.speed = 2.0
    player.advance()
    assert (player.time, player.playing) == (1.0, True)
    np.testing.assert_allclose(player.state()[0][7:], 0.5)
    now[0] = 11.25
    player.advance()
    assert player.time == pytest.approx(0.5)  # from the start again
    player.stop()
    now[0] = 200.0
    player.advance()
    assert player.time == pytest.approx(0.5)
    player.seek(1.5)
    assert player.time == 1.5
    player.seek(-3)
    assert player.time == 0.0


def test_a_trajectory_of_one_sample_stops_at_once(kd):
    player = Player(kd, trajectory(kd, [[0.3, 0.4]]))
    player.start()
    player.advance()
    assert (player.time, player.playing) == (0.0, False)
