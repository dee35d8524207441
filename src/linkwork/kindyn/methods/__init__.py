"""The methods of `KinDyn`: declarations of its quantities, by topic."""
