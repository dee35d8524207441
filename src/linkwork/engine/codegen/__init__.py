"""Programs as text: LLVM IR and C, printed from a schedule that both share.

`schedule` decides what is computed where; `llvm` and `c` print it, and ask nothing about the
machine. What divides rows:

    lane     a row in a SIMD register; code computes W rows at a time, one in each lane
    block    W rows; in loads and stores, W numbers of each of W rows, transposed in registers
    tile     blocks that pass through a piece before the next piece runs
    chunk    rows that a thread takes at a time, between two looks at signals (`engine/kernel`)

What divides programs and memory:

    piece    consecutive steps that become a function
    slot     a place in the workspace for a value that is passed from piece to piece
    frame    the part of the workspace that holds the carry and the invariants of a loop; a stack
             frame is what a function has on the stack
    stage    a buffer for a block of large outputs, stored while the next block is computed
    burst    blocks of numbers that are stored from a stage between two steps
"""
