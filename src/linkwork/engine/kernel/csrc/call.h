/* The Python type `Call`, and the machine code that it calls. */
#ifndef LINKWORK_CALL_H
#define LINKWORK_CALL_H

#include "common.h"

#define FEW_PORTS 16       /* with at most this many inputs and outputs, one row needs no heap */

/* The signature of the code of codegen/llvm/emit.py. It returns the size of the workspace in bytes, or a
   negative number if a result that it checks is not finite. The strides of the inputs are followed by a
   flag: whether the outputs are too large for the caches. */
typedef npy_int64 (*function_t)(void *const *in, void *const *out, const npy_int64 *strides,
                                npy_int64 rows, void *workspace);

/* Machine code, reference-counted by its users: the Call that has it, calls that run it without the GIL,
   and `Shared` (shared.h). `_use` replaces the code of a Call, also during calls. */
typedef struct Code {
    Py_ssize_t users;      /* the reference count; guarded by the GIL */
    function_t one;        /* computes one row at a time */
    function_t many;       /* computes `width` rows at a time; may be NULL */
    npy_intp width;
    size_t one_bytes, bytes;  /* size of the workspace of `one`, and of both */
    double cost;           /* work of a row in vector operations; see `work_of_row` and SHARED_WORK */
    npy_intp chunk;        /* rows of a chunk; threads read and write it without a lock */
    PyObject *keep;        /* keeps the machine code in memory */
    struct Code *older;    /* the code that a `Shared` used before; see `offer_code` */
} Code;

typedef struct {           /* the shape of a row of an input or output */
    int axes;
    npy_intp size;
    npy_intp shape[MOST_AXES];
} Port;

typedef struct {           /* elements of an input with norm 1: a quaternion, or (cos, sin) */
    int input;
    npy_intp offset, count;
} UnitNorm;

typedef struct {           /* a compiled function that Python calls */
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Code *code;            /* NULL before code is installed */
    int n_in, n_out, n_unit_norms, type;
    size_t item;           /* bytes of an element */
    Port *ins, *outs;
    UnitNorm *unit_norms;
    double noise;          /* largest rounding error of a sum of squares that should be 1 */
    double tolerance;      /* a norm that differs from 1 by more is rejected */
    int is_simple;         /* whether no port has more than MOST_AXES axes */
    int check_inputs;      /* whether inputs must be finite */
    int check_outputs;     /* whether `slow` handles calls with outputs that are not finite */
    int small_matrix;      /* the code `many` checks square outputs with more rows than this */
    PyTypeObject *result;  /* the named tuple for several outputs; NULL for a tuple */
    PyObject *slow;        /* Python callable that handles all other calls; NULL before __init__ */
    struct Shared *shared; /* for calls by native threads; NULL if there are none */
} Call;

extern PyTypeObject *call_type;    /* NULL before the module is imported */
extern PyType_Spec call_spec;

/* Methods of a Call in other files: `__init__` in signature.c, `_roll` and `_roll_back` in rollout.c. */
int call_init(PyObject *object, PyObject *args, PyObject *kwargs);
PyObject *call_roll(PyObject *callable, PyObject *args);
PyObject *call_roll_back(PyObject *callable, PyObject *args);

/* Free the memory that `call_init` has allocated. */
void free_ports(Call *self);

/* Machine code at these addresses, with one reference; NULL with an error without memory. */
static inline Code *new_code(unsigned long long one, unsigned long long many, Py_ssize_t width,
                             PyObject *keep)
{
    Code *code = calloc(1, sizeof(Code));
    if (!code) return (Code *)PyErr_NoMemory();
    code->users = 1;
    code->one = (function_t)(uintptr_t)one;
    code->many = (function_t)(uintptr_t)many;
    code->width = many ? width : 1;
    code->keep = Py_NewRef(keep);
    code->bytes = code->one_bytes = (size_t)code->one(NULL, NULL, NULL, 0, NULL);
    if (many) {
        size_t bytes = (size_t)code->many(NULL, NULL, NULL, 0, NULL);
        if (bytes > code->bytes) code->bytes = bytes;
    }
    return code;
}

/* Add a reference to machine code; with the GIL held. */
static inline Code *hold_code(Code *code)
{
    code->users++;
    return code;
}

/* Remove a reference to machine code, with the GIL held; the last one frees it. */
static inline void release_code(Code *code)
{
    if (code && --code->users == 0) {
        PyObject *keep = code->keep;
        free(code);
        Py_XDECREF(keep);
    }
}

#endif
