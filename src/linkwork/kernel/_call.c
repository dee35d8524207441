/* Calls compiled functions on NumPy arrays with as little ado as possible.
 *
 * A Call knows the shapes of its inputs and outputs. Called with arrays that fit as they are (float,
 * C-contiguous, one row each, or the same number of rows each), it runs the compiled code at once.
 * Everything else, other keywords than `out` and `threads` too, goes to the `slow` callable, in Python.
 *
 * The compiled code has the signature  void f(inputs, outputs, strides, rows)  of llvm/emit.py.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <math.h>
#include <stddef.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define end_of_stream _mm_sfence   /* what went past the caches is there for other threads, too */
#else
static void end_of_stream(void) {}
#endif

#define MOST_PORTS 128
#define MOST_AXES 6
#define MOST_UNITS 64
#define MOST_ROWS 65536      /* of a thread; after so many, an interrupt must be able to land */
#define STREAMED_BYTES ((size_t)8 << 20)  /* results larger than this go past the caches */

typedef void (*function_t)(void *const *, void *const *, const npy_int64 *, npy_int64);

typedef struct {             /* an input or output: a row of it, without batch axes */
    int axes;
    npy_intp size, shape[MOST_AXES];
} Port;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    function_t one;          /* a row at a time */
    function_t many;         /* `width` rows at a time; may be NULL */
    npy_intp width;
    int n_in, n_out, type, n_units;
    Port ins[MOST_PORTS], outs[MOST_PORTS];
    struct { int input; npy_intp offset, count; } units[MOST_UNITS]; /* numbers of norm 1 */
    int units_known;         /* 0 if there are too many units to look at here */
    int axes_known;          /* 0 if a port has too many axes to look at here */
    int finite;              /* whether outputs that are not finite go to `slow`, which says why */
    npy_intp most_rows;      /* more rows than this are shared out over threads; less than 0: all go to `slow` */
    PyObject *slow;          /* what to call when arrays do not fit as they are */
    PyObject *keep;          /* keeps the compiled code alive */
    PyObject *dict;
} Call;

static size_t item_size(const Call *self) { return self->type == NPY_DOUBLE ? 8 : 4; }

static size_t output_bytes(const Call *self, npy_intp rows)
{
    size_t numbers = 0;
    for (int k = 0; k < self->n_out; k++) numbers += (size_t)self->outs[k].size;
    return numbers * item_size(self) * (size_t)rows;
}

/* Whether the quaternions and (cos, sin) pairs of rows have norm 1, to rounding. NaN passes. */
static int rows_are_unit(const Call *self, void *const *in, const npy_int64 *stride, npy_intp rows)
{
    for (int k = 0; k < self->n_units; k++) {
        int input = self->units[k].input, bad = 0;
        npy_intp count = self->units[k].count, step = stride[input];
        if (self->type == NPY_DOUBLE) {
            const double *x = (const double *)in[input] + self->units[k].offset;
            for (npy_intp row = 0; row < rows; row++, x += step) {
                double sum = 0.0;
                for (npy_intp i = 0; i < count; i++) sum += x[i] * x[i];
                bad |= fabs(sum - 1.0) > 1e-14;
            }
        } else {
            const float *x = (const float *)in[input] + self->units[k].offset;
            for (npy_intp row = 0; row < rows; row++, x += step) {
                double sum = 0.0;
                for (npy_intp i = 0; i < count; i++) sum += (double)x[i] * x[i];
                bad |= fabs(sum - 1.0) > 1e-6;
            }
        }
        if (bad) return 0;
    }
    return 1;
}

/* Where each input and output is after some rows. */
static void step(const Call *self, void *const *in, void *const *out, const npy_int64 *stride,
                 npy_intp rows, void **in_next, void **out_next)
{
    size_t item = item_size(self);
    for (int k = 0; k < self->n_in; k++)
        in_next[k] = (char *)in[k] + (size_t)(rows * stride[k]) * item;
    for (int k = 0; k < self->n_out; k++)
        out_next[k] = (char *)out[k] + (size_t)(rows * self->outs[k].size) * item;
}

/* Whole blocks of lanes with `many`, the rows that are left with `one`. */
static void compute(const Call *self, function_t one, function_t many, npy_intp width,
                    void *const *in, void *const *out, const npy_int64 *stride, npy_intp rows)
{
    npy_intp whole = many ? rows - rows % width : 0;
    if (whole) many(in, out, stride, whole);
    if (stride[self->n_in]) end_of_stream();
    if (rows > whole) {
        void *in_rest[MOST_PORTS], *out_rest[MOST_PORTS];
        step(self, in, out, stride, whole, in_rest, out_rest);
        one(in_rest, out_rest, stride, rows - whole);
    }
}

/* Run without the GIL. Faster functions may be taken over meanwhile; the old ones stay until done.
   There is room for one more stride: whether results of so many bytes in all go past the caches. */
static void run(const Call *self, void *const *in, void *const *out, npy_int64 *stride,
                npy_intp rows, size_t bytes)
{
    function_t one = self->one, many = self->many;
    npy_intp width = self->width;
    PyObject *keep = self->keep;
    Py_XINCREF(keep);
    stride[self->n_in] = bytes > STREAMED_BYTES;
    Py_BEGIN_ALLOW_THREADS
    compute(self, one, many, width, in, out, stride, rows);
    Py_END_ALLOW_THREADS
    Py_XDECREF(keep);
}

static int all_finite(const Call *self, void *const *out, npy_intp rows)
{
    for (int k = 0; k < self->n_out; k++) {
        npy_intp count = rows * self->outs[k].size;
        for (npy_intp i = 0; i < count; i++) {
            double value = self->type == NPY_DOUBLE ? ((double *)out[k])[i] : ((float *)out[k])[i];
            if (!isfinite(value)) return 0;
        }
    }
    return 1;
}

/* New output arrays, batched if rows >= 0; a single one comes without a tuple. */
static PyObject *new_outputs(const Call *self, npy_intp rows, void **out)
{
    PyObject *tuple = self->n_out == 1 ? NULL : PyTuple_New(self->n_out);
    if (self->n_out != 1 && !tuple) return NULL;
    for (int k = 0; k < self->n_out; k++) {
        npy_intp shape[MOST_AXES + 1];
        int axes = 0;
        if (rows >= 0) shape[axes++] = rows;
        for (int i = 0; i < self->outs[k].axes; i++) shape[axes++] = self->outs[k].shape[i];
        PyObject *array = PyArray_SimpleNew(axes, shape, self->type);
        if (!array) {
            Py_XDECREF(tuple);
            return NULL;
        }
        out[k] = PyArray_DATA((PyArrayObject *)array);
        if (self->n_out == 1) return array;
        PyTuple_SET_ITEM(tuple, k, array);
    }
    return tuple;
}

/* Whether an array is a row, or rows, of a port, and can be read as it is. */
static int fits(const Call *self, const Port *port, PyArrayObject *array, int batch)
{
    if (PyArray_TYPE(array) != self->type || !PyArray_ISCARRAY_RO(array)
        || PyArray_NDIM(array) != port->axes + batch)
        return 0;
    for (int i = 0; i < port->axes; i++)
        if (PyArray_DIM(array, i + batch) != port->shape[i]) return 0;
    return 1;
}

/* Whether an array given as `out` can be written to as it is; if not, Python says what is wrong. */
static int fits_as_output(const Call *self, PyObject *given, npy_intp rows, void *const *in)
{
    if (!PyArray_CheckExact(given)) return 0;
    PyArrayObject *array = (PyArrayObject *)given;
    int batch = rows >= 0;
    if (!fits(self, &self->outs[0], array, batch) || !PyArray_ISWRITEABLE(array)) return 0;
    if (batch && PyArray_DIM(array, 0) != rows) return 0;
    const char *start = PyArray_BYTES(array), *end = start + PyArray_NBYTES(array);
    for (int k = 0; k < self->n_in; k++) {
        const char *first = in[k];
        size_t bytes = (size_t)((batch ? rows : 1) * self->ins[k].size) * item_size(self);
        if (first < end && start < first + bytes) return 0;
    }
    return 1;
}

#ifndef _WIN32
#include "_threads.h"
#else  /* Python shares large batches out */
#define MOST_THREADS 1
static int default_threads(void) { return 1; }
#endif

static PyObject *call_vector(PyObject *callable, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    Call *self = (Call *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    void *in[MOST_PORTS], *out[MOST_PORTS];
    npy_int64 stride[MOST_PORTS + 1];
    npy_intp rows = -2;  /* -1: a single row without a batch axis */
    PyObject *given = NULL;  /* the array to write to, if there is one */
    if (!self->one || !self->axes_known || count != self->n_in) goto slow;
    long threads = 0;  /* as many as there are cores */
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); k++) {
        PyObject *name = PyTuple_GET_ITEM(names, k), *value = args[count + k];
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0 && self->n_out == 1) {
            given = value == Py_None ? NULL : value;
        } else if (PyUnicode_CompareWithASCIIString(name, "threads") == 0 && PyLong_CheckExact(value)
                   && (threads = PyLong_AsLong(value)) >= 1 && threads <= MOST_THREADS) {
            continue;
        } else {
            PyErr_Clear();
            goto slow;
        }
    }
    for (int k = 0; k < self->n_in; k++) {
        if (!PyArray_CheckExact(args[k])) goto slow;
        PyArrayObject *array = (PyArrayObject *)args[k];
        int batch = PyArray_NDIM(array) > self->ins[k].axes;
        if (!fits(self, &self->ins[k], array, batch)) goto slow;
        npy_intp here = batch ? PyArray_DIM(array, 0) : -1;
        if (rows == -2) rows = here;
        if (here != rows) goto slow;
        in[k] = PyArray_DATA(array);
        stride[k] = self->ins[k].size;
    }
    if (rows == -2 || self->most_rows < 0) goto slow;
    if (rows <= self->most_rows) threads = 1;
    if (threads == 0) threads = default_threads();
    if (rows > MOST_ROWS * threads) goto slow;
    if (threads == 1 && !rows_are_unit(self, in, stride, rows < 0 ? 1 : rows)) goto slow;
    PyObject *result;
    if (given) {
        if (!fits_as_output(self, given, rows, in)) goto slow;
        out[0] = PyArray_DATA((PyArrayObject *)given);
        result = given;
        Py_INCREF(result);
    } else {
        result = new_outputs(self, rows, out);
        if (!result) return NULL;
    }
    if (rows < 0) {
        self->one(in, out, stride, 1);
#ifndef _WIN32
    } else if (threads > 1) {
        if (run_shared(self, in, out, stride, rows, (int)threads)) return result;
        Py_DECREF(result);
        goto slow;
#endif
    } else {
        run(self, in, out, stride, rows, output_bytes(self, rows));
    }
    if (self->finite && !all_finite(self, out, rows < 0 ? 1 : rows)) {
        Py_DECREF(result);
        goto slow;
    }
    return result;
slow:
    if (!self->slow) {
        PyErr_SetString(PyExc_RuntimeError, "the call has no slow path");
        return NULL;
    }
    if (Py_EnterRecursiveCall(" in a compiled function")) return NULL;
    PyObject *call = self->slow;  /* it may drop us */
    Py_INCREF(call);
    PyObject *answer = PyObject_Vectorcall(call, args, (size_t)count, names);
    Py_DECREF(call);
    Py_LeaveRecursiveCall();
    return answer;
}

/* Pointers and strides of inputs with at least this many rows; -1 with an error if they do not fit. */
static int read_inputs(const Call *self, PyObject *inputs, PyObject *strides, Py_ssize_t rows,
                       void **in, npy_int64 *stride)
{
    if (PyTuple_GET_SIZE(inputs) != self->n_in || PyTuple_GET_SIZE(strides) != self->n_in
        || rows < 0) {
        PyErr_SetString(PyExc_ValueError, "rows: arguments that do not fit the function");
        return -1;
    }
    for (int k = 0; k < self->n_in; k++) {  /* first, since this may run Python */
        stride[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, k));
        if (stride[k] == -1 && PyErr_Occurred()) return -1;
    }
    for (int k = 0; k < self->n_in; k++) {
        PyObject *array = PyTuple_GET_ITEM(inputs, k);
        if (!PyArray_Check(array) || PyArray_TYPE((PyArrayObject *)array) != self->type
            || !PyArray_ISCARRAY_RO((PyArrayObject *)array)
            || (stride[k] != 0 && stride[k] != self->ins[k].size)
            || (self->ins[k].size > 0 && (stride[k] ? rows : 1)
                > PyArray_SIZE((PyArrayObject *)array) / self->ins[k].size)) {
            PyErr_SetString(PyExc_ValueError, "rows: an input that does not fit the function");
            return -1;
        }
        in[k] = PyArray_DATA((PyArrayObject *)array);
    }
    return 0;
}

/* _rows(inputs, strides, outputs, start, stop): run on a range of rows of arrays that were checked. */
static PyObject *call_rows(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    PyObject *inputs, *strides, *outputs;
    Py_ssize_t start, stop;
    void *in[MOST_PORTS], *out[MOST_PORTS];
    npy_int64 stride[MOST_PORTS + 1];
    size_t item = item_size(self), bytes = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!nn", &PyTuple_Type, &inputs, &PyTuple_Type, &strides,
                          &PyTuple_Type, &outputs, &start, &stop))
        return NULL;
    if (!self->one || PyTuple_GET_SIZE(outputs) != self->n_out || start < 0 || stop < start) {
        PyErr_SetString(PyExc_ValueError, "rows: arguments that do not fit the function");
        return NULL;
    }
    if (read_inputs(self, inputs, strides, stop, in, stride) < 0) return NULL;
    for (int k = 0; k < self->n_in; k++) in[k] = (char *)in[k] + (size_t)(start * stride[k]) * item;
    for (int k = 0; k < self->n_out; k++) {
        PyObject *array = PyTuple_GET_ITEM(outputs, k);
        if (!PyArray_Check(array) || PyArray_TYPE((PyArrayObject *)array) != self->type
            || !PyArray_ISCARRAY((PyArrayObject *)array)
            || (self->outs[k].size > 0
                && stop > PyArray_SIZE((PyArrayObject *)array) / self->outs[k].size)) {
            PyErr_SetString(PyExc_ValueError, "rows: an output that does not fit the function");
            return NULL;
        }
        out[k] = (char *)PyArray_DATA((PyArrayObject *)array)
                 + (size_t)(start * self->outs[k].size) * item;
        bytes += (size_t)PyArray_NBYTES((PyArrayObject *)array);
    }
    run(self, in, out, stride, stop - start, bytes);
    Py_RETURN_NONE;
}

/* _is_unit(inputs, strides, rows): whether what must have norm 1 has it, in arrays that were checked. */
static PyObject *call_is_unit(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    PyObject *inputs, *strides;
    Py_ssize_t rows;
    void *in[MOST_PORTS];
    npy_int64 stride[MOST_PORTS + 1];
    if (!PyArg_ParseTuple(args, "O!O!n", &PyTuple_Type, &inputs, &PyTuple_Type, &strides, &rows))
        return NULL;
    if (!self->units_known) Py_RETURN_FALSE;
    if (read_inputs(self, inputs, strides, rows, in, stride) < 0) return NULL;
    return PyBool_FromLong(rows_are_unit(self, in, stride, rows));
}

/* _use(one, many, width, keep): take these functions from now on. */
static PyObject *call_use(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    unsigned long long one, many;
    Py_ssize_t width;
    PyObject *keep;
    if (!PyArg_ParseTuple(args, "KKnO", &one, &many, &width, &keep)) return NULL;
    if (width < 1) {
        PyErr_SetString(PyExc_ValueError, "use: the width must be at least 1");
        return NULL;
    }
    Py_INCREF(keep);
    PyObject *old = self->keep;
    self->one = (function_t)(uintptr_t)one;
    self->many = (function_t)(uintptr_t)many;
    self->width = width;
    self->keep = keep;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* Sizes and shapes of ports; -1 if they are none. */
static int parse_shapes(Call *self, PyObject *shapes, Port *ports)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(shapes); k++) {
        PyObject *shape = PyTuple_GET_ITEM(shapes, k);
        if (!PyTuple_Check(shape)) return -1;
        Py_ssize_t axes = PyTuple_GET_SIZE(shape);
        if (axes > MOST_AXES) self->axes_known = 0;
        ports[k].axes = axes > MOST_AXES ? 0 : (int)axes;
        ports[k].size = 1;
        for (Py_ssize_t i = 0; i < axes; i++) {
            npy_intp length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
            if (length < 0 || length > NPY_MAX_INT) return -1;
            if (axes <= MOST_AXES) ports[k].shape[i] = length;
            ports[k].size *= length;
            if (ports[k].size > NPY_MAX_INT) return -1;
        }
    }
    return 0;
}

static int call_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    Call *self = (Call *)object;
    static char *names[] = {"in_shapes", "out_shapes", "units", "single_precision", "finite",
                            "most_rows", "slow", NULL};
    PyObject *inputs, *outputs, *units, *slow;
    if (self->slow) {
        PyErr_SetString(PyExc_RuntimeError, "a call is made once");
        return -1;
    }
    int single, finite;
    Py_ssize_t most_rows;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!ppnO", names, &PyTuple_Type, &inputs,
                                     &PyTuple_Type, &outputs, &PyTuple_Type, &units, &single,
                                     &finite, &most_rows, &slow))
        return -1;
    if (PyTuple_GET_SIZE(inputs) > MOST_PORTS || PyTuple_GET_SIZE(outputs) > MOST_PORTS
        || PyTuple_GET_SIZE(outputs) < 1) {
        PyErr_Format(PyExc_ValueError, "at most %d inputs and outputs, at least one output",
                     MOST_PORTS);
        return -1;
    }
    self->n_in = (int)PyTuple_GET_SIZE(inputs);
    self->n_out = (int)PyTuple_GET_SIZE(outputs);
    self->axes_known = 1;
    if (parse_shapes(self, inputs, self->ins) < 0 || parse_shapes(self, outputs, self->outs) < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a shape is not understood");
        return -1;
    }
    self->n_units = (int)PyTuple_GET_SIZE(units);
    self->most_rows = most_rows;
    self->units_known = self->n_units <= MOST_UNITS;
    if (!self->units_known) {  /* too many to look at here: Python looks at all of them */
        self->n_units = 0;
        self->most_rows = -2;
    }
    for (int k = 0; k < self->n_units; k++) {
        if (!PyTuple_Check(PyTuple_GET_ITEM(units, k))) {
            PyErr_SetString(PyExc_TypeError, "units: expected tuples");
            return -1;
        }
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(units, k), "inn", &self->units[k].input,
                              &self->units[k].offset, &self->units[k].count))
            return -1;
        if (self->units[k].input < 0 || self->units[k].input >= self->n_in
            || self->units[k].offset < 0 || self->units[k].count < 1
            || self->units[k].count > self->ins[self->units[k].input].size
            || self->units[k].offset
                > self->ins[self->units[k].input].size - self->units[k].count) {
            PyErr_SetString(PyExc_ValueError, "units: outside of the inputs");
            return -1;
        }
    }
    self->finite = finite;
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->width = 1;
    self->vectorcall = call_vector;
    Py_INCREF(slow);
    Py_XSETREF(self->slow, slow);
    return 0;
}

static int call_traverse(PyObject *object, visitproc visit, void *arg)
{
    Call *self = (Call *)object;
    Py_VISIT(self->slow);
    Py_VISIT(self->keep);
    Py_VISIT(self->dict);
    return 0;
}

static int call_clear(PyObject *object)
{
    Call *self = (Call *)object;
    self->one = self->many = NULL;
    Py_CLEAR(self->slow);
    Py_CLEAR(self->keep);
    Py_CLEAR(self->dict);
    return 0;
}

static void call_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    call_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Call *self = (Call *)type->tp_alloc(type, 0);
    (void)args;
    (void)kwargs;
    if (self) self->vectorcall = call_vector;
    return (PyObject *)self;
}

static PyMethodDef call_methods[] = {
    {"_rows", call_rows, METH_VARARGS,
     "_rows(inputs, strides, outputs, start, stop): run on a range of rows, without the GIL."},
    {"_is_unit", call_is_unit, METH_VARARGS,
     "_is_unit(inputs, strides, rows): whether what must have norm 1 has it."},
    {"_use", call_use, METH_VARARGS,
     "_use(one, many, width, keep): call the functions at these addresses from now on."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "linkwork.kernel._call.Call",
    .tp_doc = "Calls a compiled function on NumPy arrays.",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC
                | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
    .tp_dictoffset = offsetof(Call, dict),
    .tp_call = PyVectorcall_Call,
    .tp_new = call_new,
    .tp_init = call_init,
    .tp_dealloc = call_dealloc,
    .tp_traverse = call_traverse,
    .tp_clear = call_clear,
    .tp_methods = call_methods,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_call", "Calls compiled functions on NumPy arrays.", -1, NULL,
};

PyMODINIT_FUNC PyInit__call(void)
{
    import_array();
#ifndef _WIN32
    pthread_atfork(NULL, NULL, forget_helpers);
#endif
    if (PyType_Ready(&CallType) < 0) return NULL;
    PyObject *self = PyModule_Create(&module);
    if (!self) return NULL;
    Py_INCREF(&CallType);
    if (PyModule_AddObject(self, "Call", (PyObject *)&CallType) < 0) {
        Py_DECREF(&CallType);
        Py_DECREF(self);
        return NULL;
    }
    return self;
}
