"""What adam keeps in `adam.model.conversions`, as far as it is here."""

from linkwork.compat.adam.model.conversions.idyntree import to_idyntree_model as to_idyntree_model
