"""Interfaces with the names and conventions of other libraries. Import the one you need."""
