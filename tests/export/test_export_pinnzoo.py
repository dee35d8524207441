"""Exports for PinnZoo: its C signatures and folders, compiled, loaded and compared with Python."""

from __future__ import annotations

import ctypes
import json
import shutil

import numpy as np
import pytest
from tests.export.test_export_command import run as run_command
from tests.support.exports import CC, STRICT, run
from tests.support.kernels import Never
from tests.support.pinnzoo import STICK, close, joint, link, model

import linkwork as lw
from linkwork.compat import pinnzoo as pz
from linkwork.engine.runtime import compiled_program
from linkwork.errors import ArgumentError, LinkworkError
from linkwork.export import check
from linkwork.export.pinnzoo import files as pinnzoo_files
from linkwork.export.pinnzoo.files import FUNCTIONS
from linkwork.export.pinnzoo.state_space import input_names

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _compiled_quickly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))
        patch.setattr(compiled_program, "background", Never)  # no optimized code is needed
        yield


@pytest.fixture(scope="module")
def zoo():
    return model("stick")


@pytest.fixture(scope="module")
def folder(zoo, tmp_path_factory):
    """Two models in one folder, and their libraries."""
    if shutil.which("cmake") is None:
        pytest.skip("CMake is not installed")
    folder = tmp_path_factory.mktemp("zoo")
    report = zoo.export(folder)
    lw.export(model("cartpole").kd, folder, pinnzoo=True, prefix="without", check=False)
    assert [row.name for row in report.rows] == list(FUNCTIONS)
    assert max(row.difference for row in report.rows) < 1e-13
    assert all((folder / name).exists() for name in report.files)
    flags = f"-DCMAKE_C_FLAGS=-O0 {' '.join(STRICT)}"
    run(["cmake", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug", flags], folder)
    run(["cmake", "--build", "build"], folder)
    return folder


@pytest.fixture(scope="module")
def library(folder):
    return ctypes.CDLL(str(folder / "build" / "libstick.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def arguments(zoo, name, rng):
    """Draw random arguments of a function."""
    x = zoo.randn_state(rng)
    sizes = {"v": zoo.nv, "tau": zoo.nv, "v_dot": zoo.nv, "q": zoo.nq}
    sizes["force"] = zoo.kinematics_size()
    return [x, *(rng.normal(size=sizes[one]) for one in input_names(name)[1:])]


def in_python(zoo, name, inputs):
    result = getattr(pz, name)(zoo, *inputs)
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrappers_of_plain_arrays(name, zoo, library, rng):
    """Matrices are column-major, as in Julia."""
    inputs = arguments(zoo, name, rng)
    target = in_python(zoo, name, inputs)
    result = [np.full(part.shape, np.nan, order="F") for part in target]

    wrapper = getattr(library, f"{name}_wrapper")
    wrapper.restype = None
    wrapper(*map(pointer, inputs), *map(pointer, result))

    for got, expected in zip(result, target, strict=True):
        close(got, expected, 1e-12)


def casadi_call(library, name, inputs, outputs):
    """Call a function with CasADi's calling convention; None is a null pointer."""
    doubles = ctypes.POINTER(ctypes.c_double)

    def pointers(arrays):
        listed = [doubles() if array is None else pointer(array) for array in arrays]
        return (doubles * len(listed))(*listed)

    function = getattr(library, name)
    return function(pointers(inputs), pointers(outputs), None, None, 0)


@pytest.mark.parametrize("name", ["forward_dynamics_deriv", "kinematics_force_jacobian"])
def test_casadis_calling_convention(name, zoo, library, rng):
    """A missing input is zero, and a missing output is not computed."""
    x, other = arguments(zoo, name, rng)
    target = in_python(zoo, name, [x, np.zeros_like(other)])
    for missing in range(len(target) + 1):
        result = [np.full(part.shape, np.nan, order="F") for part in target]
        outputs = [None if k == missing else part for k, part in enumerate(result)]

        assert casadi_call(library, name, [x, None], outputs) == 0
        for k, (got, expected) in enumerate(zip(result, target, strict=True)):
            if k == missing:
                assert np.isnan(got).all()
            else:
                close(got, expected, 1e-12)


def test_shapes_and_names_as_casadi_queries_them(zoo, library):
    library.dynamics_deriv_sparsity_out.restype = ctypes.POINTER(ctypes.c_longlong)
    library.dynamics_deriv_sparsity_in.restype = ctypes.POINTER(ctypes.c_longlong)
    library.dynamics_deriv_name_in.restype = ctypes.c_char_p
    sizes = [ctypes.c_longlong(-1) for _ in range(4)]

    assert library.dynamics_deriv_sparsity_out(0)[:3] == [2 * zoo.nv, zoo.nx, 1]
    assert library.dynamics_deriv_sparsity_in(1)[:3] == [zoo.nv, 1, 1]
    assert not library.dynamics_deriv_sparsity_in(2)
    assert [library.dynamics_deriv_name_in(k) for k in (0, 1, 2)] == [b"x", b"tau", None]
    assert library.dynamics_deriv_work(*map(ctypes.byref, sizes)) == 0
    assert [size.value for size in sizes] == [2, 2, 0, 0]
    assert (library.dynamics_deriv_n_in(), library.dynamics_deriv_n_out()) == (2, 2)


def listed(library, name):
    """Return a list of strings that ends in NULL."""
    function = getattr(library, f"get_{name}")
    function.restype = ctypes.POINTER(ctypes.c_char_p)
    result, texts = [], function()
    while texts[len(result)] is not None:
        result.append(texts[len(result)].decode())
    return tuple(result)


def test_names_of_the_coordinates_and_the_file(zoo, library, folder):
    order = zoo.orders["nominal"]
    library.get_urdf_path.restype = ctypes.c_char_p

    assert listed(library, "config_order") == order.config_names
    assert listed(library, "vel_order") == order.vel_names
    assert listed(library, "torque_order") == order.torque_names
    assert listed(library, "kinematics_bodies") == ("a",)
    path = folder / "models" / library.get_urdf_path().decode()
    again = pz.Model(path, ("a",), floating=True)
    assert np.array_equal(again.M_func(zoo.init_state()), zoo.M_func(zoo.init_state()))


def test_a_model_without_bodies_has_no_kinematics(folder, rng):
    """Its gravity is that of the KinDyn; both models share wrapper.c."""
    library = ctypes.CDLL(str(folder / "build" / "libwithout.so"))
    zoo = model("cartpole")
    x, result = zoo.randn_state(rng), np.empty(2)
    library.C_func_wrapper(pointer(x), pointer(result))

    close(result, zoo.C_func(x), 1e-12)
    assert not hasattr(library, "kinematics_wrapper")
    assert listed(library, "kinematics_bodies") == ()
    names = {path.stem for path in (folder / "models/without/generated_code").glob("*.c")}
    assert names == {name for name in FUNCTIONS if not name.startswith("kinem")} | {"vector_orders"}


@pytest.mark.parametrize("compiler", [c for c in ("gcc", "g++", "clang") if shutil.which(c)])
def test_it_compiles_without_a_warning(compiler, folder, tmp_path):
    """All files as C; only some as C++, because it takes long."""
    language = ["-x", "c++", "-std=c++17"] if compiler == "g++" else ["-std=c99"]
    code = folder / "models" / "stick" / "generated_code"
    names = ("kinematics*.c", "vector*.c") if compiler == "g++" else ("*.c",)
    files = (path for name in names for path in sorted(code.glob(name)))
    sources = [*files, folder / "src" / "wrapper.c"]
    include = [f"-I{code}", f"-I{folder / 'src'}"]
    run([compiler, *language, *STRICT, *include, "-fsyntax-only", *sources], tmp_path)


def test_it_has_no_undefined_behavior(zoo, folder, tmp_path, rng):
    """Sanitizers check a program that calls functions."""
    x, tau = arguments(zoo, "dynamics", rng)
    values = ", ".join(map(repr, [*x.tolist(), *tau.tolist()]))
    (tmp_path / "main.c").write_text(f"""#include "dynamics.h"
#include "kinematics_velocity_jacobian.h"
#include <stdio.h>
int main(void) {{
  static double in[] = {{{values}}}, out[{2 * zoo.nv}], J[{3 * zoo.nx}], *res[2] = {{out, J}};
  const double *arg[2] = {{in, in + {zoo.nx}}};
  if (dynamics(arg, res, 0, 0, 0) || kinematics_velocity_jacobian(arg, res + 1, 0, 0, 0)) return 1;
  for (int k = 0; k < {2 * zoo.nv}; ++k) printf("%.17g\\n", out[k]);
  return 0;
}}""")
    code = folder / "models" / "stick" / "generated_code"
    sources = [code / "dynamics.c", code / "kinematics_velocity_jacobian.c", "main.c"]
    flags = ["-std=c99", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"]
    run([CC, *flags, f"-I{code}", *sources, "-lm", "-o", "main"], tmp_path)

    result = [float(line) for line in run(["./main"], tmp_path).split()]
    close(result, zoo.dynamics(x, tau), 1e-12)


def test_names_of_a_robot_cannot_break_the_c_code(tmp_path):
    name = '"); evil(?\\n&#228;*/'.replace('"', "&quot;")
    xml = f'<robot name="r">{link("a")}{link("b")}{joint(name, "a", "b")}</robot>'
    zoo = pz.Model(xml, [], floating=False)
    zoo.export(tmp_path, check=False)
    folder = tmp_path / "models" / "r" / "generated_code"
    run([CC, "-shared", "-fPIC", *STRICT, folder / "vector_orders.c", "-o", "names.so"], tmp_path)

    assert listed(ctypes.CDLL(str(tmp_path / "names.so")), "vel_order") == zoo.joint_names
    assert zoo.joint_names == ('"); evil(?\\n\u00e4*/',)


def test_an_export_can_be_overwritten_but_other_files_cannot(tmp_path):
    zoo = model("pendulum")
    zoo.export(tmp_path, check=False)
    report = zoo.export(tmp_path, check=False)
    assert report.compiler is None
    (tmp_path / "CMakeLists.txt").write_text("project(own)\n")
    with pytest.raises(ArgumentError, match="CMakeLists"):
        zoo.export(tmp_path, check=False)


def test_wrong_code_is_not_written(tmp_path, monkeypatch):
    source = pinnzoo_files.source_text
    monkeypatch.setattr(
        pinnzoo_files, "source_text", lambda one: source(one).replace("9.81", "9.82")
    )
    with pytest.raises(LinkworkError, match="C_func: "):
        model("pendulum").export(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_unsupported_options_raise(tmp_path):
    kd = model("pendulum").kd
    for options, message in (
        ({"bodies": ["pole_tip"]}, "bodies.*pinnzoo=True"),
        ({"body": []}, "'body'"),
        ({"pinnzoo": True, "one_file": True}, "one_file.*pinnzoo=True"),
        ({"pinnzoo": True, "dtype": "float32"}, "dtype.*float64.*float32"),
        ({"pinnzoo": True, "bodies": "pole_tip"}, "bodies.*list.*'pole_tip'"),
        ({"pinnzoo": True, "orientation": "rpy"}, "'none', 'quaternion', 'axis_angle'.*'rpy'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            lw.export(kd, tmp_path, **options)
    with pytest.raises(lw.NameNotFoundError, match=r"'pol'.*'pole'"):
        lw.export(kd, tmp_path, pinnzoo=True, actuated=["pol"], check=False)


def test_the_command(tmp_path):
    """For a file with a floating base, and bodies."""
    (tmp_path / "own.urdf").write_text(STICK)
    inputs = ("export", tmp_path / "own.urdf", "-o", tmp_path, "--pinnzoo", "--no-check", "--json")
    done = run_command(*inputs, "--orientation", "quaternion", "--bodies", "a, root")
    facts = json.loads(done.stdout)
    assert [row["name"] for row in facts["functions"]] == list(FUNCTIONS)
    code = tmp_path / "models/stick/generated_code"
    assert "res[0]  locs_out: 14" in (code / "kinematics.h").read_text()
    assert '"q_w"' in (code / "vector_orders.c").read_text()

    done = run_command(*inputs, "--base", "root")
    assert done.returncode == 2
    assert done.stderr == "linkwork: error: base: PinnZoo has no such option; leave it out\n"
