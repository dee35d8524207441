"""Convention cards are complete, and agree with the packages that are installed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.support.mujoco import mass_matrix
from tests.support.spatial import idyn, pin

import linkwork as lw
from linkwork.compat.cards import all_cards, card, page, rows
from linkwork.spatial import quat

PAGE = Path(__file__).parents[2] / "docs" / "convention_cards.md"
HALF_PI_ABOUT_Z = np.array(
    [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
)  # rotation by pi/2 about z, w x y z
FREE_BODY = """<mujoco><worldbody><body name="b"><freejoint/>
<inertial pos=".1 .2 .3" mass="2" fullinertia="3 4 5 .1 .2 .3"/></body></worldbody></mujoco>"""
BODY = """<inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
URDF = f"""<robot name="r"><link name="a"/><link name="b">{BODY}</link><link name="c">{BODY}</link>
<link name="d">{BODY}</link>
<joint name="z" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="y" type="fixed"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/></joint>
<joint name="x" type="continuous"><parent link="a"/><child link="d"/><axis xyz="0 0 1"/>
<mimic joint="z"/></joint></robot>"""


def test_the_page_of_the_documentation_has_the_same_cards():
    assert PAGE.read_text() == page()


def test_every_table_of_the_page_has_a_header():
    lines = page().splitlines()
    headers = [lines[i - 1] for i, line in enumerate(lines) if line.startswith("|---")]
    assert headers == ["| subject | convention |"] * len(all_cards())


def test_every_card_has_the_same_labels_and_a_value_for_each():
    labels = [label for label, _ in rows(card("linkwork"))]
    for one in all_cards():
        values = [getattr(one, field.name) for field in fields(one)]
        assert [label for label, _ in rows(one)] == labels
        assert values == [one.name, *(text for _, text in rows(one))]
        assert all(value.strip() for value in values)


@pytest.mark.parametrize(
    ("label", "field"),
    [("configuration", "q"), ("parameters", "regressor"), ("gravity", "gravity")],
)
def test_a_field_has_the_text_of_its_row(label: str, field: str):
    for one in all_cards():
        assert dict(rows(one))[label] == getattr(one, field)


def test_a_card_is_found_by_name_and_a_wrong_name_has_a_hint():
    assert card("Pinocchio").name == "pinocchio"
    with pytest.raises(lw.NameNotFoundError, match=r"'pinochio'.*'pinocchio'"):
        card("pinochio")


class TestPinocchio:
    """The card of pinocchio; order, continuous and mimic joints are in test_pinocchio_*.py."""

    model = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())

    def test_quaternions_end_with_w_and_velocities_are_body(self):
        q, v = pin.neutral(self.model), np.zeros(self.model.nv)
        assert q[:7].tolist() == [0, 0, 0, 0, 0, 0, 1]
        q[3:7] = np.roll(HALF_PI_ABOUT_Z, -1)
        v[0] = 1.0
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, q, v)
        velocity = pin.getVelocity(self.model, data, 1, pin.LOCAL_WORLD_ALIGNED)
        assert np.allclose(velocity.vector, [0, 1, 0, 0, 0, 0])

    def test_gravity_order_and_counts(self):
        assert self.model.gravity.vector.tolist() == [0, 0, -9.81, 0, 0, 0]
        assert list(self.model.names)[2:] == ["x", "z"]  # alphabetical; mimic is ignored
        assert (self.model.nq, self.model.nv) == (7 + 4, 6 + 2)
        assert self.model.existFrame("c", pin.BODY)

    def test_parameters_have_iyy_before_ixz(self):
        tensor = np.array([[10, 1, 2], [1, 11, 3], [2, 3, 12.0]])
        parameters = pin.Inertia(1.0, np.zeros(3), tensor).toDynamicParameters()
        assert parameters[4:].tolist() == [10, 1, 11, 2, 3, 12]

    def test_an_external_force_is_in_the_frame_of_its_joint(self):
        q, v = pin.neutral(self.model), np.zeros(self.model.nv)
        q[:7] = [1, 2, 3, *np.roll(HALF_PI_ABOUT_Z, -1)]
        data = self.model.createData()
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        forces[1] = pin.Force(np.arange(1.0, 7.0))
        with_force = pin.rnea(self.model, data, q, v, v, forces).copy()
        without = pin.rnea(self.model, data, q, v, v).copy()
        assert np.allclose((without - with_force)[:6], np.arange(1.0, 7.0))


class TestIDynTree:
    def test_quaternions_begin_with_w(self):
        rotation = idyn.Rotation.RotZ(np.pi / 2)
        assert np.allclose(rotation.asQuaternion().toNumPy(), HALF_PI_ABOUT_Z)

    def test_parameters_are_in_linkworks_order(self):
        actual = lw.Inertia(2.0, (0.1, 0.2, 0.3), (10, 1, 2, 11, 3, 12))
        tensor = idyn.RotationalInertia()
        for index, number in np.ndenumerate(actual.matrix()):
            tensor.setVal(*index, float(number))
        theirs = idyn.SpatialInertia()
        theirs.fromRotationalInertiaWrtCenterOfMass(2.0, idyn.Position(0.1, 0.2, 0.3), tensor)
        assert np.allclose(theirs.asVector().toNumPy(), actual.parameters())

    def test_velocities_are_mixed_by_default(self):
        assert idyn.KinDynComputations().getFrameVelocityRepresentation() == (
            idyn.MIXED_REPRESENTATION
        )

    def test_links_stay_and_mimic_joints_are_free(self):
        loader = idyn.ModelLoader()
        assert loader.loadModelFromString(URDF)
        model = loader.model()
        names = [model.getLinkName(i) for i in range(model.getNrOfLinks())]
        assert {"b", "c", "d"} <= set(names)
        assert model.getNrOfDOFs() == 2
        assert model.getNrOfPosCoords() == 2

    def test_massless_roots_and_ends_become_frames(self):
        bodies = {name: BODY if name in "bcd" else "" for name in "abcdef"}
        links = "".join(f'<link name="{name}">{body}</link>' for name, body in bodies.items())
        ends = (("a", "b", "fixed"), ("b", "c", "fixed"), ("b", "d", "continuous"))
        more = (("d", "e", "fixed"), ("d", "f", "continuous"))
        joints = "".join(
            f'<joint name="{first}{second}" type="{kind}"><parent link="{first}"/>'
            f'<child link="{second}"/></joint>'
            for first, second, kind in (*ends, *more)
        )
        root = f'<robot name="r">{links}{joints}</robot>'
        loader = idyn.ModelLoader()
        assert loader.loadModelFromString(root)
        model = loader.model()
        links = [model.getLinkName(i) for i in range(model.getNrOfLinks())]
        frames = [model.getFrameName(i) for i in range(len(links), model.getNrOfFrames())]
        assert sorted(links) == ["b", "c", "d", "f"]
        assert sorted(frames) == ["a", "e"]


class TestMuJoCo:
    model = mujoco.MjModel.from_xml_string(FREE_BODY)

    def test_quaternions_begin_with_w_and_gravity_is_981(self):
        assert self.model.qpos0.tolist() == [0, 0, 0, 1, 0, 0, 0]
        assert self.model.opt.gravity.tolist() == [0, 0, -9.81]

    def test_free_joints_have_linear_velocity_in_the_world_and_angular_in_the_body(self):
        data = mujoco.MjData(self.model)
        data.qpos[3:] = quat.from_rotation(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]]))
        mujoco.mj_forward(self.model, data)
        jacp, jacr = np.zeros((2, 3, 6))
        mujoco.mj_jacBody(self.model, data, jacp, jacr, 1)
        assert np.allclose(jacp[:, :3], np.eye(3))
        assert np.allclose(jacr[:, 3:], data.xmat[1].reshape(3, 3))

    def test_object_velocities_begin_with_the_angular_part(self):
        data = mujoco.MjData(self.model)
        data.qvel[:] = [1, 2, 3, 0, 0, 0]
        mujoco.mj_forward(self.model, data)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(self.model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, velocity, 0)
        assert np.allclose(velocity, [0, 0, 0, 1, 2, 3])

    def test_inertia_is_principal_about_the_center_of_mass(self):
        tensor = np.array([[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]])
        R = quat.to_rotation(self.model.body_iquat[1])
        assert np.allclose(R @ np.diag(self.model.body_inertia[1]) @ R.T, tensor)
        assert np.allclose(self.model.body_ipos[1], [0.1, 0.2, 0.3])

    def test_applied_wrenches_are_force_then_torque_at_the_center_of_mass(self):
        data = mujoco.MjData(self.model)
        data.xfrc_applied[1] = [1, 2, 3, 4, 5, 6]
        mujoco.mj_forward(self.model, data)
        moment = np.cross([0.1, 0.2, 0.3], [1, 2, 3]) + np.array([4, 5, 6])
        total = np.zeros(6)
        mujoco.mj_applyFT(
            self.model, data, [1.0, 2, 3], [4.0, 5, 6], data.xipos[1].copy(), 1, total
        )
        assert np.allclose(total, [1, 2, 3, *moment])
        weight = data.qfrc_bias
        acceleration = np.linalg.solve(mass_matrix(self.model, data), total - weight)
        assert np.allclose(data.qacc, acceleration)

    def test_fixed_joints_of_urdf_files_are_merged_and_mimic_joints_stay(self):
        model = mujoco.MjModel.from_xml_string(URDF)
        names = [model.body(i).name for i in range(model.nbody)]
        assert "c" not in names
        assert model.nq == model.nv == 2


def test_the_three_cards_state_that_they_are_tested():
    assert card("pinocchio").quaternion == "x y z w"
    assert card("mujoco").quaternion == card("idyntree").quaternion[:7] == "w x y z"
    assert card("linkwork").regressor == card("idyntree").regressor
