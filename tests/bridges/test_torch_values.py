"""Tensors in and out: the numbers are those of the kernels for NumPy."""

import inspect
import pickle

import numpy as np
import pytest
import torch
from tests.support.kernels import floater
from tests.support.tensors import FRAMES, frames_of, inputs_of, listed, robot

import linkwork as lw
import linkwork.torch
from linkwork.bridges.methods import METHODS
from linkwork.bridges.torch.replay import Replay

SINGLE = ("mass_matrix", "forward_dynamics", "jacobian", "integrate", "velocity_derivatives")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, torch.float64) for name in METHODS] + [(name, torch.float32) for name in SINGLE],
)
def test_every_method_gives_the_bits_that_numpy_gets(name, dtype):
    frames, named = frames_of(name)
    tensors = [tensor.to(dtype) for tensor in inputs_of(name, (3,))]
    own = robot().numpy.replace(dtype=np.float32) if dtype is torch.float32 else robot().numpy

    found = getattr(robot(), name)(*frames, *tensors, **named)
    wanted = getattr(own, name)(*frames, *(t.numpy() for t in tensors), **named)

    assert type(found) is (torch.Tensor if isinstance(wanted, np.ndarray) else type(wanted))
    for mine, array in zip(listed(found), listed(wanted), strict=True):
        assert mine.dtype is dtype
        assert mine.numpy().dtype == array.dtype
        assert np.array_equal(mine.numpy(), array)


def test_methods_and_attributes_are_those_of_numpy():
    def names(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    assert names(lw.KinDyn) <= names(linkwork.torch.KinDyn) | {"dtype"}
    for name in METHODS:
        mine = inspect.signature(getattr(robot(), name))
        theirs = inspect.signature(getattr(robot().numpy, name))
        wanted = {p for p in theirs.parameters if p not in ("out", "threads", "parameters")}
        assert {p for p in mine.parameters if p not in ("named", "parameters")} == wanted
        assert inspect.getdoc(getattr(robot(), name)).splitlines()[0] in inspect.getdoc(
            getattr(lw.KinDyn, name)
        )


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.delenv("LINKWORK_THREADS", raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_batches_use_no_more_threads_than_pytorch(monkeypatch):
    """Workers of a `DataLoader` have one each; LINKWORK_THREADS goes before it."""
    counts = []
    function = linkwork.torch.wrap(robot().numpy.mass_matrix)
    operator = function.operator(torch.float64)
    kernel = operator.kernel

    def counted(*arrays, threads):
        counts.append(threads)
        return kernel(*arrays, threads=threads)

    operator.kernel = counted
    q = robot().random(3000, seed=0)
    function(q)
    monkeypatch.setenv("LINKWORK_THREADS", "2")
    function(q)
    assert counts == [1, None]


@pytest.mark.usefixtures("one_thread")
def test_rollouts_use_no_more_threads_than_pytorch(monkeypatch):
    @lw.compile(x=2, u=2)
    def step(x, u):
        return x + 0.1 * u

    counts = []
    for name in ("run", "_run_back"):
        run = getattr(lw.Rollout, name)

        def counted(*arguments, run=run):
            counts.append(arguments[-1])
            return run(*arguments)

        monkeypatch.setattr(lw.Rollout, name, counted)
    simulate = linkwork.torch.wrap(lw.Rollout(step))
    x = torch.zeros(5, 2, dtype=torch.float64, requires_grad=True)
    simulate(x, torch.ones(5, 3, 2, dtype=torch.float64)).sum().backward()
    assert counts == [1, 1]


def test_what_is_no_array_is_that_of_the_robot():
    kd = robot()
    assert (kd.nq, kd.nv, kd.joint_names) == (9, 8, kd.numpy.joint_names)
    assert kd.model is kd.numpy.model
    assert repr(kd).startswith("linkwork.torch.KinDyn('double_pendulum', ")
    assert kd.replace(representation="body").representation == "body"
    assert kd.replace(representation="body") != kd
    assert kd == linkwork.torch.KinDyn(kd.model)
    replayed = kd.replace(replay=True, representation="body")
    assert (replayed.replay, replayed.representation) == (True, "body")
    assert replayed.replace(representation="mixed") == linkwork.torch.KinDyn(kd.model, replay=True)
    assert len({kd, kd.replace(replay=True), kd.replace(replay=False)}) == 2
    assert pickle.loads(pickle.dumps(replayed)) == replayed
    with pytest.raises(lw.FrozenError, match=r"gravity: .*KinDyn"):
        kd.gravity = (0, 0, 0)


def test_configurations_and_constants_are_tensors():
    kd, own = robot(), robot().numpy
    for found, wanted in (
        (kd.neutral(), own.neutral()),
        (kd.random(4, seed=3), own.random(4, seed=3)),
        (kd.q({own.joint_names[0]: 0.3}), own.q({own.joint_names[0]: 0.3})),
        (kd.inertial_parameters(), own.inertial_parameters()),
        (kd.jacobian_sparsity("tip"), own.jacobian_sparsity("tip")),
        (
            kd.relative_jacobian_sparsity("base", "tip"),
            own.relative_jacobian_sparsity("base", "tip"),
        ),
    ):
        assert isinstance(found, torch.Tensor)
        assert np.array_equal(found.numpy(), wanted)
    assert robot(dtype=torch.float32).neutral().dtype is torch.float32
    assert robot(dtype=np.float32) == robot(dtype=torch.float32)


def test_memory_of_contiguous_tensors_is_read_where_it_is_and_results_are_fresh():
    q = robot().random(5, seed=0)
    M = robot().mass_matrix(q)
    before = M.clone()
    q[:] = robot().neutral()
    robot().mass_matrix(q)
    assert torch.equal(M, before)


@pytest.mark.parametrize("batch", [(), (1,), (2, 3), (0,)])
def test_batches_broadcast_as_in_numpy(batch):
    q, nu = inputs_of("bias_force", batch)
    one = inputs_of("bias_force", seed=5)[1]
    found = robot().bias_force(q, one)
    assert found.shape == (*batch, 8)
    assert np.array_equal(found.numpy(), robot().numpy.bias_force(q.numpy(), one.numpy()))
    assert robot().kinetic_energy(q, nu).shape == batch


def test_tensors_need_not_be_contiguous():
    q, nu = inputs_of("bias_force", (4,))
    wanted = robot().bias_force(q, nu)
    wide = torch.zeros(4, 18, dtype=torch.float64)
    wide[:, ::2] = q
    assert torch.equal(robot().bias_force(wide[:, ::2], nu.T.contiguous().T), wanted)
    assert torch.equal(robot().bias_force(q[:1].expand(4, 9), nu[:1])[3], wanted[0])


def test_a_lazily_negated_tensor_has_its_sign():
    q, nu = inputs_of("bias_force")
    negated = torch.complex(torch.zeros_like(nu), -nu).conj().imag
    assert negated.is_neg()
    assert torch.equal(robot().bias_force(q, negated), robot().bias_force(q, nu))


def test_numbers_lists_and_arrays_are_constants():
    q, nu = inputs_of("integrate")[:2]
    dt = torch.tensor(0.25, dtype=torch.float64)
    wanted = robot().integrate(q, nu, dt)
    for given in (0.25, np.float32(0.25), dt.float(), torch.tensor(0.25).double()):
        assert torch.equal(robot().integrate(q, nu, given), wanted)
    assert torch.equal(robot().integrate(q, nu.tolist(), dt), wanted)
    assert torch.equal(robot().integrate(q=q, nu=nu.numpy(), dt=dt), wanted)
    assert torch.equal(robot().integrate(q, nu), robot().integrate(q, nu, 1.0))
    assert robot().com(q.tolist()).dtype is torch.float64
    assert robot(dtype=np.float32).com(q.tolist()).dtype is torch.float32


def test_wrenches_and_gravity_are_given_by_name():
    q, nu, tau = inputs_of("forward_dynamics", (3,))
    wrench, gravity = torch.arange(6.0).double(), torch.tensor([0.1, 0.2, -3.0]).double()
    found = robot().forward_dynamics(q, nu, tau=tau, wrenches={"tip": wrench}, gravity=gravity)
    wanted = robot().numpy.forward_dynamics(
        *(x.numpy() for x in (q, nu, tau)),
        wrenches={"tip": wrench.numpy()},
        gravity=gravity.numpy(),
    )
    assert np.array_equal(found.numpy(), wanted)
    push = robot().external_force(q, wrenches={"tip": wrench})
    assert torch.allclose(push, robot().jacobian("tip", q).mT @ wrench)


def test_relative_jacobians_and_transforms_take_their_frames():
    q = inputs_of("com", (2,))[0]
    kd, own = robot(), robot().numpy
    options = {"origin": "base", "axes": "base"}
    assert np.array_equal(
        kd.relative_jacobian("base", "tip", q, **options).numpy(),
        own.relative_jacobian("base", "tip", q.numpy(), **options),
    )
    assert kd.transforms(q).shape == (2, len(kd.model.frame_names), 4, 4)
    assert kd.transforms(q, frames=FRAMES["frames"]).shape == (2, 2, 4, 4)


def test_fused_functions_give_tuples_and_names():
    q, nu = inputs_of("bias_force", (3,))
    both = robot().function("mass_matrix", ("jacobian", "tip"), "bias_force")
    assert repr(both).startswith("<TorchKernel mass_matrix + jacobian(tip) + bias_force: q (9,)")
    M, J, h = both(q, nu)
    wanted = robot().numpy.function("mass_matrix", ("jacobian", "tip"), "bias_force")
    for mine, array in zip((M, J, h), wanted(q.numpy(), nu.numpy()), strict=True):
        assert np.array_equal(mine.numpy(), array)
    assert list(both.named(q, nu)) == ["mass_matrix", "jacobian_tip", "bias_force"]
    assert robot().function("mass_matrix", ("jacobian", "tip"), "bias_force") is both


def test_any_kernel_can_be_wrapped():
    @lw.compile(x=3, A=(2, 3))
    def product(x, A):
        return A @ np.sin(x), x @ x

    f = linkwork.torch.wrap(product)
    x, A = torch.randn(4, 3), torch.randn(2, 3)
    y, square = f(x, A=A)
    assert (y.shape, square.shape, y.dtype) == ((4, 2), (4,), torch.float32)
    assert torch.allclose(y, torch.sin(x) @ A.T)

    q, nu = inputs_of("kinetic_energy")
    energy = robot().numpy.kinetic_energy
    slopes = linkwork.torch.wrap(energy).gradient("nu")
    assert torch.allclose(slopes(q, nu), robot().mass_matrix(q) @ nu)
    for kind in ("jacobian", "hessian"):
        wrapped = getattr(linkwork.torch.wrap(energy), kind)("q")
        wanted = getattr(energy, kind)("q")(q.numpy(), nu.numpy())
        assert np.array_equal(wrapped(q, nu).numpy(), wanted)


@pytest.mark.parametrize("name", ["forward_dynamics", "integrate", "difference", "normalize"])
def test_programs_replayed_as_tensor_operations_agree(name):
    replayed = robot(replay=True)
    tensors = inputs_of(name, (3,))
    found = getattr(replayed, name)(*tensors)
    assert found.is_contiguous()
    assert torch.allclose(found, getattr(robot(), name)(*tensors), rtol=1e-12, atol=1e-12)
    shared = getattr(replayed, name)(tensors[0], *(t[0] for t in tensors[1:]))
    assert torch.allclose(shared[0], found[0], rtol=1e-12, atol=1e-12)


def test_tensors_without_numbers_give_shapes(recwarn):
    q, nu, tau = (x.to("meta") for x in inputs_of("forward_dynamics", (3, 2)))
    assert robot().forward_dynamics(q, nu, tau).shape == (3, 2, 8)
    assert robot().forward_dynamics(q, nu, tau).device.type == "meta"
    assert robot().inverse_dynamics_derivatives(q, nu, tau).q.shape == (3, 2, 8, 8)
    assert robot().integrate(q, nu, 0.1).shape == (3, 2, 9)
    assert not recwarn.list  # nothing is computed


def test_loops_are_replayed_on_other_devices():
    def newton(x, a):
        return lw.repeat(20, lambda y: 0.5 * (y + a / np.where(y > 0.0, y, 1.0)), x)

    kernel = lw.compile(x=3, a=3)(newton)
    a = torch.rand(4, 3, dtype=torch.float64) + 0.5
    (found,) = Replay(kernel)([torch.ones(3, dtype=torch.float64), a])
    assert torch.allclose(found, a.sqrt(), rtol=1e-12)
    (found,) = Replay(kernel.vjp("a"))([torch.ones(3, dtype=torch.float64), a, a])
    assert torch.allclose(found, 0.5 * a.sqrt(), rtol=1e-12)


def test_a_drifted_quaternion_is_normalised_as_in_numpy():
    q, nu = inputs_of("bias_force")
    drifted = q.clone()
    drifted[3:7] *= 1 + 5e-4
    for kd in (robot(), robot(replay=True)):
        assert torch.allclose(kd.bias_force(drifted, nu), kd.bias_force(q, nu), rtol=1e-12)


def test_a_program_that_is_too_long_is_refused_on_other_devices(monkeypatch):
    kernel = floater().function("com")
    monkeypatch.setattr(kernel, "is_unrolled", False)
    with pytest.raises(lw.ArgumentError, match=r"com: .*too long.*devices"):
        Replay(kernel)
