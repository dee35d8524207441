"""Machine code: made from LLVM IR, loaded into memory, kept on disk, made in the background."""
