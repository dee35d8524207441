"""Results on tensors agree with those on NumPy arrays."""

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
from linkwork.bridges.torch.operators import Replay

SINGLE = ("mass_matrix", "forward_dynamics", "jacobian", "integrate", "velocity_derivatives")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, torch.float64) for name in METHODS] + [(name, torch.float32) for name in SINGLE],
)
def test_every_method_has_the_same_bits_as_in_numpy(name, dtype):
    frames, named = frames_of(name)
    tensors = [tensor.to(dtype) for tensor in inputs_of(name, (3,))]
    numpy_robot = (
        robot().numpy.replace(dtype=np.float32) if dtype is torch.float32 else robot().numpy
    )

    result = getattr(robot(), name)(*frames, *tensors, **named)
    expected = getattr(numpy_robot, name)(*frames, *(t.numpy() for t in tensors), **named)

    assert type(result) is (torch.Tensor if isinstance(expected, np.ndarray) else type(expected))
    for actual, array in zip(listed(result), listed(expected), strict=True):
        assert actual.dtype is dtype
        assert actual.numpy().dtype == array.dtype
        assert np.array_equal(actual.numpy(), array)


def test_methods_and_attributes_are_those_of_the_numpy_class():
    def names(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    assert names(lw.KinDyn) <= names(linkwork.torch.KinDyn)
    for name in METHODS:
        actual = inspect.signature(getattr(robot(), name))
        theirs = inspect.signature(getattr(robot().numpy, name))
        expected = {p for p in theirs.parameters if p not in ("out", "threads", "parameters")}
        assert {p for p in actual.parameters if p not in ("named", "parameters")} == expected
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
    """Workers of a `DataLoader` have one each; LINKWORK_THREADS takes precedence."""
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


def test_attributes_that_are_not_arrays_are_delegated():
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
    kd, numpy_robot = robot(), robot().numpy
    for result, expected in (
        (kd.neutral(), numpy_robot.neutral()),
        (kd.random(4, seed=3), numpy_robot.random(4, seed=3)),
        (kd.q({numpy_robot.joint_names[0]: 0.3}), numpy_robot.q({numpy_robot.joint_names[0]: 0.3})),
        (kd.inertial_parameters(), numpy_robot.inertial_parameters()),
        (kd.jacobian_sparsity("tip"), numpy_robot.jacobian_sparsity("tip")),
        (
            kd.relative_jacobian_sparsity("base", "tip"),
            numpy_robot.relative_jacobian_sparsity("base", "tip"),
        ),
    ):
        assert isinstance(result, torch.Tensor)
        assert np.array_equal(result.numpy(), expected)
    assert robot(dtype=torch.float32).neutral().dtype is torch.float32
    assert robot(dtype=np.float32) == robot(dtype=torch.float32)


def test_contiguous_tensors_are_not_copied_and_results_have_new_memory():
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
    result = robot().bias_force(q, one)
    assert result.shape == (*batch, 8)
    assert np.array_equal(result.numpy(), robot().numpy.bias_force(q.numpy(), one.numpy()))
    assert robot().kinetic_energy(q, nu).shape == batch


def test_tensors_need_not_be_contiguous():
    q, nu = inputs_of("bias_force", (4,))
    expected = robot().bias_force(q, nu)
    wide = torch.zeros(4, 18, dtype=torch.float64)
    wide[:, ::2] = q
    assert torch.equal(robot().bias_force(wide[:, ::2], nu.T.contiguous().T), expected)
    assert torch.equal(robot().bias_force(q[:1].expand(4, 9), nu[:1])[3], expected[0])


def test_lazily_negated_tensors_are_resolved():
    q, nu = inputs_of("bias_force")
    negated = torch.complex(torch.zeros_like(nu), -nu).conj().imag
    assert negated.is_neg()
    assert torch.equal(robot().bias_force(q, negated), robot().bias_force(q, nu))


def test_floats_lists_and_arrays_are_constants():
    q, nu = inputs_of("integrate")[:2]
    dt = torch.tensor(0.25, dtype=torch.float64)
    expected = robot().integrate(q, nu, dt)
    for arguments in (0.25, np.float32(0.25), dt.float(), torch.tensor(0.25).double()):
        assert torch.equal(robot().integrate(q, nu, arguments), expected)
    assert torch.equal(robot().integrate(q, nu.tolist(), dt), expected)
    assert torch.equal(robot().integrate(q=q, nu=nu.numpy(), dt=dt), expected)
    assert torch.equal(robot().integrate(q, nu), robot().integrate(q, nu, 1.0))
    assert robot().com(q.tolist()).dtype is torch.float64
    assert robot(dtype=np.float32).com(q.tolist()).dtype is torch.float32


def test_wrenches_and_gravity_are_keyword_arguments():
    q, nu, tau = inputs_of("forward_dynamics", (3,))
    wrench, gravity = torch.arange(6.0).double(), torch.tensor([0.1, 0.2, -3.0]).double()
    result = robot().forward_dynamics(q, nu, tau=tau, wrenches={"tip": wrench}, gravity=gravity)
    expected = robot().numpy.forward_dynamics(
        *(x.numpy() for x in (q, nu, tau)),
        wrenches={"tip": wrench.numpy()},
        gravity=gravity.numpy(),
    )
    assert np.array_equal(result.numpy(), expected)
    push = robot().external_force(q, wrenches={"tip": wrench})
    assert torch.allclose(push, robot().jacobian("tip", q).mT @ wrench)


def test_relative_jacobians_and_transforms_take_their_frames():
    q = inputs_of("com", (2,))[0]
    kd, numpy_robot = robot(), robot().numpy
    options = {"origin": "base", "axes": "base"}
    assert np.array_equal(
        kd.relative_jacobian("base", "tip", q, **options).numpy(),
        numpy_robot.relative_jacobian("base", "tip", q.numpy(), **options),
    )
    assert kd.transforms(q).shape == (2, len(kd.model.frame_names), 4, 4)
    assert kd.transforms(q, frames=FRAMES["frames"]).shape == (2, 2, 4, 4)


def test_fused_functions_return_tuples_or_results_by_name():
    q, nu = inputs_of("bias_force", (3,))
    both = robot().function("mass_matrix", ("jacobian", "tip"), "bias_force")
    assert repr(both).startswith("<TorchKernel mass_matrix + jacobian(tip) + bias_force: q (9,)")
    M, J, h = both(q, nu)
    expected = robot().numpy.function("mass_matrix", ("jacobian", "tip"), "bias_force")
    for actual, array in zip((M, J, h), expected(q.numpy(), nu.numpy()), strict=True):
        assert np.array_equal(actual.numpy(), array)
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
    derivatives = linkwork.torch.wrap(energy).gradient("nu")
    assert torch.allclose(derivatives(q, nu), robot().mass_matrix(q) @ nu)
    for kind in ("jacobian", "hessian"):
        wrapped = getattr(linkwork.torch.wrap(energy), kind)("q")
        expected = getattr(energy, kind)("q")(q.numpy(), nu.numpy())
        assert np.array_equal(wrapped(q, nu).numpy(), expected)


@pytest.mark.parametrize("name", ["forward_dynamics", "integrate", "difference", "normalize"])
def test_programs_replayed_as_tensor_operations_agree(name):
    replayed = robot(replay=True)
    tensors = inputs_of(name, (3,))
    result = getattr(replayed, name)(*tensors)
    assert result.is_contiguous()
    assert torch.allclose(result, getattr(robot(), name)(*tensors), rtol=1e-12, atol=1e-12)
    shared = getattr(replayed, name)(tensors[0], *(t[0] for t in tensors[1:]))
    assert torch.allclose(shared[0], result[0], rtol=1e-12, atol=1e-12)


def test_meta_tensors_result_in_shapes(recwarn):
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
    (result,) = Replay(kernel)([torch.ones(3, dtype=torch.float64), a])
    assert torch.allclose(result, a.sqrt(), rtol=1e-12)
    (result,) = Replay(kernel.vjp("a"))([torch.ones(3, dtype=torch.float64), a, a])
    assert torch.allclose(result, 0.5 * a.sqrt(), rtol=1e-12)


def test_a_drifted_quaternion_is_normalized_as_in_numpy():
    q, nu = inputs_of("bias_force")
    drifted = q.clone()
    drifted[3:7] *= 1 + 5e-4
    for kd in (robot(), robot(replay=True)):
        assert torch.allclose(kd.bias_force(drifted, nu), kd.bias_force(q, nu), rtol=1e-12)


def test_a_program_that_is_too_long_raises_on_other_devices(monkeypatch):
    kernel = floater().function("com")
    monkeypatch.setattr(kernel, "is_unrolled", False)
    with pytest.raises(lw.ArgumentError, match=r"com: .*too long.*devices"):
        Replay(kernel)
