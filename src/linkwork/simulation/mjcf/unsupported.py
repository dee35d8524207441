"""What a MuJoCo model has and a simulation has not: other physics, which are errors with a line.

What only reports something, or is missing without changing the physics of the rest, is left out by
the reader with a text instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from linkwork.errors import Finding, ParseError, SourceLocation
from linkwork.io.mjcf.elements import active_equalities, equality_kind
from linkwork.io.mjcf.package import (
    MjModel,
    import_mujoco,
    is_disabled,
    kind_of,
    name_in_enum,
    name_in_file,
)
from linkwork.io.xml.documents import Source, parse_xml, read_source

INTEGRATORS = {"EULER": "Euler", "IMPLICITFAST": "implicitfast"}
EQUALITIES = ("connect", "weld", "joint")
DYNAMICS = ("none", "integrator", "filter", "filterexact")
# Flags that change only how MuJoCo computes, or what it reports.
HARMLESS = ("energy", "fwdinv", "invdiscrete", "speculative")

# By kind of a part: the tags of its elements, or the sections whose children they are.
_TAGS = {
    "joint": ("joint", "freejoint"),
    "tendon": ("spatial", "fixed"),
    "geom": ("geom",),
    "body": ("body",),
    "pair": ("pair",),
    "option": ("option",),
    "flex": ("flex", "flexcomp"),
    "plugin": ("plugin",),
}
_SECTIONS = ("actuator", "equality", "sensor")


@dataclass(frozen=True, slots=True)
class Locations:
    """The lines of elements of a file, and of the files that it includes."""

    source: Source | None  # None: a compiled model, which has no lines
    _places: dict[str, list[tuple[SourceLocation, str]]] = field(default_factory=dict)

    def of(self, kind: str, name: str = "", index: int = 0) -> SourceLocation | None:
        """Return where an element is: by its name, or else by its index among those of its kind."""
        if self.source is None:
            return None
        if kind not in self._places:
            self._places[kind] = list(_places(self.source, kind))
        places = self._places[kind]
        named = [place for place, its_name in places if name and its_name == name]
        unnamed = [place for place, _ in places[index : index + 1] if not name]
        return next(iter((*named, *unnamed)), SourceLocation(self.source.name, 1))


def _places(source: Source, kind: str, depth: int = 0) -> Iterator[tuple[SourceLocation, str]]:
    """Yield the elements of a kind with their names, in order; files are included as they appear.

    MuJoCo has read all of these files, so errors here are only about what cannot be located.
    """
    try:
        document = parse_xml(source)
    except ParseError:
        return
    for element in document.root.iter():
        parent = element.getparent()
        tag = str(element.tag)
        if tag == "include" and source.path is not None and depth < 10:
            included = source.path.parent / str(element.get("file", ""))
            if included.is_file():
                yield from _places(read_source(included), kind, depth + 1)
        in_section = kind in _SECTIONS and parent is not None and parent.tag == kind
        if not (in_section or tag in _TAGS.get(kind, ())):
            continue
        if any(outer.tag == "default" for outer in element.iterancestors()):
            continue
        yield SourceLocation(source.name, document.lines[element]), str(element.get("name", ""))


@dataclass(slots=True)
class Refusals:
    """Collects the parts of a model whose physics is not supported."""

    mj: MjModel
    locations: Locations

    def findings(self) -> list[Finding]:
        """Return an error for each part."""
        return [
            *self._options(),
            *self._others(),
            *self._tendons(),
            *self._joints(),
            *self._equalities(),
            *self._actuators(),
        ]

    def _error(self, kind: str, index: int, text: str) -> Finding:
        name = name_in_file(self.mj, kind, index) if kind != "option" else ""
        element = f"{kind} {name!r}" if name else f"{kind} number {index}"
        location = self.locations.of(kind, name, index)
        element = "option" if kind == "option" else element
        return Finding("error", element, f"simulations do not support {text}", location)

    def _options(self) -> Iterator[Finding]:
        mj = self.mj
        integrator = name_in_enum("mjtIntegrator", mj.opt.integrator).removeprefix("mjINT_")
        if integrator not in INTEGRATORS:
            choices = " or ".join(INTEGRATORS.values())
            yield self._error("option", 0, f"the integrator {integrator}; choose {choices}")
        if mj.opt.noslip_iterations:
            yield self._error("option", 0, "noslip_iterations")
        if mj.opt.density or mj.opt.viscosity:
            yield self._error("option", 0, "forces of the surrounding fluid (density, viscosity)")
        for name, bit in import_mujoco().mjtEnableBit.__members__.items():
            flag = name.removeprefix("mjENBL_").lower()
            is_set = name.startswith("mjENBL_") and mj.opt.enableflags & int(bit)
            if is_set and flag not in HARMLESS:
                yield self._error("option", 0, f"the flag {flag}")

    def _others(self) -> Iterator[Finding]:
        mj = self.mj
        for index in range(getattr(mj, "nflex", 0)):
            yield self._error("flex", index, "deformable parts")
        for index in range(getattr(mj, "nplugin", 0)):
            yield self._error("plugin", index, "plugins")
        touches = (mj.geom_contype != 0) | (mj.geom_conaffinity != 0)
        for what, text in (("adhesion", "adhesion"), ("surfacevel", "velocities of surfaces")):
            for geom in np.flatnonzero(touches & _nonzero(mj, f"geom_{what}", mj.ngeom)):
                yield self._error("geom", int(geom), text)
        for pair in np.flatnonzero(_nonzero(mj, "pair_adhesion", mj.npair)):
            yield self._error("pair", int(pair), "adhesion")
        for geom in np.flatnonzero(touches & (mj.geom_friction < 0.0).any(axis=1)):
            yield self._error("geom", int(geom), "negative friction")
        for pair in np.flatnonzero((mj.pair_friction < 0.0).any(axis=1)):
            yield self._error("pair", int(pair), "negative friction")

    def _tendons(self) -> Iterator[Finding]:
        mj = self.mj
        fields = ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "limited")
        forces = {f: _nonzero(mj, f"tendon_{f}", mj.ntendon) for f in (*fields, "armature")}
        for index in range(mj.ntendon):
            has = [what for what, is_set in forces.items() if is_set[index]]
            if has:
                yield self._error("tendon", index, f"forces of tendons ({', '.join(has)})")

    def _joints(self) -> Iterator[Finding]:
        mj = self.mj
        for what in ("stiffnesspoly", "springyield"):
            for joint in np.flatnonzero(_nonzero(mj, f"jnt_{what}", mj.njnt)):
                yield self._error("joint", int(joint), what)
        free = [joint for joint in range(mj.njnt) if kind_of(mj, joint) == "floating"]
        for joint in free:
            if mj.jnt_stiffness[joint]:
                yield self._error("joint", joint, "springs of free joints")
            if mj.dof_frictionloss[mj.jnt_dofadr[joint]]:
                yield self._error("joint", joint, "frictionloss of free joints")
        for dof in np.flatnonzero(_nonzero(mj, "dof_dampingpoly", mj.nv)):
            yield self._error("joint", int(mj.dof_jntid[dof]), "nonlinear damping (dampingpoly)")
        for what in ("damping", "armature", "frictionloss"):
            values = getattr(mj, f"dof_{what}")
            for joint in range(mj.njnt):
                of_joint = values[mj.dof_jntid == joint]
                if (of_joint != of_joint[:1]).any():
                    yield self._error("joint", joint, f"{what} that differs between its axes")

    def _equalities(self) -> Iterator[Finding]:
        if is_disabled(self.mj, "equality"):
            return
        for index in active_equalities(self.mj):
            kind = equality_kind(self.mj, index)
            if kind not in EQUALITIES:
                yield self._error("equality", index, f"equalities of the kind {kind}")

    def _actuators(self) -> Iterator[Finding]:
        mj = self.mj
        count = len(mj.actuator_trntype)
        if is_disabled(mj, "actuation"):
            return
        for index in range(count):
            problem = self._problem_of_actuator(index)
            if problem:
                yield self._error("actuator", index, problem)

    def _problem_of_actuator(self, index: int) -> str:
        mj = self.mj
        joint = int(mj.actuator_trnid[index, 0])
        transmission, dynamics, gain, bias = (
            name_in_enum(f"mjt{enum}", getattr(mj, f"actuator_{field}type")[index])
            .rpartition("_")[2]
            .lower()
            for enum, field in (("Trn", "trn"), ("Dyn", "dyn"), ("Gain", "gain"), ("Bias", "bias"))
        )
        if transmission not in ("joint", "jointinparent"):
            return f"actuators of a {transmission}"
        if kind_of(mj, joint) not in ("revolute", "prismatic"):
            return f"actuators of {kind_of(mj, joint)} joints"
        if dynamics not in DYNAMICS:
            return f"actuators with {dynamics} dynamics"
        if gain not in ("fixed", "affine") or bias not in ("none", "affine"):
            return f"actuators with {gain} gain and {bias} bias"
        for what in ("delay", "armature", "damping", "dampingpoly"):
            if _nonzero(mj, f"actuator_{what}", len(mj.actuator_trntype))[index]:
                return f"{what} of actuators"
        return ""


def _nonzero(mj: MjModel, field: str, count: int) -> np.ndarray:
    """Return (count,) whether any number of each part in this field, if there is one, is not 0."""
    values = np.asarray(getattr(mj, field, np.zeros(count)))
    return (values.reshape(count, -1) != 0).any(axis=1) if count else np.zeros(0, dtype=bool)
