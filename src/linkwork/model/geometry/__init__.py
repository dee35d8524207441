"""Shapes of links, and what is known about them without a file."""

from linkwork.model.geometry.shapes import Box as Box
from linkwork.model.geometry.shapes import Capsule as Capsule
from linkwork.model.geometry.shapes import Cylinder as Cylinder
from linkwork.model.geometry.shapes import Geometry as Geometry
from linkwork.model.geometry.shapes import Material as Material
from linkwork.model.geometry.shapes import Mesh as Mesh
from linkwork.model.geometry.shapes import Primitive as Primitive
from linkwork.model.geometry.shapes import Shape as Shape
from linkwork.model.geometry.shapes import Sphere as Sphere
from linkwork.model.geometry.shapes import row_of as row_of
