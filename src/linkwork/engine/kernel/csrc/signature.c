/* Call.__init__: shapes of inputs and outputs, elements with unit norm, options. */
#include "call.h"

/* Create ports from a tuple of shapes; NULL with an error if they are not valid. */
static Port *parse_shapes(Call *self, PyObject *shapes, int *count)
{
    Py_ssize_t n = PyTuple_GET_SIZE(shapes);
    Port *ports = calloc((size_t)n + 1, sizeof(Port));
    if (!ports) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *shape = PyTuple_GET_ITEM(shapes, k);
        if (!PyTuple_Check(shape)) goto fail;
        Py_ssize_t axes = PyTuple_GET_SIZE(shape);
        if (axes > MOST_AXES) self->is_simple = 0;
        ports[k].axes = axes > MOST_AXES ? 0 : (int)axes;
        ports[k].size = 1;
        for (Py_ssize_t i = 0; i < axes; i++) {
            npy_intp length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
            if (length < 0 || length > NPY_MAX_INT) goto fail;
            if (axes <= MOST_AXES) ports[k].shape[i] = length;
            ports[k].size *= length;
            if (ports[k].size > NPY_MAX_INT) goto fail;
        }
    }
    *count = (int)n;
    return ports;
fail:
    free(ports);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "expected shapes as tuples of non-negative integers");
    return NULL;
}

/* Read the spans of elements with unit norm; -1 with an error if they are not valid. */
static int parse_unit_norms(Call *self, PyObject *spans)
{
    Py_ssize_t n = PyTuple_GET_SIZE(spans);
    self->unit_norms = calloc((size_t)n + 1, sizeof(UnitNorm));
    if (!self->unit_norms) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < n; k++) {
        UnitNorm *unit = &self->unit_norms[k];
        if (!PyTuple_Check(PyTuple_GET_ITEM(spans, k))) {
            PyErr_SetString(PyExc_TypeError, "unit_norms: expected tuples");
            return -1;
        }
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(spans, k), "inn", &unit->input, &unit->offset,
                              &unit->count))
            return -1;
        npy_intp size = unit->input >= 0 && unit->input < self->n_in
            ? self->ins[unit->input].size : -1;
        if (unit->offset < 0 || unit->count < 1 || unit->count > size
            || unit->offset > size - unit->count) {
            PyErr_SetString(PyExc_ValueError, "unit_norms: a span is outside of its input");
            return -1;
        }
    }
    self->n_unit_norms = (int)n;
    return 0;
}

void free_ports(Call *self)
{
    free(self->ins);
    free(self->outs);
    free(self->unit_norms);
    self->ins = self->outs = NULL;
    self->unit_norms = NULL;
    self->n_in = self->n_out = self->n_unit_norms = 0;
}

int call_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    Call *self = (Call *)object;
    static char *names[] = {"in_shapes", "out_shapes", "unit_norms", "norm_limits",
                            "single_precision", "check_inputs", "check_outputs", "small_matrix", "result",
                            "slow", NULL};
    PyObject *inputs, *outputs, *spans, *result, *slow;
    double noise, tolerance;
    int single, check_inputs, check_outputs, small_matrix;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!(dd)pppiOO", names, &PyTuple_Type, &inputs,
                                     &PyTuple_Type, &outputs, &PyTuple_Type, &spans, &noise,
                                     &tolerance, &single, &check_inputs, &check_outputs,
                                     &small_matrix, &result, &slow))
        return -1;
    if (self->slow) {  /* after parsing, since `__float__` and `__bool__` of arguments run Python code */
        PyErr_SetString(PyExc_RuntimeError, "a Call can be initialized only once");
        return -1;
    }
    free_ports(self);
    if (result != Py_None
        && !(PyType_Check(result) && PyType_IsSubtype((PyTypeObject *)result, &PyTuple_Type)
             && PyTuple_GET_SIZE(outputs) > 1)) {
        PyErr_SetString(PyExc_TypeError, "result: expected a subclass of tuple, for several outputs");
        return -1;
    }
    if (PyTuple_GET_SIZE(outputs) < 1) {
        PyErr_SetString(PyExc_ValueError, "out_shapes: expected at least one output");
        return -1;
    }
    if (PyObject_TypeCheck(slow, call_type)) {
        PyErr_SetString(PyExc_TypeError, "slow: expected a callable that is not a Call");
        return -1;
    }
    self->is_simple = 1;
    self->check_inputs = check_inputs;
    self->check_outputs = check_outputs;
    self->small_matrix = small_matrix;
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->item = single ? sizeof(float) : sizeof(double);
    self->noise = noise;
    self->tolerance = tolerance;
    self->ins = parse_shapes(self, inputs, &self->n_in);
    if (!self->ins) return -1;
    self->outs = parse_shapes(self, outputs, &self->n_out);
    if (!self->outs || parse_unit_norms(self, spans) < 0) return -1;
    if (result != Py_None) self->result = (PyTypeObject *)Py_NewRef(result);
    self->slow = Py_NewRef(slow);  /* last: it marks the Call as initialized */
    return 0;
}
