"""States from files and from a seed."""

from __future__ import annotations

import json
import zipfile

import h5py
import numpy as np
import pytest
import zarr
from tests.support.batches import robot

import linkwork as lw
from linkwork.batch.plan import inputs_of, make_plan, parse_functions
from linkwork.batch.states import RANDOM_ROWS, RandomStates, stored_states
from linkwork.kindyn.configurations import ranges_of

ROWS = 50


@pytest.fixture(scope="module")
def kd():
    return robot()


@pytest.fixture(scope="module")
def arrays(kd):
    rng = np.random.default_rng(0)
    return {"q": kd.random(ROWS, seed=0), "nu": rng.normal(size=(ROWS, kd.nv))}


def inputs(kd, text):
    return inputs_of(parse_functions(kd, text))


def write(folder, kind, arrays, **options):
    path = folder / f"states.{kind.partition(' ')[0]}"
    if kind == "npz":
        np.savez(path, **arrays)
    elif kind == "h5":
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    else:
        version = 2 if kind == "zarr 2" else 3
        group = zarr.create_group(path, zarr_format=version)
        for name, array in arrays.items():
            group.create_array(name, data=array, chunks=(7, array.shape[1]))
    return path


@pytest.mark.parametrize("kind", ["npz", "h5", "zarr", "zarr 2"])
def test_arrays_are_found_by_the_names_of_the_inputs(kind, kd, arrays, tmp_path):
    path = write(tmp_path, kind, {**arrays, "unused": np.zeros((3, 2))})
    states = stored_states(path, inputs(kd, "bias_force"), {})
    assert states.rows == ROWS
    for name, array in arrays.items():
        assert np.array_equal(states.read(name, 13, 31), array[13:31])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i4"])
def test_functions_of_one_input_need_only_one_array(order, dtype, kd, arrays, tmp_path):
    arguments = arrays["q"].astype(dtype, order=order)
    np.save(tmp_path / "q.npy", arguments)
    states = stored_states(tmp_path / "q.npy", inputs(kd, "mass_matrix,com"), {})
    assert np.array_equal(states.read("q", 3, 9), arguments[3:9])


def test_a_file_larger_than_the_memory_is_read_in_parts(kd, tmp_path):
    """A sparse file of 7.2 GB: only the requested rows are read."""
    path, shape = tmp_path / "q.npy", (10**8, kd.nq)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"shape": shape, "fortran_order": False, "descr": "<f8"}
        )
        file.truncate(file.tell() + 8 * shape[0] * shape[1])
    states = stored_states(path, inputs(kd, "mass_matrix"), {})
    states.identity()
    assert states.rows == 10**8
    assert np.array_equal(states.read("q", 10**8 - 2, 10**8), np.zeros((2, kd.nq)))


def test_random_states_do_not_depend_on_the_range_in_which_they_are_read(kd):
    ports = inputs(kd, "integrate,inverse_dynamics")
    few, many = (RandomStates(ranges_of(kd.layout), ports, n, 7) for n in (3000, 5000))
    for port in ports:
        complete = many.read(port.name, 0, 5000)
        assert complete.shape == (5000, *port.shape)
        for start, stop in ((0, 3), (RANDOM_ROWS - 1, RANDOM_ROWS + 1), (1500, 2999), (70, 70)):
            assert np.array_equal(few.read(port.name, start, stop), complete[start:stop])
    assert np.allclose(np.linalg.norm(few.read("q", 0, 3000)[:, 3:7], axis=1), 1)
    assert np.abs(np.corrcoef(few.read("nu", 0, 3000).T) - np.eye(kd.nv)).max() < 0.1


@pytest.mark.parametrize("floating", [True, False])
def test_random_configurations_cover_the_limits_as_in_kindyn(floating):
    kd = lw.KinDyn(lw.robots.load("humanoid"), floating=floating)
    q = ranges_of(kd.layout).draw(20_000, np.random.default_rng(0))
    expected = kd.random(20_000, seed=0)
    spread = expected.std(axis=0)
    assert np.abs((q.mean(axis=0) - expected.mean(axis=0)) / spread).max() < 0.05
    assert np.abs(q.std(axis=0) / spread - 1).max() < 0.05
    s = q[:, 7 * floating :]
    assert ((s >= kd.limits.lower) & (s <= kd.limits.upper)).all()


def test_seeds_inputs_and_blocks_are_independent(kd):
    ports = inputs(kd, "inverse_dynamics")
    one, other = (RandomStates(ranges_of(kd.layout), ports, 3000, seed) for seed in (0, 1))
    drawn = [one.read("nu", 0, 9), one.read("nu", RANDOM_ROWS, RANDOM_ROWS + 9)]
    drawn += [one.read("nu_dot", 0, 9), other.read("nu", 0, 9)]
    assert len({array.tobytes() for array in drawn}) == 4
    assert one.identity() != other.identity()


def test_a_changed_row_or_file_is_detected(kd, arrays, tmp_path):
    path = tmp_path / "q.npy"
    np.save(path, arrays["q"])
    before = stored_states(path, inputs(kd, "com"), {})
    identity, stamp = before.identity(), before.stamp()
    np.save(path, arrays["q"][::-1])
    after = stored_states(path.rename(tmp_path / "other.npy"), inputs(kd, "com"), {})
    assert after.identity() != identity
    assert after.stamp() != stamp


@pytest.mark.parametrize(
    ("arrays", "function", "message"),
    [
        (
            {"q": np.zeros((3, 8))},
            "com",
            r"q: .*\(rows, 9\).*\(3, 8\).*with --fixed",
        ),
        ({"q": np.zeros((2, 3, 9))}, "com", r"q: .*\(rows, 9\).*\(2, 3, 9\)"),
        ({"q": np.zeros((3, 9)), "v": np.zeros((3, 8))}, "bias_force", "'nu'.*q, v"),
        (
            {"q": np.zeros((3, 9)), "nu": np.zeros((4, 8))},
            "bias_force",
            "rows.*q 3, nu 4",
        ),
        ({"q": np.zeros((3, 9), bool)}, "com", "q: .*bool"),
    ],
)
def test_wrong_arrays_raise_with_the_expected_shape(arrays, function, message, kd, tmp_path):
    path = write(tmp_path, "npz", arrays)
    with pytest.raises(lw.LinkworkError, match=message):
        make_plan(kd, function, tmp_path / "out.zarr", states=path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.npy", b"", "q.npy: cannot be read: "),
        ("q.npy", b"\x93NUMPY nothing", "q.npy: cannot be read: "),
        ("q.h5", b"no file of HDF5", "q.h5: cannot be read: "),
        ("q.csv", b"1,2", r"q.csv: expected a file that ends in \.npy, \.npz, \.h5"),
        ("q.zarr", None, "q.zarr: cannot be read: "),
    ],
)
def test_files_that_cannot_be_read_are_named(name, content, message, kd, tmp_path):
    path = tmp_path / name
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(lw.SourceError, match=message) as error:
        make_plan(kd, "com", tmp_path / "out.zarr", states=path)
    assert "\n" not in str(error.value)


def test_an_array_larger_than_its_file_raises_before_memory_is_allocated(kd, tmp_path):
    np.save(tmp_path / "q.npy", np.zeros((3, kd.nq)))
    data = (tmp_path / "q.npy").read_bytes()
    shape = f"(3, {kd.nq}), }}".encode()
    huge = f"({10**15}, {kd.nq}), }}".encode()
    data = data.replace(shape + b" " * (len(huge) - len(shape)), huge)
    path = tmp_path / "states.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", data)
    with pytest.raises(lw.SourceError, match=rf"q\.npy.*{10**15}"):
        stored_states(path, inputs(kd, "com"), {})


def test_rows_that_cannot_be_read_are_named(kd, arrays, tmp_path):
    path = write(tmp_path, "zarr", arrays)
    states = stored_states(path, inputs(kd, "com"), {})
    for chunk in (path / "q" / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(b"damaged")
    with pytest.raises(lw.SourceError, match=r"states\.zarr: rows 10 to 19 of q"):
        states.read("q", 10, 20)


def test_one_array_for_two_inputs_raises(kd, arrays, tmp_path):
    np.save(tmp_path / "q.npy", arrays["q"])
    with pytest.raises(lw.SourceError, match=r"q\.npy.*q, nu.*\.npz, \.h5 or \.zarr"):
        make_plan(kd, "bias_force", tmp_path / "out.zarr", states=tmp_path / "q.npy")


@pytest.mark.parametrize("folder", ["states.zarr", "states.zarr/inside", "."])
def test_results_cannot_overwrite_the_states(folder, kd, arrays, tmp_path):
    path = write(tmp_path, "zarr", arrays)
    with pytest.raises(lw.ArgumentError, match=r"--out .*states"):
        make_plan(kd, "com", tmp_path / folder, states=path)


def test_small_file_with_very_many_zeros_is_rejected(kd, tmp_path, monkeypatch):
    monkeypatch.setattr("linkwork.batch.states.MAX_UNPACKED", 100_000)
    path = tmp_path / "states.npz"
    ports = inputs(kd, "mass_matrix")
    zeros = np.zeros((10_000, kd.nq))
    np.savez_compressed(path, q=zeros)
    with pytest.raises(lw.SourceError, match=r"720,[0-9]* bytes"):
        stored_states(path, ports, {})
    np.savez(path, q=zeros)  # as large as its arrays
    assert stored_states(path, ports, {}).rows == len(zeros)


@pytest.mark.parametrize("kind", ["link", "external data", "virtual data"])
def test_hdf5_data_in_other_files_are_not_read(kind, kd, arrays, tmp_path):
    """HDF5 can read the bytes of any file as numbers."""
    (tmp_path / "states").mkdir()
    secret, path = tmp_path / "secret.h5", tmp_path / "states" / "states.h5"
    shape = arrays["q"].shape
    with h5py.File(secret, "w") as file:
        file["q"] = arrays["q"]
    with h5py.File(path, "w") as file:
        if kind == "link":
            file["q"] = h5py.ExternalLink(str(secret), "/q")
        elif kind == "external data":
            file.create_dataset(
                "q", shape, "f8", external=[(str(secret), 0, 8 * shape[0] * shape[1])]
            )
        else:
            layout = h5py.VirtualLayout(shape, "f8")
            layout[:] = h5py.VirtualSource("../secret.h5", "q", shape)
            file.create_virtual_dataset("q", layout)

    with pytest.raises(lw.SourceError, match="other files"):
        stored_states(path, inputs(kd, "mass_matrix"), {})


def test_pickles_in_zarr_files_are_not_executed(kd, tmp_path):
    path = tmp_path / "states.zarr"
    path.mkdir()
    described = {"zarr_format": 2, "shape": [4, kd.nq], "chunks": [4, kd.nq], "dtype": "<f8"}
    described |= {"compressor": {"id": "pickle"}, "filters": None, "fill_value": 0, "order": "C"}
    (path / ".zarray").write_text(json.dumps(described))
    (path / "0.0").write_bytes(b"cos\nsystem\n(S'touch %s'\ntR." % str(tmp_path / "made").encode())

    with pytest.raises(lw.SourceError):
        stored_states(path, inputs(kd, "mass_matrix"), {}).read("q", 0, 1)
    assert not (tmp_path / "made").exists()
