"""Robot files: read with line numbers, written without loss."""
