"""Robots with iDynTree's names: links, joints, shapes, models, reading and writing."""
