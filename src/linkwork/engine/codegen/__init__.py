"""Code generation: programs are printed as LLVM IR or C, from a schedule that both share.

`schedule` divides a program into functions and assigns memory; `llvm` and `c` print it. None of
them inspects the machine. Terms for rows:

    lane     a row in a SIMD register; code computes W rows at a time, one in each lane
    block    W rows; in loads and stores, W elements of each of W rows, transposed in registers
    tile     the blocks for which a piece runs before the next piece runs
    chunk    the rows that a thread computes between two checks for signals (`engine/kernel`)

Terms for programs and memory:

    piece    consecutive steps that become a function
    slot     an element of the workspace, for a value that is passed from piece to piece
    frame    the part of the workspace with the carry and the invariants of a loop; a stack frame
             is the memory of a function on the stack
    stage    a buffer for a block of large outputs, stored while the next block is computed
    burst    blocks that are stored from a stage between two steps
"""
