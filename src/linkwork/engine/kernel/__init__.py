"""What the user calls: signatures, arguments, batches, threads, derivatives, rollouts."""
