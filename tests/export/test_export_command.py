"""`linkwork export`."""

import json

from tests.support.commands import run_here as run
from tests.support.messages import assert_facts


def test_export_writes_and_prints_its_checks(tmp_path):
    functions = "mass_matrix,jacobian:pole, bias_force"
    done = run(
        *("export", "cartpole", "-o", tmp_path / "new", "--functions", functions, "--fixed"),
        *("--float", "--prefix", "cart", "--representation", "body", "--base", "cart"),
        "--one-file",
    )

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{tmp_path / 'new'}: 6 files"
    assert lines[1].split()[:2] == ["function", "operations"]
    names = [line.split()[0] for line in lines[3:-1]]
    assert names == ["cart_mass_matrix", "cart_jacobian_pole", "cart_bias_force"]
    assert lines[-1].startswith("Compiled by ")
    header = (tmp_path / "new" / "cart.h").read_text("ascii")
    assert "Velocities  body: of the frame's origin, in the axes of the frame" in header
    assert "Base        cart, fixed to the world at its origin" in header
    assert "void cart_mass_matrix(const float *q, float *out);" in header


def test_export_as_json_for_a_floating_base(tmp_path):
    done = run(
        *("export", "pendulum", "-o", tmp_path, "--functions", "com", "--no-check", "--json"),
        *("--representation", "inertial", "--joint-dynamics"),
    )
    facts = json.loads(done.stdout)

    assert facts["compiler"] is None
    assert "disabled" in facts["note"]
    assert [row["name"] for row in facts["functions"]] == ["pendulum_com"]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(facts["files"]) == sorted(p.relative_to(tmp_path).as_posix() for p in written)
    header = (tmp_path / "pendulum.h").read_text("ascii")
    assert "friction are included" in header
    assert "  3..6: quaternion of the base, w x y z" in header


def test_a_folder_does_not_hide_a_bundled_robot(tmp_path, monkeypatch):
    """The folder of an export may have the name of the robot."""
    words = ["export", "pendulum", "-o", "pendulum", "--functions", "com", "--no-check", "--fixed"]
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        done = run(*words)
        assert (done.returncode, done.stderr) == (0, "")


def test_without_a_folder_it_is_named_after_the_robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["export", "pendulum", "--functions", "com", "--no-check"]
    first, again = (run(*words) for _ in range(2))
    assert first.stdout.splitlines()[0] == again.stdout.splitlines()[0]
    assert first.stdout.startswith("pendulum_c: ")
    assert [path.name for path in tmp_path.iterdir()] == ["pendulum_c"]
    assert run(*words, "--prefix", "swing").stdout.startswith("swing_c: ")


def test_a_file_that_no_export_wrote_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum_c").mkdir()
    mine = tmp_path / "pendulum_c" / "pendulum.h"
    mine.write_text("mine")
    done = run("export", "pendulum", "--functions", "com", "--no-check")
    assert done.returncode == 2
    assert "pendulum.h" in done.stderr
    assert mine.read_text() == "mine"
    assert list(tmp_path.rglob("*.*")) == [mine]


def test_bad_use_is_one_line(tmp_path):
    done = run("export", "pendulum", "-o", tmp_path / "x", "--functions", "jacobian:rodd")

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert_facts(line, "linkwork: error: .*frame.*'rodd'.*'rod'")
    assert not (tmp_path / "x").exists()


def test_contacts_select_functions_of_the_constrained_robot(tmp_path):
    words = ["export", "quadruped", "-o", tmp_path / "x", "--functions", "jacobian", "--no-check"]
    done = run(*words, "--contacts", "FL_foot=point,FR_foot", "--json")
    assert json.loads(done.stdout)["functions"][0]["name"] == "quadruped_jacobian"
    header = (tmp_path / "x" / "quadruped.h").read_text()
    assert "FL_foot 0..2, FR_foot 3..8" in header
    for more, facts in (("--actuated", "contacts"), ("--contacts", "glue")):
        done = run(*words, more, "FL_foot=glue")
        assert done.returncode == 2
        assert facts in done.stderr
