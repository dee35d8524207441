"""The contact problem: soft rows as in MuJoCo, their weights, and its solver."""
