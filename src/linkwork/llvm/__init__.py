"""A program as LLVM IR: vector lanes over rows of a batch, staged outputs, sine and cosine."""
