"""What the pictures of the pages are made from. `docs/images/sources.json` has a digest for each.

A picture is stale if its digest differs: `make pictures` makes all of them again. Pictures of
measurements are not among them; `make bench` draws these.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / "docs" / "images" / "sources.json"
ROBOTS = "src/linkwork/robots"
PAGE = (
    "tools/make_viewer_pictures.py",
    *("src/linkwork/viewer/panel.py", "src/linkwork/viewer/charts.py"),
)
DRAWN = ("tools/draw_pictures.py", "tools/pictures_theme.py", "tools/pictures_solids.py")
THEORY = ("tools/pictures_theory.py", "tools/pictures_theme.py", "tools/pictures_solids.py")
SOURCES = {
    "viewer": (*PAGE, f"{ROBOTS}/arm.urdf"),
    "viewer_dark": (*PAGE, f"{ROBOTS}/humanoid.urdf"),
    "viewer_simulation": (*PAGE, "src/linkwork/viewer/overlays.py", f"{ROBOTS}/quadruped.urdf"),
    "walk": (
        *("tools/pictures_walk.py", "tools/pictures_solids.py", "tools/pictures_theme.py"),
        *(f"{ROBOTS}/quadruped.urdf", "src/linkwork/envs/quadruped.py"),
        "examples/quadruped_policy.npz",
    ),
    "walk_learning": (
        *("tools/pictures_walk.py", "tools/pictures_theme.py"),
        *("tools/learning/quadruped.csv", "tools/learning/go2.csv"),
    ),
    "viewer_workcell": (
        *(*PAGE, "src/linkwork/viewer/cell.py"),
        *(f"{ROBOTS}/cells/pick_and_place.xml", f"{ROBOTS}/cells/parts/gripper_arm.urdf"),
    ),
    "robots": (*DRAWN, *(f"{ROBOTS}/{name}.urdf" for name in ("arm", "humanoid", "quadruped"))),
    "graph": (*DRAWN, f"{ROBOTS}/quadruped.urdf"),
    "representations": DRAWN,
    "vectors": DRAWN,
    "energy": (*DRAWN, f"{ROBOTS}/double_pendulum.urdf"),
    "workspace": (*DRAWN, f"{ROBOTS}/arm.urdf"),
    "pipeline": (*DRAWN, f"{ROBOTS}/pendulum.urdf"),
    **dict.fromkeys(("frames", "loop", "contact", "closest"), THEORY),
    "spheres": (*THEORY, f"{ROBOTS}/arm.urdf"),
}


def digest(name: str) -> str:
    """The digest of everything that a picture is made from, as it is now."""
    total = sha256()
    for path in SOURCES[name]:
        total.update((ROOT / path).read_bytes())
    return total.hexdigest()[:16]


def recorded() -> dict[str, str]:
    """The digests of the pictures that there are."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def record(name: str) -> None:
    """Store the digest of a picture that was just made."""
    digests = recorded() | {name: digest(name)}
    STORE.write_text(json.dumps(dict(sorted(digests.items())), indent=2) + "\n")
