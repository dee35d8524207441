"""Partial derivatives in closed form, with respect to q, nu, accelerations and forces."""
