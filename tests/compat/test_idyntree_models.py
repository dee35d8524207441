"""Robots with iDynTree's names compared with iDynTree: 84 real robots, complete and reduced."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.support.idyntree import MODULES, compat, idyn, loader_of, path_of
from tests.support.real_robots import ROBOT_FILES, label

import linkwork as lw
from linkwork.compat.idyntree.conversion import table_order

REDUCED = {
    "iCubGenova04/model": 12,
    "talos_data/talos_reduced": 9,
    "panda_description/panda": 4,
    "allegro_hand_description/allegro_right_hand": 7,
    "iris_description/iris": 0,
}
UNDEFINED_MATERIAL = {  # iDynTree stops reading visuals after a material without a color
    "allegro_hand_description/allegro_left_hand",
    "allegro_hand_description/allegro_right_hand",
    "talos_data/talos_reduced_corrected",
}


def structure(model):
    """Return all names and counts of a robot."""
    links, joints, frames = model.getNrOfLinks(), model.getNrOfJoints(), model.getNrOfFrames()
    ends = [model.getJoint(joint) for joint in range(joints)]
    return {
        "links": [model.getLinkName(link) for link in range(links)],
        "joints": [model.getJointName(joint) for joint in range(joints)],
        "frames": [model.getFrameName(frame) for frame in range(frames)],
        "coordinates": (model.getNrOfDOFs(), model.getNrOfPosCoords()),
        "base": model.getDefaultBaseLink(),
        "links of frames": [model.getFrameLink(frame) for frame in range(frames)],
        "ends": [(j.getFirstAttachedLink(), j.getSecondAttachedLink()) for j in ends],
        "places": [(j.getDOFsOffset(), j.getPosCoordsOffset(), j.getNrOfDOFs()) for j in ends],
    }


def limits(model):
    """Return the limits of the joints that have some, by index."""
    joints = map(model.getJoint, range(model.getNrOfDOFs()))
    return {
        joint.getIndex(): (joint.getMinPosLimit(0), joint.getMaxPosLimit(0))
        for joint in joints
        if joint.hasPosLimits()
    }


def numbers(module, model):
    """Return poses of frames, inertias and mass."""
    poses = [model.getFrameTransform(frame) for frame in range(model.getNrOfFrames())]
    parameters = MODULES[module].VectorDynSize()
    assert model.getInertialParameters(parameters)
    matrices = [pose.asHomogeneousTransform().toNumPy() for pose in poses]
    return np.array(matrices), parameters.toNumPy(), model.getTotalMass()


def shapes(model, kind):
    """Return the visual or collision shapes and their poses."""
    what, poses = [], []
    for link, members in enumerate(getattr(model, f"{kind}SolidShapes")().getLinkSolidShapes()):
        for shape in members:
            sizes = ()
            if box := shape.asBox():
                sizes = ("box", box.getX(), box.getY(), box.getZ())
            elif sphere := shape.asSphere():
                sizes = ("sphere", sphere.getRadius())
            elif cylinder := shape.asCylinder():
                sizes = ("cylinder", cylinder.getRadius(), cylinder.getLength())
            elif mesh := shape.asExternalMesh():
                sizes = ("mesh", mesh.getFilename(), *mesh.getScale().toNumPy().tolist())
            kinds = shape.isBox(), shape.isSphere(), shape.isCylinder(), shape.isExternalMesh()
            color = shape.getMaterial().color().toNumPy().tolist()
            what.append((link, shape.getName(), *kinds, *sizes, *color))
            poses.append(shape.getLink_H_geometry().asHomogeneousTransform().toNumPy())
    return what, np.array(poses)


def assert_same_shapes(here, there, kind, *, complete):
    (actual, my_poses), (theirs, their_poses) = shapes(here, kind), shapes(there, kind)
    if not complete:
        assert len(actual) > len(theirs)
        return
    assert actual == theirs
    np.testing.assert_allclose(my_poses, their_poses, atol=1e-11)


def assert_same_robot(here, there, name):
    assert structure(here) == structure(there)
    assert (
        limits(here).items() <= limits(there).items()
    )  # iDynTree also has limits for continuous joints
    for actual, theirs in zip(numbers("linkwork", here), numbers("iDynTree", there), strict=True):
        np.testing.assert_allclose(actual, theirs, rtol=1e-11, atol=1e-11)
    assert_same_shapes(here, there, "collision", complete=True)
    assert_same_shapes(here, there, "visual", complete=name not in UNDEFINED_MATERIAL)


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_a_robot_has_the_links_joints_and_frames_of_idyntree_in_its_order(path):
    """Also frames without mass and frames of sensors; the order is that of its Linux packages."""
    name = label(path)

    here, there = loader_of("linkwork", name).model(), loader_of("iDynTree", name).model()
    assert_same_robot(here, there, name)


@pytest.mark.parametrize(("name", "count"), REDUCED.items())
@pytest.mark.parametrize("locked", [False, True], ids=["at zero", "at positions"])
def test_a_reduced_robot_agrees_with_idyntree(name, count, locked):
    """Fixed joints may be kept; the others are locked, and their links become frames."""
    full = loader_of("iDynTree", name).model()
    rng = np.random.default_rng(4)
    names = [full.getJointName(joint) for joint in range(full.getNrOfJoints())]
    selected = [names[index] for index in rng.permutation(len(names))[:count]]
    positions = {
        name: float(rng.normal()) for name in names[: full.getNrOfDOFs()] if name not in selected
    }
    result = {}
    for module, iDynTree in MODULES.items():
        loader = iDynTree.ModelLoader()
        arguments = (selected, positions) if locked else (selected,)
        model = loader_of(module, name).model()
        assert loader.loadReducedModelFromFullModel(model, *arguments)
        result[module] = loader.model().copy()  # iDynTree's model does not outlive its loader

    assert_same_robot(result["linkwork"], result["iDynTree"], name)


@pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
def test_the_ways_to_load_a_reduced_robot_agree(iDynTree):
    path = path_of("panda_description/panda")
    with open(path) as file:  # noqa: PTH123 - as users write it
        xml = file.read()
    names, positions = ["panda_joint4", "panda_joint2"], {"panda_joint1": 0.3}
    masses = []
    for load, source in (("File", path), ("String", xml)):
        for arguments in (
            (names,),
            (names, positions),
            (names, positions, "urdf"),
            (names, "urdf"),
        ):
            loader = iDynTree.ModelLoader()
            assert not loader.isValid()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lw.LinkworkWarning)
                assert getattr(loader, f"loadReducedModelFrom{load}")(source, *arguments)
            assert loader.isValid()
            model = loader.model()
            assert [model.getJointName(joint) for joint in range(2)] == names
            assert (model.getNrOfJoints(), model.getNrOfLinks()) == (2, 3)
            masses.append(model.getTotalMass())
    assert np.ptp(masses) < 1e-12


@pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
def test_names_indices_and_frames_of_links(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    model = loader_of(module, "panda_description/panda").model().copy()
    link = model.getLinkIndex("panda_hand")
    tcp = model.getFrameIndex("panda_hand_tcp")
    result = iDynTree.IndexVector()

    assert model.isValid()
    assert model.getLinkAdditionalFrames(link, result)
    assert len(result) == 1  # iDynTree's bindings do not expose the elements
    assert model.isValidLinkIndex(link)
    assert not model.isValidLinkIndex(tcp)
    assert model.getJointName(model.getJointIndex("panda_joint3")) == "panda_joint3"
    assert model.getFrameLink(tcp) == link
    H = iDynTree.Transform(iDynTree.Rotation.RPY(0.1, 0.2, 0.3), iDynTree.Position(1, 2, 3))
    assert model.addAdditionalFrameToLink("panda_hand", "tool", H)
    assert model.getFrameIndex("tool") == model.getNrOfFrames() - 1
    pose = model.getFrameTransform(model.getFrameIndex("tool"))
    np.testing.assert_allclose(
        pose.asHomogeneousTransform().toNumPy(), H.asHomogeneousTransform().toNumPy(), atol=1e-15
    )
    assert model.setDefaultBaseLink(link)
    assert model.getDefaultBaseLink() == link


@pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
def test_inertial_parameters_can_be_changed(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    model = loader_of(module, "panda_description/panda").model().copy()
    phi = iDynTree.VectorDynSize(10 * model.getNrOfLinks())
    assert model.getInertialParameters(phi)
    mass = model.getTotalMass()

    assert model.updateInertialParameters(iDynTree.VectorDynSize.FromPython(2 * phi.toNumPy()))

    assert model.getTotalMass() == pytest.approx(2 * mass, rel=1e-14)


@pytest.mark.parametrize("name", ["iCubGenova04/model", "talos_data/talos_reduced"])
def test_traversals_visit_the_links_in_the_order_of_idyntree(name):
    result = {}
    for module, iDynTree in MODULES.items():
        model, walk = loader_of(module, name).model(), iDynTree.Traversal()
        assert model.computeFullTreeTraversal(walk, model.getNrOfLinks() // 2)
        indices = range(1, walk.getNrOfVisitedLinks())
        result[module] = (
            walk.getBaseLink().getIndex(),
            [walk.getLink(index).getIndex() for index in indices],
            [walk.getParentLink(index).getIndex() for index in indices],
            [walk.getParentJoint(index).getIndex() for index in indices],
            [
                (
                    walk.getParentLinkIndexFromJointIndex(model, joint),
                    walk.getChildLinkIndexFromJointIndex(model, joint),
                )
                for joint in range(model.getNrOfJoints())
            ],
            [
                walk.isParentOf(parent, child)
                for parent in range(model.getNrOfLinks())
                for child in range(model.getNrOfLinks())
            ],
        )

    assert result["linkwork"] == result["iDynTree"]


def test_joints_and_links_agree_with_idyntree():
    result = {}
    for module, iDynTree in MODULES.items():
        model = loader_of(module, "panda_description/panda").model()
        s = iDynTree.VectorDynSize.FromPython(0.1 * np.arange(1, model.getNrOfPosCoords() + 1))
        numbers_of_joints = []
        for index in range(model.getNrOfJoints()):
            joint = model.getJoint(index)
            ends = joint.getSecondAttachedLink(), joint.getFirstAttachedLink()
            for way in (ends, ends[::-1]):
                for H in (joint.getRestTransform(*way), joint.getTransform(s, *way)):
                    numbers_of_joints.append(H.asHomogeneousTransform().toNumPy())
        inertias = [
            model.getLink(link).getInertia().asMatrix().toNumPy()
            for link in range(model.getNrOfLinks())
        ]
        result[module] = np.array(numbers_of_joints), np.array(inertias)

    for actual, theirs in zip(*result.values(), strict=True):
        np.testing.assert_allclose(actual, theirs, atol=1e-13)


def test_names_have_the_order_of_gccs_hash_table():
    """Eleven names fit in a table of thirteen; with thirty it has grown twice."""
    names = [f"joint_{number}" for number in range(30)]

    assert sorted(table_order(names)) == sorted(names)
    assert table_order(names[:3]) == table_order(names[:3])
    assert table_order(names) != names


def test_a_string_and_a_file_define_the_same_robot(tmp_path):
    xml = lw.dump_urdf(lw.robots.load("quadruped"))
    path = tmp_path / "quadruped.urdf"
    path.write_text(xml)
    from_file, from_text = compat.ModelLoader(), compat.ModelLoader()
    from_file.loadModelFromFile(path)
    from_text.loadModelFromString(xml)

    assert structure(from_file.model()) == structure(from_text.model())


def test_shapes_have_their_sizes_and_cannot_be_changed():
    ball = lw.Shape(lw.Sphere(0.25), material=lw.Material(rgba=(1.0, 0.0, 0.0, 0.5)))
    rod = lw.Shape(lw.Cylinder(0.5, 0.75), lw.Pose((1.0, 2.0, 3.0)))
    builder = lw.ModelBuilder("r")
    builder.add_link("stand", visuals=[ball, rod], collisions=[lw.Shape(lw.Box((1.0, 2.0, 3.0)))])
    model = compat.Model(builder.build())

    what, poses = shapes(model, "visual")
    assert [entry[6:] for entry in what] == [
        ("sphere", 0.25, 1.0, 0.0, 0.0, 0.5),
        ("cylinder", 0.5, 0.75, 0.0, 0.0, 0.0, 0.0),
    ]
    assert poses[1, :3, 3].tolist() == [1, 2, 3]
    (box,) = model.collisionSolidShapes().getLinkSolidShapes()[0]
    with pytest.raises(AttributeError, match=r"setX.*linkwork"):
        box.setX(9.0)
    with pytest.raises(lw.LinkworkError, match="Sphere, Box"):
        compat.SolidShape()


@pytest.mark.parametrize("name", ["panda_description/panda", "iCubGenova04/model"])
def test_the_degrees_of_freedom_of_a_file_are_listed(name):
    with open(path_of(name)) as file:  # noqa: PTH123 - as users write it
        xml = file.read()
    result = []
    for iDynTree in (idyn, compat):
        from_file, from_text = iDynTree.StringVector(["old"]), iDynTree.StringVector()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.LinkworkWarning)
            assert iDynTree.dofsListFromURDF(path_of(name), from_file)
            assert iDynTree.dofsListFromURDFString(xml, from_text)
        result += [list(from_file), list(from_text)]

    assert result[0] == result[2]
    assert result[1] == result[3]
