"""A robot prepared for computing: block algebra, joint motion, bodies with constant facts."""
