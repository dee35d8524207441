/* Philox 4x32 with 10 rounds, as `linkwork/envs/random.py` computes it with NumPy, with the same bits. */
#include "philox.h"

static void block(uint64_t key, uint32_t x[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)0xD2511F53u * x[0], second = (uint64_t)0xCD9E8D57u * x[2];
        x[0] = (uint32_t)(second >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)second;
        x[2] = (uint32_t)(first >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)first;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* philox(out, counters): fill `out` (rows, n) with numbers in (0, 1). Each row of `counters` (rows, 4) has the
   key, and the row, episode and step; the fourth counter is the index of a block of four numbers. */
PyObject *module_philox(PyObject *module, PyObject *args)
{
    (void)module;
    PyArrayObject *out, *counters;
    if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &out, &PyArray_Type, &counters)) return NULL;
    if (!PyArray_CHKFLAGS(out, NPY_ARRAY_CARRAY) || !PyArray_CHKFLAGS(counters, NPY_ARRAY_CARRAY_RO)
        || PyArray_TYPE(out) != NPY_DOUBLE || PyArray_TYPE(counters) != NPY_UINT64
        || PyArray_NDIM(out) != 2 || PyArray_NDIM(counters) != 2 || PyArray_DIM(counters, 1) != 4
        || PyArray_DIM(counters, 0) != PyArray_DIM(out, 0)) {
        PyErr_SetString(PyExc_ValueError, "philox: expected (rows, n) of float64, (rows, 4) of uint64");
        return NULL;
    }
    npy_intp rows = PyArray_DIM(out, 0), n = PyArray_DIM(out, 1);
    double *number = PyArray_DATA(out);
    const uint64_t *counter = PyArray_DATA(counters);
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp row = 0; row < rows; row++, counter += 4)
        for (npy_intp start = 0; start < n; start += 4) {
            uint32_t x[4] = {(uint32_t)counter[1], (uint32_t)counter[2], (uint32_t)counter[3],
                             (uint32_t)(start / 4)};
            block(counter[0], x);
            for (npy_intp k = start; k < n && k < start + 4; k++) *number++ = (x[k - start] + 0.5) * 0x1p-32;
        }
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}
