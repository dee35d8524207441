"""Models with other lengths and densities, as in `adam.parametric.model`."""

from linkwork.compat.adam.parametric.model.parametric_factories.parametric_model import (
    URDFParametricModelFactory as URDFParametricModelFactory,
)
