"""Parallel devices of workcell files: chains that meet in junctions become closed loops."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw

FILE = """
<WorkCell name="cell">
  <Frame name="table" refframe="WORLD"><RPY>0 0 0</RPY><Pos>1 2 3</Pos></Frame>
  <ParallelDevice name="bar">
    <Frame name="ground"><RPY>10 0 0</RPY><Pos>0.1 0 0</Pos></Frame>
    <SerialChain name="left">
      <Joint name="a" type="Revolute" refframe="ground"><RPY>0 0 90</RPY><Pos>0 0 0</Pos></Joint>
      <Joint name="b" type="Revolute" state="Passive"><RPY>0 0 0</RPY><Pos>0.4 0 0</Pos></Joint>
      <Joint name="c" type="Revolute" state="Passive"><RPY>0 0 0</RPY><Pos>0.8 0 0</Pos></Joint>
    </SerialChain>
    <SerialChain name="right">
      <Joint name="d" type="Revolute" state="Passive" refframe="ground"><RPY>0 0 90</RPY>
        <Pos>0.7 0 0</Pos></Joint>
      <Frame name="tip"><RPY>0 0 0</RPY><Pos>0.6 0 0</Pos></Frame>
    </SerialChain>
    JUNCTIONS
  </ParallelDevice>
  <Frame name="camera" refframe="bar.left.b"><RPY>0 0 0</RPY><Pos>0 0 1</Pos></Frame>
</WorkCell>
"""
JUNCTION = "<Junction><Chains>left</Chains><Chains>right</Chains></Junction>"


def load(junctions=""):
    return lw.load_workcell(FILE.replace("JUNCTIONS", junctions))


@pytest.mark.parametrize("junctions", ["", JUNCTION], ids=["implied", "written"])
def test_chains_that_meet_form_a_closed_loop(junctions):
    cell = load(junctions)
    device = cell.device("bar")
    model = device.spec.model
    kd = lw.KinDyn(model, floating=False)
    q = lw.assemble(kd, kd.q({"left.a": 0.5, "right.d": 0.8}), fixed=["left.a"]).q
    state = device.set_q(cell.state(), q)

    assert (device.base, device.end, device.nq) == ("bar.ground", "bar.left.c", 4)
    assert model.actuated == ("left.a",)
    assert [one.kind for one in model.constraints] == ["pose"]
    poses = [cell.world_H_frame(frame, state) for frame in ("bar.left.c", "bar.right.tip")]
    assert_close(poses[0], poses[1], rtol=1e-8)
    assert_close(cell.frame_H_frame("bar.ground", "bar.left.c", state), kd.transform("left.c", q))
    crank = cell.frame_H_frame("bar.left.a", "bar.left.b", state)[:3, 3]
    assert_close(crank, [0.4, 0.0, 0.0])
    assert_close(cell.frame_H_frame("bar.left.b", "camera", state)[:3, 3], [0.0, 0.0, 1.0])


def test_junctions_of_several_chains():
    """Three chains that meet in one junction; a list names the chains from the base outward."""
    chain = '<SerialChain name="more"><Frame name="end" refframe="right.tip"/></SerialChain>'
    junction = "<Chains>left</Chains><Chains>right</Chains><Chains>right more</Chains>"
    model = load(f"{chain}<Junction>{junction}</Junction>").device("bar").spec.model

    ends = [(one.first, one.second) for one in model.constraints]
    assert ends == [("left.c", "right.tip"), ("left.c", "more.end")]


LEGS = """<WorkCell name="cell"><ParallelDevice name="p"><Frame name="base"/>
<Frame name="a0"/><SerialChain name="a"><Joint name="j" type="Revolute"/></SerialChain>
<Frame name="a1"/><Frame name="a2"/>{after}
<Frame name="b0" refframe="base"/><SerialChain name="b"><Joint name="j" type="Revolute"/>
</SerialChain><Frame name="b1"/>{junction}</ParallelDevice></WorkCell>"""
AB = "<Junction><Chains>a</Chains><Chains>b</Chains></Junction>"
END_OF_A = {  # the end of the leg of chain a, for elements after it
    "": "a2",
    '<Frame name="x" refframe="a1"/>': "a1",  # a1 has two children
    '<Frame name="x" refframe="a.j"/>': "a.j",
    '<SerialChain name="c"><Frame name="x"/></SerialChain>': "a1",  # a2 carries the next chain
    '<Frame name="x" refframe="base"/>': "a2",
}


@pytest.mark.parametrize("junction", ["", AB], ids=["implied", "written"])
@pytest.mark.parametrize("after", END_OF_A)
def test_frames_after_a_chain_belong_to_its_leg(after, junction):
    """As in RobWork's files, in which the chains of a leg are followed by the frame of the tool."""
    device = lw.load_workcell(LEGS.format(after=after, junction=junction)).device("p")
    ends = [(one.first, one.second) for one in device.spec.model.constraints]
    assert ends[-1] == (END_OF_A[after], "b1")
    assert device.end == f"p.{END_OF_A[after]}"


def test_two_parallel_devices_with_one_name_are_an_error():
    device = LEGS[LEGS.index("<Par") : LEGS.index("</Work")].format(after="", junction=AB)
    with pytest.raises(lw.ParseError, match=r"'p\.a\.j' is already used"):
        lw.load_workcell(f'<WorkCell name="cell">{device}{device}</WorkCell>')


def test_home_of_the_active_joints():
    with pytest.warns(lw.LinkworkWarning, match="active joints only"):
        cell = load('<Q name="Home">0.5</Q>')
    assert np.array_equal(cell.device("bar").get_q(cell.state()), [0.5, 0.0, 0.0, 0.0])


BAD = {
    "<Junction><Chains>left</Chains></Junction>": r"two or more <Chains>",
    "<Junction><Chains>left</Chains><Chains>rihgt</Chains></Junction>": r"'rihgt'.*'right'",
    "<Junction><Chains>left</Chains><Chains/></Junction>": r"names of <SerialChain>",
    '<Frame name="x" type="Movable"/>': r"bar\.x.*movable",
    '<Frame name="x" refframe="table"/>': r"bar\.x.*'table'.*ParallelDevice",
}


@pytest.mark.parametrize("junctions", BAD)
def test_bad_junctions_are_errors(junctions):
    with pytest.raises(lw.ParseError) as caught:
        load(junctions)
    assert re.search(BAD[junctions], str(caught.value)), str(caught.value)


def test_one_chain_or_a_joint_as_the_base_is_an_error():
    chain = '<SerialChain name="left"><Joint name="a" type="Revolute"/></SerialChain>'
    for inside, text in (
        (f'<Frame name="base"/>{chain}', "two or more <SerialChain>.*TreeDevice"),
        (f"{chain}{chain.replace('left', 'right')}", r"'bar\.left\.a' is a joint"),
    ):
        device = f'<ParallelDevice name="bar">{inside}</ParallelDevice>'
        with pytest.raises(lw.ParseError, match=text):
            lw.load_workcell(f'<WorkCell name="cell">{device}</WorkCell>')
