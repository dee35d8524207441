/* What the files of the extension share: the type `Call`, machine code, blocks of memory.
 *
 * _call.h     types, and memory that is kept for the next call
 * _init.h     what a Call is made of
 * _inputs.h   what callers give: read, converted, normalised
 * _outputs.h  where results go
 * _chunks.h   the rows of a call, chunk by chunk
 * _threads.h  chunks on several threads
 * _call.c     the Python type
 */
#ifndef LINKWORK_CALL_H
#define LINKWORK_CALL_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AXES 8        /* of an input or output; arrays with more are left to Python */
#define FEW_PORTS 16       /* a call of one row with at most so many inputs needs no heap memory */
#define CACHE_LINE 64

/* Sizes of chunks, all of them. */
#define SHARED_ROWS 2048   /* a batch with more rows is shared by several threads */
#define FIRST_CHUNK 32     /* rows, before the time of a row is known */
#define FEWEST_ROWS 64     /* that a thread takes from a shared batch */
#define MOST_ROWS 16384    /* of a chunk */
#define CHUNK_NS 4000000   /* that a chunk should take: an interrupt lands between two of them */
#define SIGNAL_NS 20000000 /* after which the calling thread looks for an interrupt */
#define BUFFER_BYTES ((size_t)256 << 10)  /* of converted rows in a chunk: they stay in the cache */
#define STREAMED_BYTES ((size_t)8 << 20)  /* results larger than this use non-temporal stores */

/* The signature of llvm/emit.py; gives the bytes of workspace that it needs. */
typedef npy_int64 (*function_t)(void *const *in, void *const *out, const npy_int64 *strides,
                                npy_int64 rows, void *workspace);

typedef struct {           /* machine code. It is replaced as one, and freed when no call runs it */
    Py_ssize_t users;      /* counted while the GIL is held */
    function_t one;        /* a row at a time */
    function_t many;       /* `width` rows at a time; may be NULL */
    npy_intp width;
    size_t one_bytes, bytes;  /* of workspace for `one`, and for both */
    npy_intp chunk;        /* rows that take about CHUNK_NS */
    PyObject *keep;        /* keeps the machine code in memory */
} Code;

typedef struct {           /* an input or output: a row of it, without batch axes */
    int axes;
    npy_intp size;
    npy_intp shape[MOST_AXES];
} Port;

typedef struct {           /* numbers of an input with norm 1: a quaternion, or (cos, sin) */
    int input;
    npy_intp offset, count;
} UnitNorm;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Code *code;            /* NULL if there is none yet */
    int n_in, n_out, n_units, type;
    size_t item;           /* bytes of a number */
    Port *ins, *outs;
    UnitNorm *units;
    double noise;          /* a sum of squares this near to 1 is left as it is */
    double tolerance;      /* a norm further than this from 1 is refused */
    int is_simple;         /* whether no port has too many axes */
    int check_inputs;      /* whether inputs must be finite */
    int check_outputs;     /* whether `slow` is to look at outputs that are not finite */
    PyObject *slow;        /* takes all other calls, in Python; NULL before __init__ */
} Call;

/* How a call ended. Python asks why, and raises. */
enum { DONE, NOT_UNIT_NORM, NOT_FINITE_INPUT, NOT_FINITE_OUTPUT, NO_MEMORY, INTERRUPTED, DRIFTED };

static size_t round_up(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

/* Memory for workspaces and converted rows. It is kept for the next call. */
typedef struct {
    void *allocated;
    char *start;           /* of a cache line */
    size_t bytes;
} Block;

static int reserve(Block *block, size_t bytes)
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

#define SPARE_BLOCKS 4
#define MOST_SPARE_BYTES ((size_t)4 << 20)
static Block spare_blocks[SPARE_BLOCKS];  /* of calls that have ended; the GIL guards them */

/* A block of at least so many bytes; its start is NULL if there is no memory. Of the spare blocks, the
   smallest that is large enough: a small request must not take the workspace of the same call. */
static Block take_block(size_t bytes)
{
    Block block = {NULL, NULL, 0}, *best = NULL;
    for (int k = 0; k < SPARE_BLOCKS; k++) {
        Block *spare = &spare_blocks[k];
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

static void give_block(Block block)
{
    Block *smallest = &spare_blocks[0];
    for (int k = 1; k < SPARE_BLOCKS; k++)
        if (spare_blocks[k].bytes < smallest->bytes) smallest = &spare_blocks[k];
    if (block.bytes > smallest->bytes && block.bytes <= MOST_SPARE_BYTES) {
        Block other = *smallest;
        *smallest = block;
        block = other;
    }
    free(block.allocated);
}

/* Keep machine code while a call runs it. */
static Code *held(Code *code)
{
    code->users++;
    return code;
}

static void release(Code *code)
{
    if (code && --code->users == 0) {
        PyObject *keep = code->keep;
        free(code);
        Py_XDECREF(keep);
    }
}

#endif
