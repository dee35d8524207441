"""The version, alone in a module so that building the package need not import it whole."""

__version__ = "0.1.0"
