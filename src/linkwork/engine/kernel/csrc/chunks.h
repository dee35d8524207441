/* One chunk of the rows of a call: converted, normalized, checked, computed. */
#ifndef LINKWORK_CHUNKS_H
#define LINKWORK_CHUNKS_H

#include "inputs.h"

#define FIRST_CHUNK 32     /* rows of the first chunk, before the time per row is known */
#define MOST_ROWS 16384    /* a chunk has at most this many rows */
#define BUFFER_BYTES ((size_t)256 << 10)  /* of converted rows at most: they stay in the cache */

typedef struct Job {       /* a call, as the threads that work on it see it */
    const Call *call;
    Code *code;
    Source *sources;
    void **outs;
    npy_intp rows;
    int is_large;          /* whether results use non-temporal stores */
    int only_checks;       /* whether inputs are checked, and nothing is computed */
    int is_checked;        /* whether inputs were checked before, and none has to be normalized */
    npy_intp chunk;        /* most rows of a chunk; a multiple of the width */
    npy_intp fitting;      /* most rows that fit into the buffers */
    size_t pointers_at, buffers_at, bytes;  /* block of a thread: workspace, pointers, buffers */
    int (*run_instead)(struct Job *, npy_intp start, npy_intp rows, char *block, PyThreadState **state);
                           /* does a chunk in place of `run_chunk`; NULL but in rollouts */
    long long handled;     /* when the calling thread last looked for signals [ns] */
    int threads;
    npy_intp next;         /* the first row that no thread has taken */
    int status;
    int has_drifted;       /* whether an input has to be normalized */
    int has_bad_outputs;   /* whether a result is not finite */
} Job;

/* The largest multiple of the width with at most so many rows, but at least one width. */
static inline npy_intp round_to_width(npy_intp rows, npy_intp width)
{
    return rows < width ? width : rows / width * width;
}

/* Choose the size of chunks, and the layout of the block of a thread. */
void plan_chunks(Job *job);

/* Compute rows: `width` at a time with `many`, the remainder with `one`. Returns whether all the
   results that `many` checks are finite. */
int compute_rows(const Job *job, void **in, void **out, npy_int64 *strides, npy_intp rows,
                 void *workspace);

/* Check and compute some rows, with a block of memory of `job->bytes`; returns the status. */
int run_chunk(const Job *job, npy_intp start, npy_intp rows, char *block);

#endif
