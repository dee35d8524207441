"""Very large files load or are rejected, with limited time and memory.

Files that an inefficient reader would need hours for are read in a separate process with a time
limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from tests.support.urdf_files import (
    BASE,
    GOOD,
    before_end,
    chained,
    changed,
    error_lines,
    error_message,
    loaded,
)

from linkwork import ParseError, load
from linkwork.io.load import read
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

PATIENCE = 30  # seconds; each of these files should take a few

READ = """
import sys
from pathlib import Path
from linkwork.io.load import read
reading = read(Path(sys.argv[1]))
print("model" if reading.model else "no model")
for finding in reading.findings[:3]:
    print(str(finding)[:1000])
"""


def read_apart(text: str, folder: Path) -> str:
    """The findings about a document, from a process with a time limit."""
    file = folder / "big.urdf"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONUTF8": "1",
        },
    )
    return done.stdout.replace(str(file), "<text>")


def alike(count: int) -> list[str]:
    """Long names with the same letters in different orders."""
    letters, rng = list("abcdefghij" * 9), Random(0)
    return ["".join(rng.sample(letters, len(letters))) + f"{n:06}" for n in range(count)]


LONG = alike(6020)

CRAFTED = {
    "digits and a letter": (
        changed('value="2"', f'value="{"1" * 1_000_000}x"'),
        f"no model\n<text>:6: link 'arm': mass value: '{'1' * 57}...' is not a decimal number",
    ),
    "digits": (changed('value="2"', f'value="0.{"1" * 1_000_000}"'), "model"),
    "long names of which many are missing": (
        before_end(
            *(chained(name, "arm") for name in LONG[:6000]),
            *(chained(f"k{n}", name) for n, name in enumerate(LONG[6000:])),
        ),
        "no model\n<text>:6020: joint 'k0_joint': no link named ",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CRAFTED.values(), ids=CRAFTED)
def test_crafted_file_is_read_within_the_time_limit(text, expected, tmp_path):
    assert read_apart(text, tmp_path).startswith(expected)


def test_time_is_not_quadratic_in_separators_of_a_name():
    text = before_end(chained("_" * 20_000, "arm", '<mimic joint="nobody"/>'))

    tracemalloc.start()
    try:
        reading = read(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert reading.model is None
    assert peak < 20 * len(text)


ERRORS_10000 = {
    "numbers": ["<link name='q{n}'><inertial><mass value='x'/></inertial></link>"],
    "types": [chained("k{n}", "arm", kind="revolut{n}")],
    "parents": [chained("k{n}", "nobody{n}")],
    "mimics": [chained("k{n}", "arm", '<mimic joint="nobody{n}"/>')],
    "duplicates": ['<link name="arm"/>'],
    "roots": ["<link name='q{n}'/>"],
    "nameless": ["<link/>"],
}


@pytest.mark.parametrize("lines", ERRORS_10000.values(), ids=ERRORS_10000)
def test_message_about_ten_thousand_errors_is_short(lines):
    text = before_end(*(line.format(n=n) for n in range(10_000) for line in lines))

    with pytest.raises(ParseError) as caught:
        load(text)

    message = str(caught.value)
    assert len(message.splitlines()) <= 22
    assert len(message) < 20_000
    assert len(caught.value.findings) >= (1 if lines == ERRORS_10000["roots"] else 10_000)


@pytest.mark.parametrize(
    "text",
    [
        changed('<origin xyz="0 0 0.5"/>', '<origin xyz="0 0 0.5"/>' * 10_000),
        before_end(
            *(
                f'<link name="k{n}"/><joint name="j{n}" type="fixed"><parent link="k{n}"/>'
                '<child link="arm"/></joint>'
                for n in range(10_000)
            )
        ),
        GOOD.replace('"arm"', f'"{"b" * 1_000_000}"').replace('"revolute"', '"x"'),
        GOOD.replace('"hinge"', f'"{"b" * 1_000_000}"').replace('"revolute"', '"x"'),
        changed('<parent link="base"/>', f'<parent link="{"b" * 1_000_000}"/>'),
        changed('"revolute"', f'"{"b" * 1_000_000}"'),
    ],
    ids=["origins", "parents of a link", "link name", "joint name", "parent name", "type"],
)
def test_message_about_a_huge_value_is_short(text):
    with pytest.raises(ParseError) as caught:
        load(text)

    assert len(str(caught.value)) < 20_000


def test_name_of_a_million_letters_is_accepted():
    name = "b" * 1_000_000

    assert loaded(GOOD.replace('"arm"', f'"{name}"'))[0].link_names == ("base", name)


def test_5000_siblings_load():
    model, messages = loaded(before_end(*(chained(f"k{n}", "arm") for n in range(5000))))

    assert len(model.links) == 5002
    assert messages == []


@pytest.mark.parametrize("step", [1, -1], ids=["leader first", "leader last"])
def test_chain_of_5000_mimics_loads(step):
    lines = [chained("k0", "arm")]
    lines += [chained(f"k{n}", "arm", f'<mimic joint="k{n - 1}_joint"/>') for n in range(1, 5000)]
    model, messages = loaded(before_end(*lines[::step]))

    layout = Layout(model, floating=False)
    assert layout.joint_names == ("hinge", "k0_joint")
    assert layout.followers["k4999_joint"].leader == "k0_joint"
    assert len(tree_from(model).parents) == 5002
    assert messages == []


def test_message_about_a_cycle_of_5000_mimics_is_short():
    lines = (
        chained(f"k{n}", "arm", f'<mimic joint="k{(n + 1) % 5000}_joint"/>') for n in range(5000)
    )

    message = error_message(before_end(*lines))

    assert message.startswith("<text>:20: joint 'k0_joint': mimics itself in a cycle: k0_joint -> ")
    assert len(message) < 1000


@pytest.mark.parametrize("filler", ["<!-- -->\n", "<!-- -->", "<?p?>\n", "<gazebo/>", " "])
def test_a_hundred_thousand_ignored_items_change_nothing(filler):
    assert loaded(changed(BASE, filler * 100_000 + BASE)) == loaded(GOOD)


def test_robot_on_one_long_line_loads():
    lines = [chained(f"k{n}", "arm") for n in range(500)]

    assert loaded(before_end(*lines).replace("\n", " ")) == loaded(before_end(*lines))


def test_attribute_of_many_megabytes_is_read_or_rejected():
    text = changed('"lamp"', f'"{"b" * 12_000_000}"')

    try:
        model, _ = loaded(text)
    except ParseError as error:
        assert str(error).startswith("<text>:1: ")  # noqa: PT017 - either is right
    else:
        assert len(model.name) == 12_000_000


def test_ten_thousand_unknown_attributes_are_ignored():
    many = " ".join(f'zz{n}="1"' for n in range(10_000))

    assert loaded(changed(BASE, f'<link name="base" {many}/>')) == loaded(GOOD)


def test_ten_thousand_unknown_elements_are_all_reported():
    text = before_end(*(f"<zz{n}/>" for n in range(10_000)))

    assert len(loaded(text)[1]) == 10_000
    assert len(error_lines(text, strict=True)) == 10_000
