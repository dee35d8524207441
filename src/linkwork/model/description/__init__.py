"""Descriptions for people: a summary, tables, and the differences between two robots."""
