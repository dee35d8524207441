"""Run tests on 64-bit ARM, emulated by QEMU: `make test-aarch64`, as root, on Debian or Ubuntu.

    python tools/test_aarch64.py                     the tests listed here
    python tools/test_aarch64.py tests/engine -x     other tests, with arguments of pytest

A tree of Debian 12 for arm64 with its Python 3.11 and GCC is unpacked by debootstrap, but none of
its packages is configured: that would take longer than the tests. pip of this machine installs
PyPI's aarch64 wheels into the tree. The C extensions are compiled there by the tree's own GCC. The
tree is kept in build/aarch64/ and used again; remove it for newer packages.

The kernel of this machine starts programs of the tree with QEMU (binfmt_misc). If it does not know
how to yet, this script registers QEMU with the settings of Debian's package.

Tests that depend on what QEMU does differently from a kernel, such as memory limits, are skipped
where LINKWORK_EMULATED=1, each with its reason. LINKWORK_TEST_SECONDS gives processes more time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "aarch64"
TREE = FOLDER / "tree"
PACKAGES = "/opt/packages"  # the wheels, inside the tree
PROJECT = "/opt/linkwork"  # a copy of this repository, inside the tree

MIRROR = "http://deb.debian.org/debian"
DEBIAN = ("gcc", "libc6-dev", "make", "python3-dev")
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
BINFMT = Path("/proc/sys/fs/binfmt_misc")
SETTINGS = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")  # in Debian's qemu-user-static

TESTS = (
    "tests/engine",
    "tests/algorithms",
    "tests/spatial",
    "tests/export/test_c_code.py",
    "tests/kindyn/test_identities.py",
    "tests/inverse_kinematics/test_ik.py",
    "--ignore=tests/engine/runtime/test_background.py",  # starts many processes
    # computes 100,000 rows of a humanoid, which is too slow here
    "--deselect=tests/engine/kernel/test_ways_to_call.py::test_an_interrupt_stops_a_batch_in_c_soon",
)


def needed(*tools: str) -> None:
    """End the script if a tool is missing."""
    if os.geteuid() != 0:
        sys.exit("root is needed: the tests run in another root folder (chroot)")
    for tool in tools:
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing; on Debian: apt-get install debootstrap qemu-user-static")


def register_qemu() -> None:
    """Let the kernel start aarch64 programs with QEMU, if it does not yet."""
    if not (BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", str(BINFMT)], check=True)
    if not (BINFMT / "qemu-aarch64").exists():
        (BINFMT / "register").write_bytes(SETTINGS.read_bytes())


def unpack_debian() -> None:
    """Unpack Debian for arm64 with Python and GCC; its packages are not configured."""
    command = ["debootstrap", "--arch=arm64", "--foreign", "--variant=minbase"]
    include = f"--include={','.join(DEBIAN)}"
    subprocess.run([*command, include, "bookworm", str(TREE), MIRROR], check=True)
    for archive in sorted((TREE / "var/cache/apt/archives").glob("*.deb")):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as p:
            options = ["--keep-directory-symlink", "--skip-old-files", "--directory", str(TREE)]
            subprocess.run(["tar", "--extract", *options], stdin=p.stdout, check=True)
    for name in ("proc", "dev"):  # in some containers, debootstrap creates links to themselves
        if (TREE / name).is_symlink():
            (TREE / name).unlink()
            (TREE / name).mkdir()
    (TREE / "usr/bin/cc").symlink_to("gcc")
    shutil.copy(TREE / "usr/share/base-passwd/passwd.master", TREE / "etc/passwd")
    shutil.copy(TREE / "usr/share/base-passwd/group.master", TREE / "etc/group")


def install_wheels() -> None:
    """Install the dependencies, and what the tests need, from PyPI's aarch64 wheels."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = [*project["project"]["dependencies"], *project["dependency-groups"]["alone"]]
    command = [sys.executable, "-m", "pip", "install", "--upgrade", "--only-binary=:all:"]
    platforms = [f"--platform={name}_aarch64" for name in PLATFORMS]
    target = ["--python-version=3.11", "--target", f"{TREE}{PACKAGES}"]
    subprocess.run([*command, *platforms, *target, "setuptools>=77", *packages], check=True)


def copy_project() -> None:
    """Copy the files of the repository; compiled C extensions of an earlier copy are kept."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.check_output(listed, cwd=ROOT, text=True)
    names = {name for name in output.split("\0") if name and (ROOT / name).is_file()}
    copy = Path(f"{TREE}{PROJECT}")
    for path in list(copy.rglob("*.py")):
        if str(path.relative_to(copy)) not in names:
            path.unlink()
    for name in sorted(names):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)


def inside(*command: str) -> int:
    """Run a command in the tree, where /proc and /dev are mounted while it runs."""
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PYTHONPATH": f"{PROJECT}/src:{PACKAGES}",
        "LINKWORK_EMULATED": "1",
        "LINKWORK_TEST_SECONDS": "1800",
    }
    mounts = f'mount -t proc proc "{TREE}/proc" && mount --rbind /dev "{TREE}/dev"'
    start = f'{mounts} && exec chroot "{TREE}" sh -c \'cd {PROJECT} && exec "$@"\' "$@"'
    shell = ["unshare", "--mount", "sh", "-c", start, "sh", "sh", *command]
    return subprocess.run(shell, env=environment, check=False).returncode


def main(arguments: list[str]) -> int:
    """Prepare the tree, build linkwork in it, and run the tests."""
    needed("debootstrap", "qemu-aarch64-static", "unshare")
    register_qemu()
    if not (FOLDER / "complete").exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        unpack_debian()
        install_wheels()
        (FOLDER / "complete").touch()
    copy_project()
    if inside("python3", "setup.py", "-q", "build_ext", "--inplace"):
        return 1
    selection = arguments or TESTS
    return inside("python3", "-m", "pytest", "-m", "not peers", "-q", *selection)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
