"""The robot as data: links, joints, frames, and what follows from them alone."""
