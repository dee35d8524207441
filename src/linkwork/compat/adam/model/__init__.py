"""What adam keeps in `adam.model`: the robot by its parts, and what reads it."""

from linkwork.compat.adam.model.factory import ModelFactory as ModelFactory
from linkwork.compat.adam.model.factory import MujocoModelFactory as MujocoModelFactory
from linkwork.compat.adam.model.factory import URDFModelFactory as URDFModelFactory
from linkwork.compat.adam.model.factory import build_model_factory as build_model_factory
from linkwork.compat.adam.model.model import AdamModel as AdamModel
from linkwork.compat.adam.model.model import Model as Model
from linkwork.compat.adam.model.model import unknown_name as unknown_name
from linkwork.compat.adam.tree import Node as Node
from linkwork.compat.adam.tree import Tree as Tree
