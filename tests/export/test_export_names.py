"""Names in a robot file cannot break the generated C code."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.exports import CC, STRICT, run

import linkwork as lw
from linkwork.errors import ArgumentError
from linkwork.export.code import (
    Names,
    checked_prefix,
    comment_text,
    default_prefix,
    identifier_part,
)

HOSTILE = (
    "*/ int x; /*",
    "ends with a backslash\\",
    "a\nb\r\u2028c",
    "??/",
    "??=define",
    '"quoted" %s %n',
    "int",
    "é",
    "\u202eright to left",
    "L_SOLE",
    "l_sole",
    "l sole",
    "l sole batch",
    "$(rm -rf)",
    "`code`",
    "#include <x>",
    "x" * 300,
    "-",
)


def robot(names):
    """Return a chain whose links and joints have these names."""
    builder = lw.ModelBuilder(names[0])
    inertia = lw.solid_box(1.0, (0.1, 0.2, 0.3))
    builder.add_link(names[0], inertia=inertia)
    for parent, name in pairwise(names):
        builder.add_link(name, inertia=inertia)
        mount = lw.Pose(xyz=(0.0, 0.0, 0.3))
        builder.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), first_H_joint=mount)
    return builder.build()


@given(st.text())
def test_strings_in_comments_are_escaped_without_ambiguity(string):
    shown = comment_text(string)

    assert re.fullmatch(r"[A-Za-z0-9 _.,:+=@^()\[\]/%-]*", shown)
    raw = re.sub(r"%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), shown)
    assert raw.encode("latin-1").decode("utf-8", "surrogatepass") == string


@given(st.text())
def test_identifiers_have_letters_digits_and_single_underscores(string):
    assert re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", identifier_part(string))
    assert checked_prefix(default_prefix(string)) == default_prefix(string)


@given(st.lists(st.sampled_from(["a", "A", "a_2", "a_work", "A_Work_2", "b"]), max_size=12))
def test_names_are_unique_with_and_without_their_endings(requested):
    names = Names()
    created = [names.new(one, "_work") for one in requested]
    every = [name.lower() for one in created for name in (one, f"{one}_work")]

    assert len(set(every)) == len(every)


def test_a_robot_of_hostile_names_compiles_without_a_warning(tmp_path):
    """With trigraphs, which are part of C99."""
    kd = lw.KinDyn(robot(HOSTILE), floating=False)
    functions = [("transform", name) for name in HOSTILE]
    functions.append(kd.function("inverse_dynamics", wrenches=HOSTILE))
    report = lw.export(kd, tmp_path, functions, check=False)

    sources = [name for name in report.files if name.endswith(".c") and "/" not in name]
    assert len(sources) == len(functions) + 1
    for file in report.files:
        assert re.fullmatch(r"(python/)?[A-Za-z0-9_.]+", file)
        assert len(file) < 120
    for source in sources:
        run([CC, "-std=c99", "-trigraphs", "-fsyntax-only", *STRICT, source], tmp_path)
    assert len({name.lower() for name in report.files}) == len(report.files)


@pytest.mark.parametrize("length", [20, 40, 48, 60, 90, 120, 400])
def test_declarations_of_long_names_are_valid_c(length, tmp_path):
    """Also where the first part of a declaration is longer than a line."""
    names = [f"{letter}{'x' * (length - 1)}" for letter in "abc"]
    kd = lw.KinDyn(robot(names), floating=True)
    wrenches = kd.function("inverse_dynamics", wrenches=names)
    functions = [("jacobian", names[2]), "forward_dynamics", wrenches]
    prefix = "p" + "q" * min(length, 47)
    report = lw.export(kd, tmp_path, functions, prefix=prefix, check=False)

    header = (tmp_path / f"{prefix}.h").read_text("ascii")
    assert not re.search(r"^\s*,", header, re.MULTILINE)
    for source in report.files:
        if source.endswith(".c") and "/" not in source:
            run([CC, "-std=c99", "-fsyntax-only", *STRICT, source], tmp_path)


@pytest.mark.parametrize("prefix", ["", "2f", "f g", "f;", "é", "f\n", "_f", "f_", "a__b", 3, None])
def test_a_prefix_that_is_invalid_in_c_raises(prefix):
    with pytest.raises(ArgumentError, match="prefix") as caught:
        checked_prefix(prefix)
    assert repr(prefix) in str(caught.value)


@pytest.mark.parametrize("prefix", ["math", "main", "selftest", "Float"])
def test_a_prefix_that_is_the_name_of_another_file_raises(prefix):
    with pytest.raises(ArgumentError, match=f"prefix.*'{prefix}'"):
        checked_prefix(prefix)
    assert default_prefix(prefix) == f"robot_{prefix.lower()}"


def test_no_function_has_the_name_of_a_macro_or_a_type(tmp_path):
    """Macros are in capitals, so a prefix in capitals could collide with them."""
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=False)
    for prefix, name in (
        ("P", "NQ"),
        ("P", "H"),
        ("P", "com_work"),
        ("size", "t"),
    ):
        functions = {"com": "com", name: "mass_matrix"}
        report = lw.export(kd, tmp_path / prefix / name, functions, prefix=prefix, check=False)
        assert report.rows[1].name == f"{prefix}_{name}_2"
        run([CC, "-std=c99", "-fsyntax-only", *STRICT, f"{prefix}_com.c"], report.folder)
