/* Conversion, normalization, checks and computation of one chunk of the rows of a call. */
#ifndef LINKWORK_CHUNKS_H
#define LINKWORK_CHUNKS_H

#include "inputs.h"

#define FIRST_CHUNK 32     /* rows of the first chunk, before the time per row is known */
#define MOST_ROWS 16384    /* maximum number of rows of a chunk */
#define BUFFER_BYTES ((size_t)256 << 10)  /* maximum size of converted rows, which stay in the cache */

typedef struct Job {       /* the state of a call that its threads share */
    const Call *call;
    Code *code;
    Source *sources;
    void **outs;
    npy_intp rows;
    int is_large;          /* whether results use non-temporal stores */
    int only_checks;       /* whether inputs are checked, and nothing is computed */
    int is_checked;        /* whether inputs were checked, and none has to be normalized */
    npy_intp chunk;        /* maximum number of rows of a chunk; a multiple of the width */
    npy_intp fitting;      /* maximum number of rows that fit into the buffers */
    size_t pointers_offset, buffers_offset, bytes;  /* block of a thread: workspace, pointers, buffers */
    int (*chunk_function)(struct Job *, npy_intp start, npy_intp rows, char *block, PyThreadState **state);
                           /* computes a chunk in place of `compute_chunk`; NULL for ordinary calls */
    long long handled;     /* time of the last check for signals [ns] */
    int threads;
    npy_intp next;         /* the first row that no thread has taken yet */
    int status;
    int has_drifted;       /* whether an input has to be normalized */
    int has_bad_outputs;   /* whether a result is not finite */
} Job;

/* Round rows down to a multiple of the width, but not to 0. */
static inline npy_intp round_to_width(npy_intp rows, npy_intp width)
{
    return rows < width ? width : rows / width * width;
}

/* Set the size of chunks, and the layout of the block of a thread. */
void plan_chunks(Job *job);

/* Compute rows: `width` at a time with `many`, the remainder with `one`. Returns whether all the
   results that `many` checks are finite. */
int compute_rows(const Job *job, void **in, void **out, npy_int64 *strides, npy_intp rows,
                 void *workspace);

/* Check and compute one chunk, with a block of memory of `job->bytes`; returns the status. */
int compute_chunk(const Job *job, npy_intp start, npy_intp rows, char *block);

#endif
