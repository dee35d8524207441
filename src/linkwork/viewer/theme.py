"""How the page looks: light or dark, and the ground."""

from __future__ import annotations

from typing import Any

from linkwork.viewer.colors import Rgb
from linkwork.viewer.extent import Extent

BRAND: Rgb = (70, 110, 200)  # of buttons and sliders
FADES_AT = 10.0  # distance at which the lines on the ground are gone, in reaches of the scene
# Lines of the ground: every cell, and every tenth.
LIGHT_LINES: tuple[Rgb, Rgb] = ((215, 218, 224), (160, 165, 175))
DARK_LINES: tuple[Rgb, Rgb] = ((60, 64, 72), (95, 100, 110))


def apply_theme(server: Any, *, dark: bool, extent: Extent) -> Any:
    """Make the page light or dark; gives the node of the ground, below what is drawn."""
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
        cell_size=extent.cell,
        section_size=10 * extent.cell,
        cell_color=cells,
        section_color=sections,
        fade_distance=FADES_AT * extent.reach,
        position=(0.0, 0.0, extent.ground),
    )
