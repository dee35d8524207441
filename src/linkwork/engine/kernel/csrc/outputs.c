/* Result arrays of a call: new ones, or those of the argument `out`. */
#include "outputs.h"

#include "result_memory.h"

/* Create a tuple for the outputs, of the type that the Call returns; its items are not set. */
static PyObject *new_tuple(const Call *self)
{
    return self->result ? self->result->tp_alloc(self->result, self->n_out)
                        : PyTuple_New(self->n_out);
}

/* Add a hint to the error about a result that does not fit into memory. */
static void explain_memory_error(int axes, const npy_intp *shape, size_t item)
{
    if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return;
    double bytes = (double)item;
    for (int i = 0; i < axes; i++) bytes *= (double)shape[i];
    PyErr_Clear();
    PyErr_Format(PyExc_MemoryError,
                 "a result of %zd MiB does not fit into memory; compute fewer rows at a time",
                 (Py_ssize_t)(bytes / 1048576.0));
}

PyObject *new_outputs(const Call *self, const Batch *batch, void **out)
{
    PyObject *tuple = self->n_out == 1 ? NULL : new_tuple(self);
    if (self->n_out != 1 && !tuple) return NULL;
    for (int k = 0; k < self->n_out; k++) {
        npy_intp shape[2 * MOST_AXES];
        int axes = 0;
        for (int i = 0; i < batch->axes; i++) shape[axes++] = batch->shape[i];
        for (int i = 0; i < self->outs[k].axes; i++) shape[axes++] = self->outs[k].shape[i];
        PyObject *array = new_array(axes, shape, self->type);
        if (!array) {
            Py_XDECREF(tuple);
            explain_memory_error(axes, shape, self->item);
            return NULL;
        }
        out[k] = PyArray_DATA((PyArrayObject *)array);
        if (self->n_out == 1) return array;
        PyTuple_SET_ITEM(tuple, k, array);
    }
    return tuple;
}

/* Compute the range of memory of an array. */
static void memory_range(PyArrayObject *array, const char **start, const char **stop)
{
    *start = *stop = PyArray_BYTES(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        if (PyArray_DIM(array, i) == 0) return;
        if (reach < 0) *start += reach;
        else *stop += reach;
    }
    *stop += PyArray_ITEMSIZE(array);
}

static int arrays_overlap(PyArrayObject *one, PyObject *other)
{
    const char *start, *stop, *other_start, *other_stop;
    if (!PyArray_Check(other)) return 0;
    memory_range(one, &start, &stop);
    memory_range((PyArrayObject *)other, &other_start, &other_stop);
    return start < other_stop && other_start < stop;
}

/* Return whether compiled code can write directly to an array of `out`. */
static int is_writable_output(const Call *self, const Port *port, PyObject *out_argument,
                              const Batch *batch)
{
    if (!PyArray_CheckExact(out_argument)) return 0;
    PyArrayObject *array = (PyArrayObject *)out_argument;
    if (PyArray_TYPE(array) != self->type || !PyArray_ISCARRAY(array)
        || PyArray_NDIM(array) != batch->axes + port->axes)
        return 0;
    for (int i = 0; i < batch->axes; i++)
        if (PyArray_DIM(array, i) != batch->shape[i]) return 0;
    for (int i = 0; i < port->axes; i++)
        if (PyArray_DIM(array, batch->axes + i) != port->shape[i]) return 0;
    return 1;
}

PyObject *accept_outputs(const Call *self, PyObject *out_argument, PyObject *const *args,
                         const Batch *batch, void **out)
{
    int is_tuple = PyTuple_Check(out_argument);
    if (is_tuple != (self->n_out > 1) || (is_tuple && PyTuple_GET_SIZE(out_argument) != self->n_out))
        return NULL;
    for (int k = 0; k < self->n_out; k++) {
        PyObject *array = is_tuple ? PyTuple_GET_ITEM(out_argument, k) : out_argument;
        if (!is_writable_output(self, &self->outs[k], array, batch)) return NULL;
        for (int i = 0; i < self->n_in; i++)
            if (arrays_overlap((PyArrayObject *)array, args[i])) return NULL;
        for (int i = 0; i < k; i++)
            if (arrays_overlap((PyArrayObject *)array, PyTuple_GET_ITEM(out_argument, i))) return NULL;
        out[k] = PyArray_DATA((PyArrayObject *)array);
    }
    if (!self->result || Py_IS_TYPE(out_argument, self->result)) return Py_NewRef(out_argument);
    PyObject *tuple = new_tuple(self);
    for (int k = 0; tuple && k < self->n_out; k++)
        PyTuple_SET_ITEM(tuple, k, Py_NewRef(PyTuple_GET_ITEM(out_argument, k)));
    return tuple;
}
