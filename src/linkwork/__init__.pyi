"""The public names of linkwork: type checkers and editors read them here, and `__init__.py` too.

Each line that imports a name `as` itself makes it public. Its module is imported when the name is
first used, so that `import linkwork` takes no time.
"""

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
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel as Kernel
from linkwork.engine.kernel.rollout import Rollout as Rollout
from linkwork.engine.kernel.rollout import rollout as rollout
from linkwork.engine.symbolic.implicit import implicit as implicit
from linkwork.engine.symbolic.implicit import stop_gradient as stop_gradient
from linkwork.engine.symbolic.repeat import repeat as repeat
from linkwork.envs.vector_env import VectorEnv as VectorEnv
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

__version__: str
compile = compile_function
