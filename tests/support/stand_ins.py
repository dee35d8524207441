"""Code that disables the C extension or machine code in the process that runs it."""

from __future__ import annotations

WITHOUT_EXTENSION = """
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "linkwork.engine.kernel._call":
            raise ImportError("no compiler")
for name in [name for name in sys.modules if name.startswith(("linkwork", "tests"))]:
    del sys.modules[name]
sys.meta_path.insert(0, Blocked())
import linkwork as lw
from tests.support.kernels import *
import warnings
warnings.filterwarnings("ignore", "machine code is not available", lw.LinkworkWarning)
"""

WITHOUT_MACHINE_CODE = """
from linkwork.engine.runtime.compiled_program import CompiledProgram
from linkwork.engine.runtime.processor import NoMachineCodeError
def refuse(*args): raise NoMachineCodeError("none today")
CompiledProgram.compile = refuse
import warnings
warnings.filterwarnings("ignore", "machine code is not available", lw.LinkworkWarning)
"""
