"""The adam interface: classes, methods and arguments are those of adam."""

from __future__ import annotations

import importlib
import inspect

import pytest
from tests.support.adam import CHAIN, adam_model

from linkwork.compat.adam import KinDynComputations

CLASSES = {  # of adam, and their modules here
    "numpy.computations": ("numpy", ["KinDynComputations"]),
    "jax.computations": ("jax", ["KinDynComputations"]),
    "pytorch.computations": ("pytorch", ["KinDynComputations"]),
    "pytorch.computation_batch": ("pytorch", ["KinDynComputationsBatch"]),
    "casadi.computations": ("casadi", ["KinDynComputations"]),
    "casadi.inverse_kinematics": ("casadi", ["InverseKinematics", "TargetType"]),
    "parametric.numpy.computations_parametric": ("parametric", ["KinDynComputationsParametric"]),
    "parametric.jax.computations_parametric": ("jax", ["KinDynComputationsParametric"]),
    "parametric.pytorch.computations_parametric": ("pytorch", ["KinDynComputationsParametric"]),
    "parametric.casadi.computations_parametric": ("casadi", ["KinDynComputationsParametric"]),
    "core.rbd_algorithms": ("numpy", ["RBDAlgorithms"]),
    "model": ("model", ["Model", "Tree", "Node", "URDFModelFactory", "MujocoModelFactory"]),
    "parametric.model": ("parametric", ["URDFParametricModelFactory"]),
    "numpy.numpy_like": ("numpy", ["SpatialMath"]),
}
PARTIAL = {"SpatialMath"}  # classes supported as far as docs/adam.md lists
# Objects that linkwork builds from other data than adam: users get them from methods and factories.
MADE_OTHERWISE = {"Model.__init__", "Tree.__init__", "Node.__init__"}
# Arguments without names, or with the same name in each class, see docs/adam.md.
OTHER_NAMES = {
    *(f"RBDAlgorithms.{name}" for name in ("crba", "rnea", "aba")),
    "KinDynComputationsParametric.__init__",
    *(f"InverseKinematics.add_target_{part}" for part in ("position", "orientation", "pose")),
}
RENAMED = {"s": "joint_positions", "base_positions": "joint_positions", "s_dot": "joint_velocities"}
FROM_PARTS = {"build_joint", "build_link", "get_element_by_name"}  # from objects of adam's parser
MISSING = {  # see docs/adam.md
    "InverseKinematics": {
        *("get_opti", "get_opti_variables", "base_transform", "add_cost", "set_solver"),
        *("add_frames_constraint", "add_ball_constraint", "add_fixed_constraint"),
        *("add_min_distance_constraint", "set_default_joint_limit_constraints"),
    },
    "Tree": {"build_tree", "get_children", "print"},
    "URDFModelFactory": FROM_PARTS,
    "MujocoModelFactory": FROM_PARTS,
    "URDFParametricModelFactory": FROM_PARTS,
}
LATER = {  # than adam 0.5
    "casadi.inverse_kinematics.InverseKinematics.set_joint_limit": "joint_name lower_limit "
    "upper_limit",
    "model.Model.build": "factory joints_name_list root_link",
    "numpy.computations.KinDynComputations.set_root_link": "root_link",
    "numpy.computations.KinDynComputations.link_poses": "base_transform joint_positions",
    "model.Model.to_usd": "usd_output_path robot_prim_path",
}


def parameters(function):
    """Return name, kind and whether there is a default of each parameter, without `self`."""
    expected = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default is p.empty) for p in expected if p.name != "self"]


def differences(name, module, here):
    """Return methods of one of adam's classes that are missing here, or have other arguments."""
    adams = getattr(importlib.import_module(f"adam.{module}"), name)
    ours = getattr(importlib.import_module(f"linkwork.compat.adam.{here}"), name)
    for method in dir(adams):
        is_public = not method.startswith("_") or method == "__init__"
        if not is_public or not callable(getattr(adams, method)):
            continue
        if f"{name}.{method}" in MADE_OTHERWISE or method in MISSING.get(name, ()):
            continue
        if not hasattr(ours, method) and name in PARTIAL:
            continue
        if not hasattr(ours, method):
            yield f"{module}: no {method}"
        elif f"{module}.{name}.{method}" not in LATER:
            expected, result = (parameters(getattr(kind, method)) for kind in (adams, ours))
            expected = [(RENAMED.get(key, key), *rest) for key, *rest in expected]
            if f"{name}.{method}" not in OTHER_NAMES and expected != result:
                yield f"{module}: {method}: {result} instead of {expected}"
            if not (inspect.getdoc(getattr(ours, method)) or "").strip():
                yield f"{module}: {method} has no documentation"


@pytest.mark.parametrize(
    ("module", "here", "name"),
    [(module, here, name) for module, (here, names) in CLASSES.items() for name in names],
)
def test_methods_take_the_arguments_of_adam(module, here, name):
    assert list(differences(name, module, here)) == []


@pytest.mark.parametrize("path", LATER)
def test_methods_of_a_later_adam_take_its_arguments(path):
    module, name, method = path.rsplit(".", 2)
    ours = getattr(importlib.import_module(f"linkwork.compat.adam.{CLASSES[module][0]}"), name)
    assert [key for key, *_ in parameters(getattr(ours, method))] == LATER[path].split()


def public(kind):
    """Return the public names of a class, including inherited ones."""
    return {name for name in dir(kind) if not name.startswith("_")}


def test_models_trees_links_and_joints_have_the_names_of_adam():
    kd = KinDynComputations(CHAIN)
    assert {"model", "NDoF", "root_link", "frame_velocity_representation"} <= public(kd.rbdalgos)
    theirs, actual = adam_model(CHAIN), kd.model
    assert public(theirs) <= public(actual)
    assert public(theirs.tree) - public(actual.tree) == {"build_tree", "get_children", "print"}
    pairs = [
        (theirs.tree[1], actual.tree[1]),
        (theirs.links["arm"], actual.links["arm"]),
        (theirs.joints["turn"], actual.joints["turn"]),
        (theirs.joints["turn"].limit, actual.joints["turn"].limit),
        (theirs.joints["turn"].origin, actual.joints["turn"].origin),
    ]
    for their_part, our_part in pairs:
        assert public(their_part) - public(our_part) <= {"math", "build", "zero"}
    inertial = theirs.links["arm"].inertial, actual.links["arm"].inertial
    for their_part, our_part in (inertial, (inertial[0].inertia, inertial[1].inertia)):
        missing = public(their_part) - public(our_part)
        assert missing <= {"build", "zero", "set_mass", "set_inertia", "set_origin"}
