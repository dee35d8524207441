"""Programs as LLVM IR, one row of a batch per SIMD lane."""
