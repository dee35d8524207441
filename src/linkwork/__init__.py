"""Kinematics and dynamics of robots.

kd = linkwork.KinDyn(linkwork.load("robot.urdf"))
M = kd.mass_matrix(kd.neutral())
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from linkwork.engine import BRIDGES as _BRIDGES
from linkwork.engine import UNRELATED_FOLDERS as _UNRELATED_FOLDERS
from linkwork.version import __version__ as __version__

if _TYPE_CHECKING:  # what type checkers and editors see
    from linkwork import linalg as linalg
    from linkwork import parameters as parameters
    from linkwork import robots as robots
    from linkwork import spatial as spatial
    from linkwork.collision.model import CollisionModel as CollisionModel
    from linkwork.collision.obstacles import Obstacles as Obstacles
    from linkwork.collision.plan import Plan as Plan
    from linkwork.collision.plan import plan as plan
    from linkwork.collision.spheres.spherize import LinkCover as LinkCover
    from linkwork.collision.spheres.spherize import Spherization as Spherization
    from linkwork.collision.spheres.spherize import spherize as spherize
    from linkwork.engine.kernel.compile import compile_function as compile  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from linkwork.engine.kernel.kernel import Kernel as Kernel
    from linkwork.engine.kernel.rollout import Rollout as Rollout
    from linkwork.engine.kernel.rollout import rollout as rollout
    from linkwork.engine.symbolic.implicit import implicit as implicit
    from linkwork.engine.symbolic.implicit import stop_gradient as stop_gradient
    from linkwork.engine.symbolic.repeat import repeat as repeat
    from linkwork.errors import ArgumentError as ArgumentError
    from linkwork.errors import Finding as Finding
    from linkwork.errors import FindingsError as FindingsError
    from linkwork.errors import FloatingBaseWarning as FloatingBaseWarning
    from linkwork.errors import FrozenError as FrozenError
    from linkwork.errors import LinkworkError as LinkworkError
    from linkwork.errors import LinkworkWarning as LinkworkWarning
    from linkwork.errors import MissingFileError as MissingFileError
    from linkwork.errors import MissingPackageError as MissingPackageError
    from linkwork.errors import ModelError as ModelError
    from linkwork.errors import NameNotFoundError as NameNotFoundError
    from linkwork.errors import ParseError as ParseError
    from linkwork.errors import ShapeError as ShapeError
    from linkwork.errors import SingularJointError as SingularJointError
    from linkwork.errors import SlowCompileWarning as SlowCompileWarning
    from linkwork.errors import SourceError as SourceError
    from linkwork.errors import StateError as StateError
    from linkwork.errors import ValueRangeError as ValueRangeError
    from linkwork.errors import WriteError as WriteError
    from linkwork.export.write import export as export
    from linkwork.inverse_kinematics.ik import IkResult as IkResult
    from linkwork.inverse_kinematics.ik import ik as ik
    from linkwork.io.load import load as load
    from linkwork.io.mjcf.writer import dump_mjcf as dump_mjcf
    from linkwork.io.sdf.writer import dump_sdf as dump_sdf
    from linkwork.io.srdf import SRDF as SRDF
    from linkwork.io.srdf import load_srdf as load_srdf
    from linkwork.io.urdf.writer import dump_urdf as dump_urdf
    from linkwork.io.usd.writer import dump_usd as dump_usd
    from linkwork.kindyn import ConstrainedKinDyn as ConstrainedKinDyn
    from linkwork.kindyn import KinDyn as KinDyn
    from linkwork.kindyn.constrained.assembly import AssemblyResult as AssemblyResult
    from linkwork.kindyn.constrained.assembly import assemble as assemble
    from linkwork.kindyn.constrained.contacts import Contact as Contact
    from linkwork.model.builder import ModelBuilder as ModelBuilder
    from linkwork.model.check import check as check
    from linkwork.model.configurations import Configuration as Configuration
    from linkwork.model.describe import describe as describe
    from linkwork.model.geometry import Box as Box
    from linkwork.model.geometry import Capsule as Capsule
    from linkwork.model.geometry import Cylinder as Cylinder
    from linkwork.model.geometry import Material as Material
    from linkwork.model.geometry import Mesh as Mesh
    from linkwork.model.geometry import Shape as Shape
    from linkwork.model.geometry import Sphere as Sphere
    from linkwork.model.inertia import Inertia as Inertia
    from linkwork.model.inertia import point_mass as point_mass
    from linkwork.model.inertia import solid_box as solid_box
    from linkwork.model.inertia import solid_cylinder as solid_cylinder
    from linkwork.model.inertia import solid_sphere as solid_sphere
    from linkwork.model.model import Model as Model
    from linkwork.model.parts import Actuator as Actuator
    from linkwork.model.parts import Constraint as Constraint
    from linkwork.model.parts import Frame as Frame
    from linkwork.model.parts import Joint as Joint
    from linkwork.model.parts import Limits as Limits
    from linkwork.model.parts import Link as Link
    from linkwork.model.parts import Mimic as Mimic
    from linkwork.model.pose import Pose as Pose
    from linkwork.simulation.core import SimulationState as SimulationState
    from linkwork.simulation.simulation import Simulation as Simulation
    from linkwork.viewer.viewer import view as view
    from linkwork.workcell.cell.devices import CompositeDevice as CompositeDevice
    from linkwork.workcell.cell.devices import FreeDevice as FreeDevice
    from linkwork.workcell.cell.devices import JointDevice as JointDevice
    from linkwork.workcell.cell.devices import MobileDevice as MobileDevice
    from linkwork.workcell.cell.devices import SerialDevice as SerialDevice
    from linkwork.workcell.cell.devices import TreeDevice as TreeDevice
    from linkwork.workcell.files.load import dump_workcell as dump_workcell
    from linkwork.workcell.files.load import load_workcell as load_workcell
    from linkwork.workcell.state.state import State as State
    from linkwork.workcell.workcell import WorkCell as WorkCell

# The same names by module, imported when first used, so that `import linkwork` takes no time.
_NAMES = {
    "linkwork.errors": (
        *("ArgumentError", "Finding", "FindingsError", "FrozenError", "LinkworkError"),
        *("LinkworkWarning", "MissingFileError", "MissingPackageError", "ModelError"),
        *("NameNotFoundError", "ParseError", "ShapeError", "SingularJointError", "SourceError"),
        *(
            "FloatingBaseWarning",
            "SlowCompileWarning",
            "StateError",
            "ValueRangeError",
            "WriteError",
        ),
    ),
    "linkwork.collision.model": ("CollisionModel",),
    "linkwork.collision.obstacles": ("Obstacles",),
    "linkwork.collision.plan": ("Plan", "plan"),
    "linkwork.collision.spheres.spherize": ("LinkCover", "Spherization", "spherize"),
    "linkwork.export": ("export",),
    "linkwork.io.srdf": ("SRDF", "load_srdf"),
    "linkwork.io.sdf.writer": ("dump_sdf",),
    "linkwork.io.usd.writer": ("dump_usd",),
    "linkwork.io.urdf.writer": ("dump_urdf",),
    "linkwork.io.load": ("load",),
    "linkwork.io.mjcf.writer": ("dump_mjcf",),
    "linkwork.engine.kernel.compile": ("compile",),
    "linkwork.engine.kernel.kernel": ("Kernel",),
    "linkwork.engine.kernel.rollout": ("Rollout", "rollout"),
    "linkwork.engine.symbolic.implicit": ("implicit", "stop_gradient"),
    "linkwork.engine.symbolic.repeat": ("repeat",),
    "linkwork.kindyn": ("ConstrainedKinDyn", "KinDyn"),
    "linkwork.kindyn.constrained.assembly": ("AssemblyResult", "assemble"),
    "linkwork.kindyn.constrained.contacts": ("Contact",),
    "linkwork.inverse_kinematics": ("IkResult", "ik"),
    "linkwork.model.builder": ("ModelBuilder",),
    "linkwork.model.check": ("check",),
    "linkwork.model.configurations": ("Configuration",),
    "linkwork.model.describe": ("describe",),
    "linkwork.model.geometry": (
        *("Box", "Capsule", "Cylinder", "Material", "Mesh", "Shape", "Sphere"),
    ),
    "linkwork.model.inertia": (
        *("Inertia", "point_mass", "solid_box", "solid_cylinder", "solid_sphere"),
    ),
    "linkwork.model.model": ("Model",),
    "linkwork.model.parts": ("Actuator", "Constraint", "Frame", "Joint", "Limits", "Link", "Mimic"),
    "linkwork.model.pose": ("Pose",),
    "linkwork.simulation.core": ("SimulationState",),
    "linkwork.simulation.simulation": ("Simulation",),
    "linkwork.viewer": ("view",),
    "linkwork.workcell.workcell": ("WorkCell",),
    "linkwork.workcell.cell.devices": (
        *("CompositeDevice", "FreeDevice", "JointDevice", "MobileDevice", "SerialDevice"),
        *("TreeDevice",),
    ),
    "linkwork.workcell.files.load": ("dump_workcell", "load_workcell"),
    "linkwork.workcell.state.state": ("State",),
}
_RENAMED = {"compile": "compile_function"}  # names that are others in their module
_LATER = {
    name: (module, _RENAMED.get(name, name)) for module, names in _NAMES.items() for name in names
}
# By package: what takes its arrays, imported when one of them is passed to linkwork.
_BRIDGES |= {"torch": "linkwork.torch", "jax": "linkwork.jax", "casadi": "linkwork.casadi"}
_UNRELATED_FOLDERS[:] = ["cli", "viewer", "robots"]
_MODULES = ("linalg", "parameters", "robots", "spatial")
_INNER_MODULES = ("engine", "errors", "io", "model")

if not _TYPE_CHECKING:  # type checkers know the names above and no others

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _LATER:
            module, own_name = _LATER[name]
            found = globals()[name] = getattr(import_module(module), own_name)
            return found
        if name in _MODULES or name in _INNER_MODULES:
            return import_module(f"linkwork.{name}")  # which sets the attribute
        if name.startswith("_"):
            raise AttributeError(f"module 'linkwork' has no attribute {name!r}")
        from linkwork.kindyn.foreign_names import no_public_name

        raise no_public_name(name, __dir__())


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *_LATER, *_MODULES})
