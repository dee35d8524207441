"""Names of iDynTree's classes, methods and arguments compared with the installed package."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn

from linkwork.compat.idyntree.statuses import replacements

INSTEAD = replacements()
NAMES = sorted(compat.__all__)
SHARED = [name for name in NAMES if inspect.isclass(getattr(idyn, name, None))]  # in both modules
ITERATORS = {"begin", "end", "cbegin", "cend", "rbegin", "rend", "iterator", "get_allocator"}
POINTERS = {"this", "thisown", "data"}
MEMORY = {"reserve", "capacity", "shrink_to_fit"} | {
    "fillBuffer",
    "fillRowMajorBuffer",
    "fillColMajorBuffer",
}
ABSTRACT = {"IJoint": "FixedJoint", "SolidShape": "Sphere"}


def methods_of(name):
    """Return the public names of a class of iDynTree."""
    names = {method for method in dir(getattr(idyn, name)) if not method.startswith("_")}
    return names - ITERATORS - POINTERS - MEMORY


def missing_of(name):
    """Return the names of a class of iDynTree that are not supported."""
    value = getattr(compat, ABSTRACT.get(name, name))()
    return methods_of(name) - set(dir(type(value))) - set(dir(value))


@pytest.mark.parametrize("name", SHARED)
def test_a_class_has_the_methods_of_idyntree_or_names_a_replacement(name):
    value = getattr(compat, ABSTRACT.get(name, name))()
    for method in missing_of(name):
        assert method in INSTEAD, method
        for owner in (value, type(value)):  # a method may be static
            with pytest.raises(AttributeError, match=re.escape(INSTEAD[method])):
                getattr(owner, method)


@pytest.mark.parametrize("name", SHARED)
def test_arguments_have_the_names_of_idyntree(name):
    """Overloaded methods take no keywords in iDynTree, so they may have any names here."""
    different = {}
    for method in methods_of(name) - missing_of(name):
        theirs = inspect.getattr_static(getattr(idyn, name), method)
        theirs = theirs.__func__ if isinstance(theirs, staticmethod) else theirs
        if not inspect.isfunction(theirs):
            continue
        parameters = inspect.signature(theirs).parameters.values()
        if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
            continue
        expected = [parameter.name for parameter in parameters if parameter.name != "self"]
        if not expected:
            continue
        actual = inspect.signature(getattr(getattr(compat, name), method)).parameters
        arguments = [parameter for parameter in actual if parameter != "self"]
        if arguments[: len(expected)] != expected:
            different[method] = (expected, arguments)

    assert not different


def test_a_star_import_imports_only_names_of_idyntree():
    namespace = {}
    exec("from linkwork.compat.idyntree import *", namespace)

    names = set(namespace) - {"__builtins__"}
    assert {"KinDynComputations", "Rotation", "MIXED_REPRESENTATION"} <= names
    other = {name for name in names if not hasattr(idyn, name) and not hasattr(idyn.cvar, name)}
    assert other == {"RevoluteSO2Joint"}  # a class of iDynTree that its bindings leave out


def test_most_of_the_names_are_compared():
    assert len(SHARED) >= 50
    assert sum(len(methods_of(name)) for name in SHARED) > 900


def test_values_of_enums_agree_with_idyntree():
    for name in NAMES:
        value = getattr(compat, name)
        if isinstance(value, int):
            theirs = getattr(idyn, name) if hasattr(idyn, name) else getattr(idyn.cvar, name)
            assert value == theirs, name


def test_unsupported_names_raise_attribute_errors():
    for name in ("AttitudeMahonyFilter", "VectorDynSize__x", "nonsense_FromPython"):
        with pytest.raises(AttributeError, match=name):
            getattr(compat, name)
    with pytest.raises(AttributeError, match="MatrixDynSize"):
        compat.FreeFloatingMassMatrix  # noqa: B018 - the attribute is what is asked for


def test_the_table_of_replacements_has_only_unsupported_names():
    members = {member for name in dir(idyn) for member in dir(getattr(idyn, name))}
    unknown = {name for name in INSTEAD if not hasattr(idyn, name) and name not in members}

    assert unknown == set()
    assert not set(INSTEAD) & set(NAMES)


def test_static_methods_have_the_flat_names_of_older_releases():
    vector = compat.VectorDynSize_FromPython(np.arange(3.0))

    assert type(vector) is compat.VectorDynSize
    assert (
        compat.Rotation_RPY(0.1, 0.2, 0.3).tolist() == compat.Rotation.RPY(0.1, 0.2, 0.3).tolist()
    )
    with pytest.raises(AttributeError, match="FromNothing"):
        compat.VectorDynSize_FromNothing  # noqa: B018 - the attribute is what is asked for
