"""C code generation: `linkwork.export(kd, folder)` writes functions of a robot as a C99 library.

The package is callable because the function has the same name.
"""

from __future__ import annotations

import sys
from types import ModuleType

from linkwork.export.check import Report as Report
from linkwork.export.write import export as export


class _Callable(ModuleType):
    __call__ = staticmethod(export)


sys.modules[__name__].__class__ = _Callable
