"""The version, in a module that can be read without importing the package."""

__version__ = "0.1.0rc1"
