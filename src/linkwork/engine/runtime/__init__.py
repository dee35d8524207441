"""From text to code in memory: compiling, loading, the disk cache, the background compiler."""
