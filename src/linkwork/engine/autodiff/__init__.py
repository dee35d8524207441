"""Forward and reverse mode on programs: jvp, vjp, Jacobians, Hessians."""
