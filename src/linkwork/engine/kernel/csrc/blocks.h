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

extern Block spare_blocks[SPARE_BLOCKS];  /* blocks of finished calls, guarded by the GIL */

/* Enlarge a block to at least `bytes`, without its content; 0 if there is no memory. */
int reserve(Block *block, size_t bytes);

/* Return a block of at least `bytes`; its start is NULL if there is no memory. Of the spare blocks, the
   smallest that is large enough is used: a small request must not take the workspace of the same call. */
Block take_from(Block *spares, size_t bytes);

/* Keep a block as a spare one, or free it. */
void give_to(Block *spares, Block block);

/* The same for the spare blocks that the GIL guards. */
static inline Block take_block(size_t bytes) { return take_from(spare_blocks, bytes); }
static inline void give_block(Block block) { give_to(spare_blocks, block); }

#endif
