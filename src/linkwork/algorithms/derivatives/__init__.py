"""Partial derivatives in closed form, with respect to q, nu, accelerations and forces.

Automatic differentiation of the same quantities takes more operations for a floating base. In the
mixed representation, for ur5 and anymal: 1.5 to 2.0 times for velocities and accelerations of
frames, 1.6 to 1.9 times for centroidal momentum and its rate, 1.1 to 1.2 times for the velocity of
the center of mass.
"""
