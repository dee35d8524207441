/* What the files of the extension share: the type `Call`, machine code, blocks of memory.
 *
 * _call.h     types, and a pool of memory blocks that calls reuse
 * _init.h     Call.__init__
 * _inputs.h   arguments: read, converted, normalised
 * _outputs.h  result arrays: new, or given as `out`
 * _pool.h     memory of large new arrays, used again when they die
 * _chunks.h   one chunk of the rows of a call
 * _threads.h  all chunks of a call, on several threads
 * _tiles.h    the states of some rows of a rollout, read, stepped on and written
 * _rollout.h  many steps of a function, forwards and backwards
 * _roll_calls.h  the same as methods of a Call
 * _xla_ffi.h  XLA's foreign function interface
 * _xla_calls.h   calls from programs that XLA has compiled, as JAX makes them
 * _poses.h    the Python type `Poses`: poses of the frames of a workcell
 * _pose_rows.h  its rows, for each kind of processor
 * _call.c     the Python type
 */
#ifndef LINKWORK_CALL_H
#define LINKWORK_CALL_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION  /* the first with allocators of arrays */
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AXES 8        /* of a row, and of a batch; arrays with more are left to Python, which
                              knows this number as `MOST_AXES` of the module */
#define FEW_PORTS 16       /* with at most this many inputs and outputs, one row needs no heap */
#define CACHE_LINE 64
#define SMALL_MATRIX 6     /* code of many rows checks square results of more rows (finite.py) */

/* How the rows of a batch are divided into chunks. */
#define SHARED_ROWS 2048   /* a batch of more rows is shared by several threads */
#define FIRST_CHUNK 32     /* rows of the first chunk, before the time per row is known */
#define FEWEST_ROWS 64     /* a thread takes at least this many rows of a shared batch at a time */
#define MOST_ROWS 16384    /* a chunk has at most this many rows */
#define CHUNK_NS 4000000   /* chunks are sized to take this long: signals wait for the end of one */
#define SIGNAL_NS 20000000 /* the calling thread checks for signals this often */
#define BUFFER_BYTES ((size_t)256 << 10)  /* of converted rows at most: they stay in the cache */
#define STREAMED_BYTES ((size_t)8 << 20)  /* larger results use non-temporal stores */

/* The signature of the code of codegen/llvm/emit.py; returns the bytes of workspace that it needs. */
typedef npy_int64 (*function_t)(void *const *in, void *const *out, const npy_int64 *strides,
                                npy_int64 rows, void *workspace);

/* Machine code, counted by its users: the Call that has it, calls that run it without the GIL, and
   the table of functions that XLA calls. `_use` replaces the code of a Call, also during calls. */
typedef struct Code {
    Py_ssize_t users;      /* the count; guarded by the GIL */
    function_t one;        /* computes one row at a time */
    function_t many;       /* computes `width` rows at a time; may be NULL */
    npy_intp width;
    size_t one_bytes, bytes;  /* of workspace for `one`, and for both */
    npy_intp chunk;        /* rows that take about CHUNK_NS; see `chunk_of` */
    PyObject *keep;        /* keeps the machine code in memory */
    struct Code *older;    /* what the table of XLA had before; see `offer_code` */
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
    int n_in, n_out, n_unit_norms, type;
    size_t item;           /* bytes of a number */
    Port *ins, *outs;
    UnitNorm *unit_norms;
    double noise;          /* a sum of squares that differs from 1 by less is 1 to rounding */
    double tolerance;      /* a norm that differs from 1 by more is refused */
    int is_simple;         /* whether no port has more than MOST_AXES axes */
    int check_inputs;      /* whether inputs must be finite */
    int check_outputs;     /* whether calls with outputs that are not finite are left to `slow` */
    PyTypeObject *result;  /* the named tuple that holds several outputs; NULL for a plain tuple */
    PyObject *slow;        /* a Python callable for all other calls; NULL before __init__ */
    struct Shared *shared; /* its entry in the table of functions that XLA calls; NULL if none */
} Call;

/* Status: how a call ended. For those that are errors, Python finds out why, and raises. */
enum { DONE, NOT_UNIT_NORM, NOT_FINITE_INPUT, NOT_FINITE_OUTPUT, NO_MEMORY, INTERRUPTED, DRIFTED,
       NO_CODE };

static size_t round_up(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

/* Memory for workspaces and converted rows; a few blocks are kept for later calls. */
typedef struct {
    void *allocated;
    char *start;           /* aligned to a cache line */
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
static Block take_from(Block *spares, size_t bytes)
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

static void give_to(Block *spares, Block block)
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

static Block take_block(size_t bytes) { return take_from(spare_blocks, bytes); }
static void give_block(Block block) { give_to(spare_blocks, block); }

/* Numbers that several threads read and write without a lock; any value that was written will do. */
#if defined(__GNUC__)
#define LOAD_RELAXED(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define STORE_RELAXED(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELAXED)
#else
#define LOAD_RELAXED(place) (place)
#define STORE_RELAXED(place, value) ((place) = (value))
#endif

static npy_intp chunk_of(const Code *code) { return LOAD_RELAXED(code->chunk); }
static void keep_chunk(Code *code, npy_intp chunk) { STORE_RELAXED(code->chunk, chunk); }

/* Count one more user of this machine code; with the GIL held. */
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
