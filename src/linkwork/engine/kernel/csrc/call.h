/* The Python type `Call`, and the machine code that it calls. */
#ifndef LINKWORK_CALL_H
#define LINKWORK_CALL_H

#include "common.h"

#define FEW_PORTS 16       /* with at most this many inputs and outputs, one row needs no heap */

/* The signature of the code of codegen/llvm/emit.py; returns the bytes of workspace
   that it needs, or a negative number if a result that it checks is not finite. After the strides of the
   inputs comes a flag: whether the outputs are too large for the caches. */
typedef npy_int64 (*function_t)(void *const *in, void *const *out, const npy_int64 *strides,
                                npy_int64 rows, void *workspace);

/* Machine code, counted by its users: the Call that has it, calls that run it without the GIL, and
   threads of other libraries (shared.h). `_use` replaces the code of a Call, also during calls. */
typedef struct Code {
    Py_ssize_t users;      /* the count; guarded by the GIL */
    function_t one;        /* computes one row at a time */
    function_t many;       /* computes `width` rows at a time; may be NULL */
    npy_intp width;
    size_t one_bytes, bytes;  /* of workspace for `one`, and for both */
    double cost;           /* for a row, in vector operations; see `work_of_row` and SHARED_WORK */
    npy_intp chunk;        /* rows of a chunk; threads read and write it without a lock */
    PyObject *keep;        /* keeps the machine code in memory */
    struct Code *older;    /* what a `Shared` used before; see `offer_code` */
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

typedef struct {           /* a compiled function as Python calls it */
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Code *code;            /* NULL if there is none yet */
    int n_in, n_out, n_unit_norms, type;
    size_t item;           /* bytes of a number */
    Port *ins, *outs;
    UnitNorm *unit_norms;
    double noise;          /* a sum of squares that differs from 1 by less is 1 to rounding */
    double tolerance;      /* a norm that differs from 1 by more is rejected */
    int is_simple;         /* whether no port has more than MOST_AXES axes */
    int check_inputs;      /* whether inputs must be finite */
    int check_outputs;     /* whether calls with outputs that are not finite are left to `slow` */
    int small_matrix;      /* code of many rows checks square outputs with more rows itself */
    PyTypeObject *result;  /* the named tuple that holds several outputs; NULL for a plain tuple */
    PyObject *slow;        /* a Python callable for all other calls; NULL before __init__ */
    struct Shared *shared; /* as native threads call it; NULL if none does */
} Call;

extern PyTypeObject *call_type;    /* NULL before the module is imported */
extern PyType_Spec call_spec;

/* Count one more user of this machine code; with the GIL held. */
static inline Code *hold_code(Code *code)
{
    code->users++;
    return code;
}

/* Count one user less, with the GIL held; the last one frees it. */
static inline void release_code(Code *code)
{
    if (code && --code->users == 0) {
        PyObject *keep = code->keep;
        free(code);
        Py_XDECREF(keep);
    }
}

#endif
