"""Division of programs into functions, assignment of slots, estimates of stack frames."""
