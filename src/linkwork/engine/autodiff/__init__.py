"""Automatic differentiation of programs: jvp, vjp, Jacobians, Hessians."""
