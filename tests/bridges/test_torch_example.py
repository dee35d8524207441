"""The PyTorch example reaches its goal."""

import runpy
from pathlib import Path

import torch

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_policy_learns_to_balance_a_pole_through_the_dynamics():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        example = runpy.run_path(str(EXAMPLES / "16_torch_policy.py"))
        policy, costs = example["train"](15, 16)
        with torch.no_grad():
            angle = example["trajectory"](policy, *example["starts"](50, seed=1))[-1, :, 1]
    finally:
        torch.set_num_threads(threads)
    assert costs[-1] < costs[0] / 5
    assert angle.abs().median() < 0.5
