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
       NO_CODE };

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

/* The floating-point mode of a thread. Other libraries change it: they round in another direction, flush
   subnormal numbers to zero, or enable exceptions. So the default mode is set while rows are computed. */
#if defined(__SSE2__) || defined(_M_X64)
#define USUAL_MODE 0x1F80u       /* the initial value of MXCSR; its six lowest bits are not modes */
#define READ_MODE() _mm_getcsr()
#define WRITE_MODE(mode) _mm_setcsr(mode)
#define MODE_OF(value) ((value) & 0xFFC0u)
typedef unsigned int Mode;
#elif defined(__aarch64__) && defined(__GNUC__)
#define USUAL_MODE 0u            /* the initial value of FPCR */
#define READ_MODE() __extension__({ Mode value; __asm__ volatile("mrs %0, fpcr" : "=r"(value)); value; })
#define WRITE_MODE(mode) __asm__ volatile("msr fpcr, %0" : : "r"((Mode)(mode)) : "memory")
#define MODE_OF(value) (value)
typedef uint64_t Mode;
#else
#define USUAL_MODE 0u
#define READ_MODE() 0u
#define WRITE_MODE(mode) ((void)(mode))
#define MODE_OF(value) (value)
typedef unsigned int Mode;
#endif

/* Set the default mode; returns the previous one, for `leave_usual_mode`. */
static inline Mode enter_usual_mode(void)
{
    Mode before = READ_MODE();
    if (MODE_OF(before) != USUAL_MODE) WRITE_MODE(USUAL_MODE);
    return before;
}

static inline void leave_usual_mode(Mode before)
{
    if (MODE_OF(before) != USUAL_MODE) WRITE_MODE(before);
}

/* Access to variables that several threads read and write without a lock; any value written is valid. */
#if defined(__GNUC__)
#define LOAD_RELAXED(variable) __atomic_load_n(&(variable), __ATOMIC_RELAXED)
#define STORE_RELAXED(variable, value) __atomic_store_n(&(variable), (value), __ATOMIC_RELAXED)
#else
#define LOAD_RELAXED(variable) (variable)
#define STORE_RELAXED(variable, value) ((variable) = (value))
#endif

#endif
