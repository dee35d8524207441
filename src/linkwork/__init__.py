"""Kinematics and dynamics of robots.

kd = linkwork.KinDyn(linkwork.load("robot.urdf"))
M = kd.mass_matrix(kd.neutral())
"""

from linkwork.engine import BRIDGES as _BRIDGES
from linkwork.engine import UNRELATED_FOLDERS as _UNRELATED_FOLDERS
from linkwork.version import __version__ as __version__

# The stub lists the public names, for type checkers too: each with the module that is imported when
# the name is first used, so that `import linkwork` takes no time.
with open(f"{__file__}i", encoding="utf-8") as _stub:  # noqa: PTH123 - importing pathlib takes longer
    _imports = [line.split() for line in _stub if line.startswith("from linkwork.")]
_LATER = {words[-1]: (words[1], words[3]) for words in _imports if "as" in words}
_LATER["compile"] = ("linkwork.engine.kernel.compile", "compile_function")
# By package: what takes its arrays, imported when one of them is passed to linkwork.
_BRIDGES |= {"torch": "linkwork.torch", "jax": "linkwork.jax", "casadi": "linkwork.casadi"}
_UNRELATED_FOLDERS[:] = ["cli", "viewer", "robots"]
_MODULES = ("linalg", "parameters", "robots", "spatial")
_INNER_MODULES = ("engine", "errors", "io", "model")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LATER:
        module, own_name = _LATER[name]
        value = globals()[name] = getattr(import_module(module), own_name)
        return value
    if name in _MODULES or name in _INNER_MODULES:
        return import_module(f"linkwork.{name}")  # which sets the attribute
    if name.startswith("_"):
        raise AttributeError(f"module 'linkwork' has no attribute {name!r}")
    from linkwork.kindyn.foreign_names import no_public_name

    raise no_public_name(name, __dir__())


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *_LATER, *_MODULES})
