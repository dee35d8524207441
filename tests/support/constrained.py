"""A robot with redundant contacts, and arguments of every function of `ConstrainedKinDyn`."""

from __future__ import annotations

import numpy as np
from tests.support.linkages import leg

import linkwork as lw

STANCE = {
    "contacts": {"heel": "point", "toe": "point"},
    "actuated": ["hip", "knee"],
    "stabilization": 2.0,
}


def stance_of(kindyn, **options):
    """The leg on its foot, with the `KinDyn` of a bridge."""
    return kindyn(leg(), **options).constrained(**STANCE)


def arguments(stance, names, batch=()):
    """Random values for inputs by name, as NumPy arrays; contacts allow the motion."""
    numpy = stance if isinstance(stance, lw.ConstrainedKinDyn) else stance.numpy
    rng = np.random.default_rng(3)
    values = {"q": numpy.kindyn.random(batch, seed=1)}
    for name in ("nu", "tau"):
        values[name] = rng.normal(size=(*batch, numpy.nv))
    values["nu"] = numpy.project_velocity(values["q"], values["nu"])
    torques = values["tau"] * (np.arange(numpy.nv) >= 6)  # the base has no actuators
    values["nu_dot"] = numpy.forward_dynamics(values["q"], values["nu"], torques).nu_dot
    values["free"] = np.ones((*batch, numpy.nv))
    values["forces"] = rng.normal(size=(*batch, numpy.m))
    for name in ("dt", "restitution", "damping"):
        values[name] = rng.uniform(0.1, 0.5, size=batch)
    return [values[name] for name in names]


def by_differences(function, stance, q, h=1e-5):
    """Derivatives of a function of q in the tangent space, by central differences."""
    integrate = stance.kindyn.integrate
    columns = [
        (function(integrate(q, h * e)) - function(integrate(q, -h * e))) / (2 * h)
        for e in np.eye(stance.nv)
    ]
    return np.stack(columns, axis=-1)
