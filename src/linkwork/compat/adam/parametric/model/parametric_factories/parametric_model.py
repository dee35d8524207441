"""A robot some of whose links have another length and density than in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam.model.factory import URDFModelFactory
from linkwork.compat.adam.model.model import unknown_name
from linkwork.errors import ShapeError
from linkwork.parameters.shapes import resized


class URDFParametricModelFactory(URDFModelFactory):
    """The parts of a robot from a URDF, with other lengths and densities of some links.

    Args:
        path: path or text of a URDF.
        math: kept; a model holds numbers.
        links_name_list: (k,) the links. Each becomes the homogeneous solid of its first visual.
        length_multiplier: (k,) factor of the length of each; 1 is the file.
        densities: (k,) of each [kg/m^3].
    """

    def __init__(
        self,
        path: Any,
        math: Any,
        links_name_list: Sequence[str],
        length_multiplier: ArrayLike,
        densities: ArrayLike,
    ) -> None:
        super().__init__(path, math)
        self.links_name_list = list(links_name_list)
        self.length_multiplier, self.densities = length_multiplier, densities
        for name in self.links_name_list:
            if name not in self.found.links:
                raise unknown_name("link", name, self.found.links)
        lengths = self._by_link("length_multiplier", length_multiplier)
        source = resized(
            self.found.source, lengths, self._by_link("densities", densities), as_adam=True
        )
        self.found = replace(self.found, source=source)

    def _by_link(self, what: str, numbers: ArrayLike) -> dict[str, float]:
        found, count = np.asarray(numbers, dtype=float), len(self.links_name_list)
        if found.shape != (count,):
            text = f"{what}: expected ({count},), one number for each link"
            raise ShapeError(f"{text}, got {found.shape}")
        return dict(zip(self.links_name_list, found.tolist(), strict=True))
