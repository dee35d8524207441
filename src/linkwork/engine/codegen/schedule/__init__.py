"""Cutting programs into functions, slots for values between them, estimates of stack frames."""
