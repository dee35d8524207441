"""Kinematics and dynamics of robots.

kd = linkwork.KinDyn(linkwork.load("robot.urdf"))
M = kd.mass_matrix(kd.neutral())
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from linkwork import robots as robots
from linkwork.errors import ArgumentError as ArgumentError
from linkwork.errors import Finding as Finding
from linkwork.errors import LinkworkError as LinkworkError
from linkwork.errors import LinkworkWarning as LinkworkWarning
from linkwork.errors import ModelError as ModelError
from linkwork.errors import NameNotFoundError as NameNotFoundError
from linkwork.errors import ParseError as ParseError
from linkwork.errors import ShapeError as ShapeError
from linkwork.errors import SingularJointError as SingularJointError
from linkwork.errors import SourceError as SourceError
from linkwork.io.dump import dump_urdf as dump_urdf
from linkwork.io.load import load as load
from linkwork.model.builder import ModelBuilder as ModelBuilder
from linkwork.model.check import check as check
from linkwork.model.describe import describe as describe
from linkwork.model.edit import attached as attached
from linkwork.model.edit import renamed as renamed
from linkwork.model.edit import with_frame as with_frame
from linkwork.model.edit import with_inertia as with_inertia
from linkwork.model.edit import with_payload as with_payload
from linkwork.model.inertia import Inertia as Inertia
from linkwork.model.layout import Layout as Layout
from linkwork.model.model import Model as Model
from linkwork.model.parts import Frame as Frame
from linkwork.model.parts import Joint as Joint
from linkwork.model.parts import Limits as Limits
from linkwork.model.parts import Link as Link
from linkwork.model.parts import Mimic as Mimic
from linkwork.model.pose import Pose as Pose
from linkwork.model.reduce import lumped as lumped
from linkwork.model.reduce import reduced as reduced
from linkwork.model.reduce import rerooted as rerooted
from linkwork.model.tree import Tree as Tree
from linkwork.model.tree import tree_from as tree_from
from linkwork.version import __version__ as __version__

if _TYPE_CHECKING:
    from linkwork.kernel.compile import compile_function
    from linkwork.kindyn import KinDyn as KinDyn

    compile = compile_function

# imported when first used: name, module, name there
_LATER = {
    "KinDyn": ("linkwork.kindyn", "KinDyn"),
    "compile": ("linkwork.kernel.compile", "compile_function"),
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        text = f"module 'linkwork' has no attribute {name!r}"
        raise AttributeError(text)
    from importlib import import_module

    module, own_name = _LATER[name]
    found = getattr(import_module(module), own_name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
