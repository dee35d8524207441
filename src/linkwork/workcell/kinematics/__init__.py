"""Kinematics of a workcell: poses, Jacobians, attachments, inverse kinematics, collisions."""
