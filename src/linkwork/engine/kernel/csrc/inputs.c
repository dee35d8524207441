/* Arguments of a call: the location of the rows of an input, and their conversion.
 *
 * This file handles arrays of any memory layout and most numeric types, flat lists and tuples of numbers,
 * and single numbers. Python handles all other arguments, and all errors.
 */
#include "inputs.h"

/* Return whether the elements of a row are contiguous, in C order. */
static int row_is_contiguous(const Port *port, const npy_intp *strides, npy_intp item)
{
    npy_intp expected = item;
    for (int i = port->axes - 1; i >= 0; i--) {
        if (port->shape[i] != 1 && strides[i] != expected) return 0;
        expected *= port->shape[i];
    }
    return 1;
}

/* Return the bytes from one row of a batch to the next; set `is_even` to 0 if they are not evenly spaced. */
static npy_intp row_step(PyArrayObject *array, int axes, int *is_even)
{
    npy_intp step = 0, expected = 0;
    for (int i = axes - 1; i >= 0; i--) {
        npy_intp length = PyArray_DIM(array, i), stride = PyArray_STRIDE(array, i);
        if (length == 1) continue;
        if (expected == 0) step = stride;
        else if (stride != expected) *is_even = 0;
        expected = stride * length;
        if (stride == 0) *is_even &= axes == 1;  /* broadcast: Python handles several axes */
    }
    return step;
}

/* The numeric types that are converted: USE(type number, C type) for each. */
#define NUMBER_TYPES(USE)                                                                   \
    USE(NPY_BOOL, npy_bool) USE(NPY_BYTE, npy_byte) USE(NPY_UBYTE, npy_ubyte)               \
    USE(NPY_SHORT, npy_short) USE(NPY_USHORT, npy_ushort) USE(NPY_INT, npy_int)             \
    USE(NPY_UINT, npy_uint) USE(NPY_LONG, npy_long) USE(NPY_ULONG, npy_ulong)               \
    USE(NPY_LONGLONG, npy_longlong) USE(NPY_ULONGLONG, npy_ulonglong)                       \
    USE(NPY_FLOAT, npy_float) USE(NPY_DOUBLE, npy_double)

static int is_number_type(int type)
{
#define CASE(code, kind) case code:
    switch (type) { NUMBER_TYPES(CASE) return 1; }
    return 0;
}

int read_array(const Call *self, const Port *port, PyArrayObject *array, Source *source,
               Batch *input_batch)
{
    int type = PyArray_TYPE(array), axes = PyArray_NDIM(array) - port->axes, is_even = 1;
    if (axes < 0 || axes > MOST_AXES || !is_number_type(type) || PyArray_ISBYTESWAPPED(array))
        return 0;
    for (int i = 0; i < port->axes; i++) {
        if (PyArray_DIM(array, axes + i) != port->shape[i]) return 0;
        source->strides[i] = PyArray_STRIDE(array, axes + i);
    }
    input_batch->axes = axes;
    input_batch->rows = 1;
    for (int i = 0; i < axes; i++) input_batch->rows *= input_batch->shape[i] = PyArray_DIM(array, i);
    input_batch->is_single = input_batch->rows == 1;
    source->data = PyArray_BYTES(array);
    source->step = row_step(array, axes, &is_even);
    source->type = type;
    source->is_direct = type == self->type && PyArray_ISALIGNED(array)
                        && source->step % (npy_intp)self->item == 0
                        && row_is_contiguous(port, source->strides, (npy_intp)self->item);
    return is_even || input_batch->rows == 0;
}

/* Convert a Python number to a double; 0 for other types. Runs no Python code. */
static int read_number(PyObject *value, double *number)
{
    if (PyFloat_Check(value)) {
        *number = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    if (!PyLong_CheckExact(value)) return 0;
    *number = PyLong_AsDouble(value);
    if (*number == -1.0 && PyErr_Occurred()) {  /* too large */
        PyErr_Clear();
        return 0;
    }
    return 1;
}

int read_list(const Call *self, const Port *port, PyObject *value, double *numbers, Source *source,
              Batch *input_batch)
{
    if (port->axes == 0) {
        if (!read_number(value, numbers)) return 0;
    } else {
        if (port->axes != 1 || !(PyList_CheckExact(value) || PyTuple_CheckExact(value))
            || PySequence_Fast_GET_SIZE(value) != port->size)
            return 0;
        PyObject **items = PySequence_Fast_ITEMS(value);
        for (npy_intp i = 0; i < port->size; i++)
            if (!read_number(items[i], &numbers[i])) return 0;
        source->strides[0] = sizeof(double);
    }
    input_batch->axes = 0;
    input_batch->rows = input_batch->is_single = 1;
    source->data = (const char *)numbers;
    source->step = 0;
    source->type = NPY_DOUBLE;
    source->is_direct = self->type == NPY_DOUBLE;
    return 1;
}

int join_batch(Batch *batch, const Batch *input_batch)
{
    if (batch->axes < 0 || (batch->is_single && input_batch->axes >= batch->axes)) {
        *batch = *input_batch;
        return 1;
    }
    if (input_batch->is_single) return input_batch->axes <= batch->axes;
    if (input_batch->axes != batch->axes) return 0;
    return memcmp(input_batch->shape, batch->shape, (size_t)input_batch->axes * sizeof(npy_intp)) == 0;
}

/* Convert elements `first` to `first + count` of each row to another type. If rows are closer together than
   the elements of a row, as in Fortran order, tiles of 32 rows are transposed. */
#define LOAD(from, at) from number; memcpy(&number, (at), sizeof number);
#define COPY_ROWS(from, to)                                                                 \
    if (port->axes > 1) {                                                                   \
        for (npy_intp row = 0; row < rows; row++)                                           \
            for (npy_intp i = 0; i < count; i++) {                                          \
                LOAD(from, data + row * step + nested_offset(port, source, first + i))      \
                target[row * count + i] = (to)number;                                       \
            }                                                                               \
    } else if (inner == sizeof(from)) {                                                     \
        for (npy_intp row = 0; row < rows; row++)                                           \
            for (npy_intp i = 0; i < count; i++) {                                          \
                LOAD(from, data + row * step + (first + i) * (npy_intp)sizeof(from))        \
                target[row * count + i] = (to)number;                                       \
            }                                                                               \
    } else {                                                                                \
        npy_intp tile = labs((long)step) < labs((long)inner) ? 32 : 1;                      \
        for (npy_intp start = 0; start < rows; start += tile)                               \
            for (npy_intp i = 0; i < count; i++)                                            \
                for (npy_intp row = start; row < rows && row < start + tile; row++) {       \
                    LOAD(from, data + row * step + (first + i) * inner)                     \
                    target[row * count + i] = (to)number;                                   \
                }                                                                           \
    }
#define COPY_TO_DOUBLE(code, kind) case code: COPY_ROWS(kind, double) break;
#define COPY_TO_FLOAT(code, kind) case code: COPY_ROWS(kind, float) break;

/* Return the bytes from the first element of a row to another, in a row of several axes. */
static npy_intp nested_offset(const Port *port, const Source *source, npy_intp element)
{
    npy_intp offset = 0;
    for (int i = port->axes - 1; i >= 0; i--) {
        offset += element % port->shape[i] * source->strides[i];
        element /= port->shape[i];
    }
    return offset;
}

void copy_part(const Call *self, const Port *port, const Source *source, npy_intp start,
               npy_intp rows, npy_intp first, npy_intp count, void *memory)
{
    npy_intp step = source->step, inner = port->axes ? source->strides[port->axes - 1] : 0;
    const char *data = source->data + start * step;
    if (source->is_direct) {
        size_t bytes = (size_t)count * self->item;
        data += first * (npy_intp)self->item;
        for (npy_intp row = 0; row < rows; row++)
            memcpy((char *)memory + (size_t)row * bytes, data + row * step, bytes);
    } else if (self->type == NPY_DOUBLE) {
        double *target = memory;
        switch (source->type) { NUMBER_TYPES(COPY_TO_DOUBLE) }
    } else {
        float *target = memory;
        switch (source->type) { NUMBER_TYPES(COPY_TO_FLOAT) }
    }
}

void copy_rows(const Call *self, const Port *port, const Source *source, npy_intp start,
               npy_intp rows, void *memory)
{
    copy_part(self, port, source, start, rows, 0, port->size, memory);
}
