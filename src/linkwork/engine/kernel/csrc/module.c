/* The module `_call`: its types, functions and constants. */
#define LINKWORK_IMPORTS_NUMPY
#include "call.h"
#include "c_api.h"
#include "checks.h"
#include "philox.h"
#include "result_memory.h"
#include "shared.h"
#include "threads.h"

/* Constants for Python. */
static int add_constants(PyObject *module)
{
    static const struct { const char *name; long value; } constants[] = {
        {"MOST_AXES", MOST_AXES},
        {"STREAMED_BYTES", (long)STREAMED_BYTES},
    };
    for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++)
        if (PyModule_AddIntConstant(module, constants[k].name, constants[k].value) < 0) return -1;
    return 0;
}

static int execute(PyObject *module)
{
    import_array1(-1);
    if (!call_type) {  /* a second import uses the type, blocks and threads of the first */
        call_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &call_spec, NULL);
        if (!call_type || start_result_memory() < 0) return -1;
        start_threads();
        start_shared();
    }
    if (PyModule_AddObjectRef(module, "Call", (PyObject *)call_type) < 0) return -1;
    return add_constants(module) < 0 ? -1 : add_c_api(module);
}

/* in_usual_mode(function, *args, **named): call a Python function in the default floating-point mode. */
static PyObject *module_in_usual_mode(PyObject *module, PyObject *args, PyObject *named)
{
    (void)module;
    if (PyTuple_GET_SIZE(args) < 1) {
        PyErr_SetString(PyExc_TypeError, "in_usual_mode: expected a function");
        return NULL;
    }
    PyObject *others = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
    if (!others) return NULL;
    uint64_t mode = enter_usual_mode();
    PyObject *result = PyObject_Call(PyTuple_GET_ITEM(args, 0), others, named);
    leave_usual_mode(mode);
    Py_DECREF(others);
    return result;
}

static PyMethodDef module_methods[] = {
    {"empty", module_empty, METH_VARARGS,
     "empty(shape, dtype): create an array of float64 or float32, with the memory of results."},
    {"in_usual_mode", (PyCFunction)(void (*)(void))module_in_usual_mode, METH_VARARGS | METH_KEYWORDS,
     "in_usual_mode(function, *args, **named): call a function in the default floating-point mode."},
    {"philox", module_philox, METH_VARARGS,
     "philox(out, counters): fill an array with random numbers in (0, 1)."},
    {"spare_bytes", module_spare_bytes, METH_NOARGS,
     "Return the bytes of memory that are kept for later arrays."},
    {"thread_counts", module_thread_counts, METH_NOARGS,
     "Return (batches computed by several threads, chunks computed by helper threads) so far."},
    {NULL, NULL, 0, NULL},
};

#define MODULE_NAME _call
#define MODULE_DOC "Calls compiled functions with NumPy arrays."
#define MODULE_METHODS module_methods
#include "module_template.h"
