/* Blocks of memory for workspaces and converted rows; a few are kept for later calls. */
#ifndef LINKWORK_BLOCKS_H
#define LINKWORK_BLOCKS_H

#include "common.h"

#define SPARE_BLOCKS 4
#define MOST_SPARE_BYTES ((size_t)4 << 20)

typedef struct {
    void *allocated;
    char *start;           /* aligned to a cache line */
    size_t bytes;
} Block;

extern Block spare_blocks[SPARE_BLOCKS];  /* of calls that have ended; the GIL guards them */

/* Make a block have at least so many bytes; 0 if there is no memory. */
int reserve(Block *block, size_t bytes);

/* A block of at least so many bytes; its start is NULL if there is no memory. */
Block take_from(Block *spares, size_t bytes);

/* Keep a block among the spare ones, or free it. */
void give_to(Block *spares, Block block);

/* The same with the spare blocks that the GIL guards. */
static inline Block take_block(size_t bytes) { return take_from(spare_blocks, bytes); }
static inline void give_block(Block block) { give_to(spare_blocks, block); }

#endif
