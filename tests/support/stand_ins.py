"""Code that takes the C extension or machine code away from the process that runs it."""

from __future__ import annotations

from linkwork.engine.kernel import call_slow

WITHOUT_EXTENSION = f"""
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
warnings.filterwarnings("ignore", {call_slow._WARNING[:40]!r}, lw.LinkworkWarning)
"""

WITHOUT_MACHINE_CODE = """
from linkwork.engine.kernel import kernel as module
from linkwork.engine.runtime.processor import NoMachineCodeError
def refuse(*args): raise NoMachineCodeError("none today")
module.Kernel._make_code = refuse
import warnings
warnings.filterwarnings("ignore", "no machine code here", lw.LinkworkWarning)
"""
