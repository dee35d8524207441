"""Code for processors with vectors of two doubles: x86-64 without AVX (SSE2), and 64-bit ARM."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from tests.support.kernels import output_of

from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, this_machine

# Compiles for the first x86-64 processors, whatever this processor is.
SSE2 = """
from linkwork.engine.runtime import backends, background, compiler, processor
machine, target = processor.Machine("plain", 2), processor.this_target()
plain = processor.Target("x86-64", "", target.triple)
backends.this_machine = lambda: machine
background.this_target = compiler.this_target = lambda: plain
"""
RESULTS = """
kd = lw.KinDyn(lw.robots.load({robot!r}), floating=True, dtype={dtype})
names = ("mass_matrix", "forward_dynamics", "forward_dynamics_derivatives")
kd.warmup(*names)
q, nu, tau = motion(kd, 11, seed=5)
inputs = dict(q=q, nu=nu, tau=tau)
results = []
for name in names:
    kernel = kd.function(name)
    assert kernel.status == "fast", kernel.status
    assert {width} in (0, kernel.code.width), kernel.code.width
    arguments = [inputs[port.name] for port in kernel.signature.inputs]
    for rows in (slice(None), 0):  # a batch, of which some rows remain, and one row
        found = kernel(*(part[rows] for part in arguments))
        parts = found if isinstance(found, tuple) else (found,)
        results += [part / np.abs(part).max(initial=1.0) for part in parts]
np.save({file!r}, np.concatenate([part.ravel() for part in results]))
"""


@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="SSE2 is an instruction set of x86-64")
@pytest.mark.parametrize(
    ("robot", "dtype", "width", "tolerance"),
    [("arm", "float", 2, 1e-11), ("double_pendulum", "np.float32", 4, 1e-3)],
)
def test_code_for_sse2_computes_the_same(robot, dtype, width, tolerance, tmp_path):
    for name, setting, expected in (("here", "", 0), ("sse2", SSE2, width)):
        file = str(tmp_path / f"{name}.npy")
        output_of(setting + RESULTS.format(robot=robot, dtype=dtype, width=expected, file=file))
    here, sse2 = (np.load(tmp_path / f"{name}.npy") for name in ("here", "sse2"))
    np.testing.assert_allclose(sse2, here, rtol=0, atol=tolerance)  # no element exceeds 1


@pytest.mark.skipif(platform.machine() not in ("aarch64", "arm64"), reason="for 64-bit ARM")
def test_arm_has_vectors_of_two_doubles(kernel):
    """NEON, which every 64-bit ARM processor has, is used."""
    assert this_machine().lanes == 2
    assert kernel.code.width == 2
