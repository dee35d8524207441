"""Data of a workcell: frames, devices, the layout of its states, checks and editing."""
