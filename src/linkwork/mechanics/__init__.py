"""A robot prepared for computing: bodies with constants only, joints that move them, the base."""
