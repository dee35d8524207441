"""Robots whose links have their lengths and densities as inputs, as in `adam.parametric`."""
