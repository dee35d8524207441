"""How the page looks: light or dark, and the ground."""

from __future__ import annotations

from typing import Any

from linkwork.viewer.colors import Rgb

BRAND: Rgb = (70, 110, 200)  # of buttons and sliders
FADES_AT = 12.0  # distance at which the lines on the ground are gone [m]
# Lines of the ground, every 0.1 m and every metre.
LIGHT_LINES: tuple[Rgb, Rgb] = ((215, 218, 224), (160, 165, 175))
DARK_LINES: tuple[Rgb, Rgb] = ((60, 64, 72), (95, 100, 110))


def apply_theme(server: Any, *, dark: bool, ground: float) -> Any:
    """Make the page light or dark; gives the node of the ground, at this height [m]."""
    server.gui.configure_theme(
        dark_mode=dark,
        control_width="large",
        show_logo=False,
        show_share_button=False,
        brand_color=BRAND,
    )
    cells, sections = DARK_LINES if dark else LIGHT_LINES
    return server.scene.add_grid(
        "/ground",
        infinite_grid=True,
        cell_size=0.1,
        section_size=1.0,
        cell_color=cells,
        section_color=sections,
        fade_distance=FADES_AT,
        position=(0.0, 0.0, ground),
    )
