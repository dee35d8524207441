/* The interface for other C extensions of linkwork: threads, result arrays and compiled functions.
 *
 * Other extensions cannot be linked with this one. So the module has a capsule `C_API` with pointers to
 * these functions, which `import_c_api` returns.
 */
#ifndef LINKWORK_C_API_H
#define LINKWORK_C_API_H

#include "shared.h"

/* Computes some rows, with separate memory for each thread; returns the status. */
typedef int (*RowsFunction)(void *context, npy_intp start, npy_intp rows, char *memory);

typedef struct {
    /* Call a function for all rows, without the GIL, in chunks of `chunk` rows. Large batches use several
       threads, each with `bytes` of memory; `work` is the vector operations of a row. Returns the status. */
    int (*run_rows)(RowsFunction function, void *context, npy_intp rows, npy_intp chunk,
                    double work, size_t bytes, int threads);
    int (*read_threads)(PyObject *value);  /* as threads.h declares it */
    PyObject *(*new_array)(int axes, npy_intp *shape, int type);  /* as result_memory.h does */
    Shared *(*share_call)(PyObject *callable, Shared *with);      /* as shared.h does */
    int (*run_shared)(Shared *shared, const SharedRows *inputs, void *const *outputs, npy_intp rows);
} CApi;

#define C_API_NAME_BYTES 80

/* The name of the capsule. It contains the sizes of the shared types, so that an extension of another
   version of linkwork does not find it. */
static inline const char *c_api_name(char name[C_API_NAME_BYTES])
{
    PyOS_snprintf(name, C_API_NAME_BYTES, "linkwork.engine.kernel._call.C_API %d %d %d",
                  (int)sizeof(CApi), (int)sizeof(Call), (int)sizeof(Shared));
    return name;
}

/* Add the capsule to the module; -1 with an error if that fails. */
int add_c_api(PyObject *module);

/* For another extension: return the functions; NULL with an ImportError if there are none. */
static inline const CApi *import_c_api(void)
{
    char name[C_API_NAME_BYTES];
    PyObject *module = PyImport_ImportModule("linkwork.engine.kernel._call");
    PyObject *capsule = module ? PyObject_GetAttrString(module, "C_API") : NULL;
    const CApi *api = capsule ? PyCapsule_GetPointer(capsule, c_api_name(name)) : NULL;
    if (module && !api)
        PyErr_SetString(PyExc_ImportError, "the C extensions are of different versions of linkwork;"
                                           " reinstall linkwork");
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    return api;
}

#endif
