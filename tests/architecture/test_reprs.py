"""What an interpreter and a notebook print: one line, or a page in which names are only text."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import linkwork as lw

LONGEST = 250  # characters: three lines of a terminal


def results():
    """Objects that users print, with facts that their text contains."""
    model = lw.load("quadruped")
    kd = lw.KinDyn(model)
    four = lw.ModelBuilder("four")
    for name in "abc":
        four.add_link(name, inertia=lw.solid_sphere(1.0, 0.1))
    for name, first, second in (("ab", "a", "b"), ("bc", "b", "c")):
        four.add_joint(name, "revolute", first, second, first_H_joint=lw.Pose((1.0, 0, 0)))
    tied = four.build().with_constraint("coupling", "ab", "bc", coefficients=(0.0, 1.0))
    cover = lw.spherize(lw.load("pendulum"), tolerance=0.05)
    spheres = lw.CollisionModel(cover.model, shapes=cover, floating=False)
    builder = lw.ModelBuilder("ball")
    builder.add_link("world", inertia=lw.solid_sphere(1.0, 0.1))
    ball = lw.Shape(lw.Sphere(0.1), lw.Pose((0.5, 0.0, 0.0)))
    builder.add_link("hand", inertia=lw.solid_sphere(1.0, 0.1), collisions=[ball])
    builder.add_joint("turn", "revolute", "world", "hand", lower=-2.0, upper=2.0)
    turning = lw.CollisionModel(builder.build(), floating=False)
    return [
        (model, ["'quadruped'", "19 links"]),
        (kd, ["'quadruped'", "floating=True"]),
        (kd.mass_matrix, ["mass_matrix", "(18, 18)"]),
        (kd.constrained({"FL_foot": "point"}), ["'FL_foot'"]),
        (lw.KinDyn(model, gravity=(0, 0, -1), check=True), ["gravity=(0.0, 0.0, -1.0)", "check"]),
        (spheres, ["'pendulum'"]),
        (lw.CollisionModel(model), ["'quadruped'", "pairs=<"]),
        (cover, ["shapes", "links"]),
        (lw.Obstacles(np.ones((3, 2, 4))), ["spheres (3, 2)"]),
        (lw.plan(turning, [-1.0], [1.0]), ["2 configurations"]),
        (lw.plan(turning, [0.0], [1.0], [ball]), ["collision"]),
        (lw.assemble(lw.KinDyn(tied, floating=False), np.zeros((5, 2))), ["5 of 5 converged"]),
        (lw.ik(kd, {"FL_foot": (0, 0, 0)}), ["converged"]),
        (lw.load_workcell("two_arms"), ["'two_arms'", "2 devices"]),
    ]


def test_results_print_as_one_short_line():
    for value, facts in results():
        text = repr(value)
        assert len(text) <= LONGEST
        assert "\n" not in text
        assert "array" not in text
        assert all(fact in text for fact in facts), text


def test_options_at_their_defaults_are_not_printed():
    assert repr(lw.KinDyn(lw.load("quadruped"))) == (
        "KinDyn('quadruped', base='trunk', floating=True)"
    )


class Texts(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += f"{data} "


@pytest.mark.parametrize("kind", [lw.Model, lw.KinDyn, lw.WorkCell])
def test_a_notebook_shows_tables_and_names_are_no_markup(kind):
    evil = "<script>alert(1)</script>"
    builder = lw.ModelBuilder(evil)
    builder.add_link(evil, inertia=lw.solid_sphere(1.0, 0.1))
    builder.add_link("b", inertia=lw.solid_sphere(1.0, 0.1))
    builder.add_joint("j", "revolute", evil, "b")
    model = builder.build()
    cell = lw.WorkCell(evil).with_robot("r", model)
    value = {lw.Model: model, lw.KinDyn: lw.KinDyn(model), lw.WorkCell: cell}[kind]

    page = Texts(value._repr_html_())
    assert page.tags == {"b", "details", "summary", "table", "tr", "th", "td"}
    assert evil in page.text
    assert "revolute" in page.text or "joint" in page.text
