"""The same bits on other processors: other vector instructions, and 64-bit ARM, run by QEMU.

The test on ARM is defined where a cross-compiler, which links the code, and QEMU are installed:
`make test-embedded` prints how.
"""

from __future__ import annotations

import shutil
import subprocess

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.support.exports import build, package_for, run
from tests.support.expressions import STEPS, program_for, random_program, run_compiled

import linkwork as lw
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.runtime import compiler
from linkwork.engine.runtime.compiler import FAST
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, Target, this_machine
from linkwork.engine.symbolic.fusion import fused

WITHOUT_LIBM = [step for k, step in enumerate(STEPS) if k not in (3, 5)]
ON_ARM = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
ROWS = 32

MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int64_t f(void *const *in, void *const *out, const int64_t *strides, int64_t rows, void *workspace);
static void *block(size_t bytes) {{ return aligned_alloc(64, (bytes + 127) / 64 * 64); }}
int main(void)
{{
  const int64_t sizes[] = {{ {inputs} }}, results[] = {{ {outputs} }}, rows = {rows};
  void *in[{n_in}], *out[{n_out}];
  int64_t strides[{n_in} + 1] = {{0}};
  for (int k = 0; k < {n_in}; k++) {{
    size_t count = (size_t)((strides[k] = sizes[k]) * rows);
    if (fread(in[k] = block(count * sizeof({t})), sizeof({t}), count, stdin) != count) return 2;
  }}
  for (int k = 0; k < {n_out}; k++) out[k] = block((size_t)(results[k] * rows) * sizeof({t}));
  f(in, out, strides, rows, block((size_t)f(NULL, NULL, NULL, 0, NULL)));
  for (int k = 0; k < {n_out}; k++)
    fwrite(out[k], sizeof({t}), (size_t)(results[k] * rows), stdout);
  return 0;
}}
"""


def programs():
    """With sums, branches, square roots, sine and cosine, loops, and the dynamics of a robot."""
    kd = lw.KinDyn(lw.load("double_pendulum"), floating=True)
    return {
        "expressions": random_program(4, WITHOUT_LIBM)[0],
        "loop": program_for(in_a_loop, (3,)),
        "forward dynamics": kd.forward_dynamics.program,
    }


def in_a_loop(a):
    return lw.repeat(9, lambda x: x * np.sin(x[::-1]) + np.sin(a) / (2.0 + x * x), a * 0.1)


def rows_for(program, dtype):
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-1, 1, (ROWS, port.size)) for port in program.inputs]
    for one in rows:
        one[rng.random(one.shape) < 0.1] = -0.0
        one[3] *= 1e-310 if dtype is np.float64 else 1e-41  # subnormal numbers
        one[5] *= 1e3  # large angles
    return [one.astype(dtype) for one in rows]


def bits(arrays):
    return [np.where(np.isnan(array), np.nan, array).tobytes() for array in arrays]


@pytest.fixture
def compile_for(monkeypatch):
    """Compile for another processor of this architecture."""
    here = compiler.this_target()

    def use(cpu, features=""):
        monkeypatch.setattr(compiler, "this_target", lambda: Target(cpu, features, here.triple))
        monkeypatch.setattr(
            "tests.support.expressions._code",
            lambda ir, level: compiler.load_code(compiler.compiled(ir, level)),
        )

    return use


@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="for x86-64")
@pytest.mark.skipif(not this_machine().has_fma, reason="the code is run")
@pytest.mark.parametrize("scalar", ["double", "float"])
def test_processors_with_fused_steps_give_the_same_bits(scalar, compile_for):
    """AVX2 and AVX-512, if this processor has it."""
    program = fused(programs()["expressions"])
    rows, found = rows_for(program, np.float32 if scalar == "float" else np.float64), []
    for cpu in ("haswell", "skylake-avx512")[: 2 if this_machine().lanes == 8 else 1]:
        compile_for(cpu)
        found += [bits(run_compiled(program, *rows, width=w, scalar=scalar)) for w in (1, 4, 8, 16)]
    assert found == found[:1] * len(found)


@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="for x86-64")
@pytest.mark.parametrize("name", programs())
def test_processors_without_fused_steps_have_other_bits(name, compile_for):
    """But the same for any number of rows, and they agree up to rounding."""
    program = programs()[name]
    rows = rows_for(program, np.float64)
    fused_bits = bits(run_compiled(fused(program), *rows)) if this_machine().has_fma else []
    compile_for("x86-64")
    found = [run_compiled(program, *rows, width=width) for width in (1, 2, 4)]
    assert bits(found[0]) == bits(found[1]) == bits(found[2])
    if fused_bits:
        assert bits(found[0]) != fused_bits
    for one, other in zip(found[0], run_compiled(fused(program), *rows), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * abs(one).max())


if all(map(shutil.which, ON_ARM)):

    @pytest.mark.slow
    @pytest.mark.parametrize("scalar", ["double", "float"])
    @pytest.mark.parametrize("name", programs())
    def test_arm_has_the_bits_of_this_machine(name, scalar, tmp_path):
        """Code of one row and of a vector register of NEON."""
        program = fused(programs()[name])
        dtype = np.float64 if scalar == "double" else np.float32
        rows = rows_for(program, dtype)
        expected = run_compiled(program, *rows, scalar=scalar)
        for width in (1, 2 if scalar == "double" else 4):
            compile_for_arm(emit_llvm(program, "f", Lanes(width, scalar)), program, dtype, tmp_path)
            found = run_on_arm(["./main"], rows, tmp_path)
            sizes = np.cumsum([one.size for one in expected])[:-1]
            assert bits(np.split(found, sizes)) == bits(expected)

    @pytest.mark.slow
    @pytest.mark.parametrize("real", [DOUBLE, FLOAT], ids=["double", "float"])
    def test_exported_c_on_arm_has_the_bits_of_this_machine(real, tmp_path):
        program = programs()["forward dynamics"]
        rows = rows_for(program, np.float64 if real is DOUBLE else np.float32)
        (expected,) = run_compiled(fused(program), *rows, scalar=real.name)
        build(package_for(program, real), tmp_path, "-static", compiler=ON_ARM[0])
        found = run_on_arm(["./lw_check", "0", ROWS], [np.concatenate(rows, axis=1)], tmp_path)
        assert bits([found]) == bits([expected])


def compile_for_arm(ir, program, dtype, folder):
    """Compile LLVM IR for a Cortex-A72, with a program that reads rows and writes the results."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu="cortex-a72", opt=FAST, codemodel="small")
    (folder / "f.o").write_bytes(machine.emit_object(llvm.parse_assembly(ir)))
    sizes = [[port.size for port in ports] for ports in (program.inputs, program.outputs)]
    main = MAIN.format(
        inputs=", ".join(map(str, sizes[0])),
        outputs=", ".join(map(str, sizes[1])),
        n_in=len(sizes[0]),
        n_out=len(sizes[1]),
        rows=ROWS,
        t="double" if dtype is np.float64 else "float",
    )
    (folder / "main.c").write_text(main, encoding="ascii")
    run([ON_ARM[0], "-O1", "-static", "main.c", "f.o", "-lm", "-o", "main"], folder)


def run_on_arm(command, rows, folder):
    """Run a program in QEMU; returns the numbers that it writes."""
    done = subprocess.run(
        [ON_ARM[1], *map(str, command)],
        cwd=folder,
        input=b"".join(one.tobytes() for one in rows),
        capture_output=True,
        check=True,
    )
    return np.frombuffer(done.stdout, rows[0].dtype)
