"""Programs printed as C."""
