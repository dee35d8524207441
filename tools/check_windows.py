"""Check the C files with MinGW's headers of Windows: `python tools/check_windows.py`, on Linux.

Nothing is linked and nothing is run: this finds calls that Windows does not have, and nothing else.
NumPy's headers are those of its wheel for Windows. Python's headers are those of this Python, which
are the same everywhere except for pyconfig.h: the values of that file for Windows are written here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNEL = ROOT / "src/linkwork/engine/kernel/csrc"
COMPILER = "x86_64-w64-mingw32-gcc"
FLAGS = ("-fsyntax-only", "-O1", "-Wall", "-Wextra", "-Werror")
SIZES = {
    **{"SHORT": 2, "INT": 4, "LONG": 4, "LONG_LONG": 8, "VOID_P": 8, "SIZE_T": 8, "TIME_T": 8},
    **{"WCHAR_T": 2, "FLOAT": 4, "DOUBLE": 8},
}
DEFINED = (
    *("MS_WINDOWS", "MS_WIN64", "NT_THREADS", "WITH_THREAD", "Py_ENABLE_SHARED"),
    *("HAVE_DECLSPEC_DLL", "HAVE_STDINT_H", "HAVE_STDDEF_H", "HAVE_WCHAR_H"),
)


def python_headers(folder: Path) -> Path:
    """Copy the headers of this Python, with a pyconfig.h for Windows."""
    headers = folder / "python"
    shutil.copytree(sysconfig.get_path("include"), headers)
    lines = [f"#define {name} 1" for name in DEFINED]
    lines += [f"#define SIZEOF_{name} {size}" for name, size in SIZES.items()]
    lines += ["#define ALIGNOF_MAX_ALIGN_T 8"]
    (headers / "pyconfig.h").write_text("\n".join(lines) + "\n", encoding="ascii")
    return headers


def numpy_headers(folder: Path) -> Path:
    """Download NumPy's wheel for Windows, and unpack its headers."""
    version = f"--python-version={sys.version_info.major}.{sys.version_info.minor}"
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--platform=win_amd64", version]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
    subprocess.run([*command, "numpy>=2"], check=True)
    (wheel,) = folder.glob("numpy-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("numpy/_core/include/")]
        archive.extractall(folder, names)
    return folder / "numpy/_core/include"


def main() -> int:
    """Compile all C files of the extensions; print and count those that fail."""
    if shutil.which(COMPILER) is None:
        sys.exit(f"{COMPILER} is missing; on Debian: apt-get install gcc-mingw-w64-x86-64")
    files, failures = sorted((ROOT / "src").rglob("*.c")), 0
    with tempfile.TemporaryDirectory() as name:
        headers = [python_headers(Path(name)), numpy_headers(Path(name)), KERNEL]
        for file in files:
            folders = [f"-I{folder}" for folder in (file.parent, *headers)]
            command = [COMPILER, *FLAGS, *folders, str(file)]
            failures += subprocess.run(command, check=False).returncode != 0
    print(f"{len(files)} C files, {failures} with errors or warnings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
