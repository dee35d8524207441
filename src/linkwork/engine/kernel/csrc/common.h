/* Common header of the extension: Python, NumPy, limits, status codes, small helpers. */
#ifndef LINKWORK_COMMON_H
#define LINKWORK_COMMON_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION  /* the first version with custom allocators */
#define PY_ARRAY_UNIQUE_SYMBOL linkwork_numpy_api
#ifndef LINKWORK_IMPORTS_NUMPY  /* defined in the file that calls `import_array` */
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

#define MOST_AXES 8        /* of a row, and of a batch; arrays with more are handled in Python */
#define CACHE_LINE 64
#define STREAMED_BYTES ((size_t)8 << 20)  /* larger results use non-temporal stores */

/* The status of a call. For those that are errors, Python determines the reason and raises. */
enum { DONE, NOT_UNIT_NORM, NOT_FINITE_INPUT, NOT_FINITE_OUTPUT, NO_MEMORY, INTERRUPTED, DRIFTED,
       NO_CODE, NEW_CODE };

static inline size_t round_up(size_t bytes)
{
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Make non-temporal stores visible to other threads. */
static inline void end_of_stream(void)
{
#if defined(__SSE2__) || defined(_M_X64)
    _mm_sfence();
#endif
}

/* Set the default floating-point mode of the thread (mode.c); returns the previous mode, to be restored. */
uint64_t enter_usual_mode(void);
void leave_usual_mode(uint64_t before);

/* Access to variables that several threads read and write without a lock; any value written is valid. */
#if defined(__GNUC__)
#define LOAD_RELAXED(variable) __atomic_load_n(&(variable), __ATOMIC_RELAXED)
#define STORE_RELAXED(variable, value) __atomic_store_n(&(variable), (value), __ATOMIC_RELAXED)
#else
#define LOAD_RELAXED(variable) (variable)
#define STORE_RELAXED(variable, value) ((variable) = (value))
#endif

#endif
