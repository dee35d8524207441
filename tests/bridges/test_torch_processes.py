"""Other processes: pickles, workers of a DataLoader, and a process without PyTorch."""

import pickle

import pytest
import torch
from tests.support.kernels import output_of
from tests.support.tensors import inputs_of, robot
from torch.utils.data import DataLoader, Dataset

import linkwork as lw
import linkwork.torch


class MassMatrices(Dataset):
    """Mass matrices, computed in the process that requests them."""

    def __init__(self):
        self.kd = robot()
        self.com = linkwork.torch.wrap(robot().numpy.com)
        self.q = self.kd.random(6, seed=0)

    def __len__(self):
        return len(self.q)

    def __getitem__(self, index):
        return self.kd.mass_matrix(self.q[index]), self.com(self.q[index])


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12: there are threads
def test_workers_of_a_data_loader_compute(start):
    data = MassMatrices()
    robot().mass_matrix(data.q)  # a thread may have been started here
    loader = DataLoader(data, batch_size=3, num_workers=1, multiprocessing_context=start)
    result = [torch.cat(parts) for parts in zip(*loader, strict=True)]
    assert torch.allclose(result[0], robot().mass_matrix(data.q), rtol=1e-12)
    assert torch.allclose(result[1], robot().com(data.q), rtol=1e-12)


def test_everything_can_be_pickled():
    q, nu = inputs_of("bias_force")
    kd = pickle.loads(pickle.dumps(robot(representation="body", replay=True)))
    assert kd == robot(representation="body", replay=True)
    assert kd.replay
    for function in (robot().bias_force, robot().bias_force.jacobian("q")):
        again = pickle.loads(pickle.dumps(function))
        assert torch.equal(again(q, nu), function(q, nu))


def test_importing_linkwork_does_not_import_torch():
    code = """
import sys, linkwork
kd = linkwork.KinDyn(linkwork.robots.load("pendulum"), floating=True)
print("torch" in sys.modules)
"""
    assert output_of(code).strip() == "False"


def test_a_missing_package_is_named():
    code = """
import sys
sys.modules["torch"] = None
import linkwork
try:
    import linkwork.torch
except linkwork.MissingPackageError as error:
    print(error)
"""
    message = output_of(code).strip()
    assert message.startswith("linkwork.torch ")
    assert message.endswith("pip install torch")


def test_importing_the_bridge_does_not_import_the_compiler():
    """Importing the compiler takes seconds."""
    code = """
import sys, torch
before = "torch._dynamo" in sys.modules
import linkwork.torch
print(before, "torch._dynamo" in sys.modules)
"""
    assert output_of(code).strip() == "False False"


def test_threads_may_share_a_function():
    from concurrent.futures import ThreadPoolExecutor

    q, nu = inputs_of("bias_force", (8,))
    kd = linkwork.torch.KinDyn(robot().model)

    def slope(k):
        actual = q[k].clone().requires_grad_()
        kd.bias_force(actual, nu[k]).sum().backward()
        return actual.grad

    with ThreadPoolExecutor(4) as pool:
        result = torch.stack(list(pool.map(slope, range(8))))
    expected = torch.func.vmap(torch.func.grad(lambda q, nu: robot().bias_force(q, nu).sum()))(
        q, nu
    )
    assert torch.allclose(result, expected)
    assert lw.torch is linkwork.torch
