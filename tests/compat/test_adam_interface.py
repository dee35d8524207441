"""The adam interface: import paths, classes, methods and arguments are those of adam."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys

import pytest
from tests.support.adam import CHAIN, adam_model

from linkwork.compat.adam import KinDynComputations

IMPORTS = """
from adam import Representations
from adam.casadi import InverseKinematics, KinDynComputations, TargetType
from adam.casadi.computations import KinDynComputations
from adam.casadi.inverse_kinematics import FramesConstraint, InverseKinematics, TargetType
from adam.core import Representations
from adam.core.constants import Representations
from adam.jax import KinDynComputations
from adam.jax.computations import KinDynComputations
from adam.model import Model, Node, Tree, build_model_factory
from adam.model.conversions import to_idyntree_model
from adam.model.conversions.idyntree import to_idyntree_model
from adam.model.factory import build_model_factory
from adam.model.mj_factory.mujoco_model import MujocoModelFactory
from adam.model.model import Model
from adam.model.std_factories.std_model import URDFModelFactory
from adam.model.tree import Node, Tree
from adam.model import Inertia, Inertial, Joint, Limits, Link, ModelFactory, Pose, StdJoint, StdLink
from adam.model.abc_factories import Inertia, Inertial, Joint, Limits, Link, ModelFactory, Pose
from adam.model.std_factories.std_joint import StdJoint
from adam.model.std_factories.std_link import StdLink
from adam.core import RBDAlgorithms, SpatialMath
from adam.core.rbd_algorithms import RBDAlgorithms
from adam.core.spatial_math import SpatialMath
from adam.casadi.casadi_like import SpatialMath
from adam.jax.jax_like import SpatialMath
from adam.pytorch.torch_like import SpatialMath
from adam.numpy import KinDynComputations, NumpyLike
from adam.numpy.computations import KinDynComputations
from adam.numpy.numpy_like import NumpyLike, SpatialMath
from adam.parametric.casadi import KinDynComputationsParametric
from adam.parametric.casadi.computations_parametric import KinDynComputationsParametric
from adam.parametric.jax import KinDynComputationsParametric
from adam.parametric.jax.computations_parametric import KinDynComputationsParametric
from adam.parametric.model import URDFParametricModelFactory
from adam.parametric.model.parametric_factories.parametric_model import URDFParametricModelFactory
from adam.parametric.numpy import KinDynComputationsParametric
from adam.parametric.numpy.computations_parametric import KinDynComputationsParametric
from adam.parametric.pytorch import KinDynComputationsParametric
from adam.parametric.pytorch.computations_parametric import KinDynComputationsParametric
from adam.pytorch import KinDynComputations, KinDynComputationsBatch
from adam.pytorch.computation_batch import KinDynComputationsBatch
from adam.pytorch.computations import KinDynComputations
import adam.numpy.computations as module; module.KinDynComputations
import adam.core.constants; adam.core.constants.Representations
"""


# Removes all modules of the interface after each line, so that lines are independent.
SCRIPT = """
import sys
for line in sys.stdin.read().splitlines():
    exec(line, {})
    for name in [name for name in sys.modules if name.startswith("linkwork.compat.adam")]:
        del sys.modules[name]
"""


def test_import_paths_of_adam():
    lines = IMPORTS.strip()
    for code in (lines, re.sub(r"\badam\b", "linkwork.compat.adam", lines)):
        subprocess.run([sys.executable, "-c", SCRIPT], input=code, text=True, check=True)


CLASSES = {
    "numpy.computations": ["KinDynComputations"],
    "jax.computations": ["KinDynComputations"],
    "pytorch.computations": ["KinDynComputations"],
    "pytorch.computation_batch": ["KinDynComputationsBatch"],
    "casadi.computations": ["KinDynComputations"],
    "casadi.inverse_kinematics": ["InverseKinematics", "Target", "TargetType", "FramesConstraint"],
    "parametric.numpy.computations_parametric": ["KinDynComputationsParametric"],
    "parametric.jax.computations_parametric": ["KinDynComputationsParametric"],
    "parametric.pytorch.computations_parametric": ["KinDynComputationsParametric"],
    "parametric.casadi.computations_parametric": ["KinDynComputationsParametric"],
    "core.rbd_algorithms": ["RBDAlgorithms"],
    "model": ["Model", "Tree", "Node", "URDFModelFactory", "MujocoModelFactory"],
    "parametric.model": ["URDFParametricModelFactory"],
    "numpy.numpy_like": ["SpatialMath"],
}
PARTIAL = {"SpatialMath"}  # classes supported as far as docs/adam.md lists
# Objects that linkwork builds from other data than adam: users get them from methods and factories.
MADE_OTHERWISE = {"Model.__init__", "Tree.__init__", "Node.__init__"}
FROM_PARTS = {"build_joint", "build_link", "get_element_by_name"}  # from objects of adam's parser
MISSING = {  # see docs/adam.md
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


def differences(name, module):
    """Return methods of one of adam's classes that are missing here, or have other arguments."""
    adams = getattr(importlib.import_module(f"adam.{module}"), name)
    ours = getattr(importlib.import_module(f"linkwork.compat.adam.{module}"), name)
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
            if expected != result:
                yield f"{module}: {method}: {result} instead of {expected}"
            if not (inspect.getdoc(getattr(ours, method)) or "").strip():
                yield f"{module}: {method} has no documentation"


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in CLASSES.items() for name in names]
)
def test_methods_take_the_arguments_of_adam(module, name):
    assert list(differences(name, module)) == []


@pytest.mark.parametrize("path", LATER)
def test_methods_of_a_later_adam_take_its_arguments(path):
    module, name, method = path.rsplit(".", 2)
    ours = getattr(importlib.import_module(f"linkwork.compat.adam.{module}"), name)
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
