"""Machine code: compilation, loading, the disk cache, the background compiler."""
