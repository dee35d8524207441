"""Dynamics of batches with different loads; compilation, caches and errors."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.grasps import ARM, OBJECTS, bench
from tests.support.kernels import wait_for_background
from tests.support.models import assert_close

import linkwork as lw
from linkwork.engine.runtime import backends, compiler
from linkwork.workcell.cell import cache

CELL = bench()
DYN = CELL.dynamics("arm")
ROBOT = lw.KinDyn(ARM, floating=False)


def random_states(rng, n, carriers=("arm.tool", "table", "arm.wrist", "box", "WORLD")):
    """Random states in which objects are gripped, elsewhere, or attached to each other."""
    states = []
    for k in range(n):
        state = CELL.device("arm").set_q(CELL.state(), ROBOT.random(seed=k))
        for name in OBJECTS:
            where = str(rng.choice([c for c in carriers if c != name]))
            if CELL.parent("box", state) != name or where != "box":
                state = CELL.grip(state, name, where)
        states.append(state)
    return states


def one_by_one(method, states, *others):
    return np.stack(
        [getattr(DYN, method)(s, *(x[k] for x in others)) for k, s in enumerate(states)]
    )


@pytest.mark.parametrize("n", [3, 24])
def test_rows_may_have_different_loads(n, rng):
    states = random_states(rng, n)
    rows = lw.State.stack(states)
    nu, tau = rng.normal(size=(2, n, ROBOT.nv))
    for name, argument in (
        ("mass_matrix", ()),
        ("gravity_force", ()),
        ("bias_force", (nu,)),
        ("forward_dynamics", (nu, tau)),
        ("centroidal_momentum", (nu,)),
        ("com", ()),
        ("total_mass", ()),
    ):
        result = getattr(DYN, name)(rows, *argument)
        assert_close(result, one_by_one(name, states, *argument), 1e-10)


def test_batch_shapes_and_broadcasting(rng):
    states = lw.State.stack(random_states(rng, 6, ("arm.tool", "table")))
    grid = lw.State.stack([states[:3], states[3:]])
    M = DYN.mass_matrix(grid)
    assert_close(M.reshape(6, *M.shape[2:]), DYN.mass_matrix(states), 1e-13)
    nu = rng.normal(size=(5, 1, ROBOT.nv))
    assert DYN.bias_force(states, nu).shape == (5, 6, ROBOT.nv)
    assert DYN.bias_force(states[0], nu[:, 0]).shape == (5, ROBOT.nv)
    assert DYN.mass_matrix(states[:0]).shape == (0, ROBOT.nv, ROBOT.nv)
    out = np.empty((6, ROBOT.nv, ROBOT.nv))
    assert DYN.mass_matrix(states, out=out, threads=1) is out
    assert_close(out, M.reshape(out.shape), 1e-13)


def test_cells_without_objects_and_robots_without_joints():
    alone = lw.WorkCell("alone").with_robot("arm", ARM, end="tool")
    dyn, one = alone.dynamics("arm"), alone.state()
    expected = ROBOT.mass_matrix(alone.device("arm").get_q(one))
    assert_close(dyn.mass_matrix(one), expected, 1e-13)
    assert_close(dyn.mass_matrix(lw.State.stack([one, one])), [expected] * 2, 1e-13)
    assert dyn.mass_matrix(one.broadcast(3, 2)).shape == (3, 2, *expected.shape)
    lump = lw.Model(name="lump", links=(lw.Link(name="body", inertia=OBJECTS["box"]),))
    cell = lw.WorkCell("still").with_robot("lump", lump)
    assert cell.dynamics("lump").mass_matrix(cell.state()).shape == (0, 0)


def test_path_with_a_constant_load(rng):
    held = CELL.grip(CELL.state(), "box", "arm.tool")
    q = ROBOT.random(7, seed=2)
    path = CELL.device("arm").path(held, q)
    p = DYN.parameters(path)
    assert p.shape == (DYN.kd.parameters.size,)  # the same in all rows
    expected = [DYN.mass_matrix(CELL.device("arm").set_q(held, row)) for row in q]
    assert_close(DYN.mass_matrix(path), expected, 1e-13)
    poses = CELL.set_values(path, "box", np.array([0, 0, 0, 1.0, 0, 0, 0]) + 0 * q[:, :1])
    shifted = poses.values.copy()
    shifted[:, CELL.layout.span(CELL.frame_index("box")).start] = np.arange(7)
    moving = lw.State(CELL.layout, shifted, poses.parents)
    assert DYN.parameters(moving).shape == (7, DYN.kd.parameters.size)
    expected = [DYN.mass_matrix(moving[k]) for k in range(7)]
    assert_close(DYN.mass_matrix(moving), expected, 1e-13)


def test_parameters_can_be_reused_in_loops(rng):
    held = CELL.grip(CELL.state(), "box", "arm.tool")
    q, nu = ROBOT.random(seed=5), rng.normal(size=ROBOT.nv)
    p = DYN.parameters(held)
    at = CELL.device("arm").set_q(held, q)
    assert_close(DYN.kd.bias_force(q, nu, parameters=p), DYN.bias_force(at, nu), 1e-14)
    assert not p.flags.writeable
    other = CELL.grip(held, "can", "arm.forearm")
    text = r"arm\.tool.*cell\.dynamics\(device, carriers="
    with pytest.raises(lw.ArgumentError, match=text):
        DYN.parameters(other)
    wider = CELL.dynamics("arm", carriers=["arm.tool", "arm.forearm"])
    assert wider.parameters(other).shape == (20,)
    assert_close(wider.mass_matrix(other), DYN.mass_matrix(other), 1e-12)


def test_gripping_compiles_nothing(monkeypatch, rng):
    cell = bench()
    dyn = cell.dynamics("arm")
    nu = rng.normal(size=ROBOT.nv)
    first = cell.grip(cell.state(), "box", "arm.tool")
    dyn.bias_force(first, nu)
    wait_for_background()  # kernels of other tests may still be compiled there

    def refuse(*given, **named):
        raise AssertionError("something is compiled")

    monkeypatch.setattr(backends, "emit_llvm", refuse)
    monkeypatch.setattr(compiler, "compiled", refuse)
    states = [first, cell.release(first, "box"), cell.state()]
    for name in OBJECTS:
        states.append(cell.grip(states[-1], name, "arm.tool"))
        states.append(cell.grip(states[-1], name, "arm.hand"))  # fixed to the tool
    result = dyn.bias_force(lw.State.stack(states), nu)
    assert_close(result, [dyn.bias_force(state, nu) for state in states], 1e-10)
    assert len(np.unique(np.round(result[:, 0], 9))) >= 5


def test_many_threads_and_processes_agree(rng):
    states = random_states(rng, 12, ("arm.tool", "table"))
    expected = one_by_one("mass_matrix", states)
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(DYN.mass_matrix, states * 4))
    assert_close(result, np.concatenate([expected] * 4), 1e-13)
    again = pickle.loads(pickle.dumps(DYN))
    assert_close(again.mass_matrix(states[0]), expected[0], 1e-13)
    assert again.carriers == DYN.carriers
    assert repr(again) == "<CellDynamics of 'arm' in 'bench'>"


def test_cache_of_attachments_is_limited(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_SIZE", 2)
    dyn = CELL.dynamics("arm")
    for k in range(5):
        state = CELL.grip(CELL.state(), list(OBJECTS)[k % 4], "arm.tool")
        state = CELL.set_values(state, list(OBJECTS)[k % 4], [0.1 * k, 0, 0, 1, 0, 0, 0])
        fresh = CELL.dynamics("arm").mass_matrix(state)
        assert_close(dyn.mass_matrix(state), fresh, 1e-15)


def test_invalid_arguments_are_rejected():
    with pytest.raises(lw.NameNotFoundError, match=r"device.*'arn'.*arm"):
        CELL.dynamics("arn")
    text = "frame of device 'arm'.*'box'.*arm.tool"
    with pytest.raises(lw.NameNotFoundError, match=text):
        CELL.dynamics("arm", carriers=["box"])
    with pytest.raises(lw.ArgumentError, match=r"carriers: .*list.*'arm\.tool'"):
        CELL.dynamics("arm", carriers="arm.tool")
    with pytest.raises(lw.ArgumentError, match=r"gravity: .*three"):
        CELL.dynamics("arm", gravity=(0, 0))
    for option in ("gravity", "parameters"):
        with pytest.raises(lw.ArgumentError, match=f"{option}.*unknown"):
            DYN.bias_force(CELL.state(), np.zeros(DYN.kd.nv), **{option: np.zeros(3)})
    other = bench().with_frame("more", movable=True)
    with pytest.raises(lw.LinkworkError, match="more"):
        DYN.mass_matrix(other.state())
    with pytest.raises(lw.NameNotFoundError, match=r"frame.*'bax'"):
        DYN.jacobian("bax", CELL.state())
    with pytest.raises(lw.ShapeError, match=r"nu: .*\(3,\)"):
        DYN.bias_force(CELL.state(), np.zeros(3))
    free = CELL.with_device(lw.FreeDevice("lone", "WORLD", "box"))
    text = r"'lone'.*movable.*cell\.with_robot"
    with pytest.raises(lw.ArgumentError, match=text):
        free.dynamics("lone")
