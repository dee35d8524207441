"""Functions that users call: signatures, arguments, batches, threads, derivatives, rollouts."""
