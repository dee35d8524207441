/* Blocks of memory for workspaces and converted rows, reused by later calls. */
#include "blocks.h"

Block spare_blocks[SPARE_BLOCKS];

int reserve(Block *block, size_t bytes)
{
    if (block->bytes >= bytes) return 1;
    free(block->allocated);
    block->bytes = 0;
    block->allocated = malloc(bytes + CACHE_LINE);
    if (!block->allocated) return 0;
    block->start = (char *)round_up((uintptr_t)block->allocated);
    block->bytes = bytes;
    return 1;
}

Block take_from(Block *spares, size_t bytes)
{
    Block block = {NULL, NULL, 0}, *best = NULL;
    for (int k = 0; k < SPARE_BLOCKS; k++) {
        Block *spare = &spares[k];
        if (spare->bytes >= bytes && spare->start && (!best || spare->bytes < best->bytes))
            best = spare;
    }
    if (best) {
        block = *best;
        *best = (Block){NULL, NULL, 0};
    } else {
        reserve(&block, bytes);
    }
    return block;
}

void give_to(Block *spares, Block block)
{
    Block *smallest = &spares[0];
    for (int k = 1; k < SPARE_BLOCKS; k++)
        if (spares[k].bytes < smallest->bytes) smallest = &spares[k];
    if (block.bytes > smallest->bytes && block.bytes <= MOST_SPARE_BYTES) {
        Block other = *smallest;
        *smallest = block;
        block = other;
    }
    free(block.allocated);
}
