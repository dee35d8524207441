"""What adam keeps in `adam.core`, as far as it is here."""

from linkwork.compat.adam.core.constants import Representations as Representations
