/* The type `Call`: calls machine code with NumPy arrays.
 *
 * A Call has the shapes of its inputs and outputs. One of three functions handles a call:
 *
 *   call_row      one row of arrays that need no conversion: most calls
 *   call_rows     batches, and rows that are converted or normalized first
 *   slow          a Python callable for all other calls; it also raises the errors
 *
 * The module requires the GIL, which guards the reference counts of `Code`, the spare blocks of
 * memory, and the code that `_use` replaces. It is released only while the rows of a batch are computed.
 *
 * Lifetime: machine code stays in memory as long as a `Code` references it, by `keep`. The Call, every call
 * that runs it and `Shared` (shared.h) hold references to the `Code`. If the garbage collector clears a
 * Call, the Call has no code, and the code is freed when the last call that runs it has ended. A Call that
 * is shared with native threads is never freed.
 */
#include "call.h"

#include "blocks.h"
#include "checks.h"
#include "chunks.h"
#include "inputs.h"
#include "outputs.h"
#include "threads.h"
#include "shared.h"

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))  /* separates its stack frame from the caller's */
#else
#define NOINLINE __declspec(noinline)
#endif

/* Work of a batch, in the unit of `work_of_row`, which Python computes if there is only code of one row: it
   may wait for the code of several rows (`Kernel.prepare`). About 0.05 s of quick code. */
#define LONG_WORK 5e7

/* Return whether a value is one row that compiled code can read without a copy. */
static int is_direct_row(const Call *self, const Port *port, PyObject *value)
{
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != self->type || !PyArray_ISCARRAY_RO(array)
        || PyArray_NDIM(array) != port->axes)
        return 0;
    for (int i = 0; i < port->axes; i++)
        if (PyArray_DIM(array, i) != port->shape[i]) return 0;
    return 1;
}

/* Call with one row. NULL, without an error, if arguments have to be converted or normalized. */
static PyObject *call_row(Call *self, PyObject *const *args, PyObject *out_argument)
{
    static const Batch no_batch = {0, 1, 1, {0}};
    void *in[FEW_PORTS], *out[FEW_PORTS], *workspace = NULL;
    npy_int64 strides[FEW_PORTS + 1] = {0};
    Block block = {NULL, NULL, 0};
    if (self->n_in > FEW_PORTS || self->n_out > FEW_PORTS) return NULL;
    for (int k = 0; k < self->n_in; k++) {
        if (!is_direct_row(self, &self->ins[k], args[k])) return NULL;
        in[k] = PyArray_DATA((PyArrayObject *)args[k]);
        if (self->check_inputs && !is_finite(self, in[k], self->ins[k].size)) return NULL;
    }
    for (int k = 0; k < self->n_unit_norms; k++) {
        const UnitNorm *unit = &self->unit_norms[k];
        if (!norms_are_one(self, unit, in[unit->input], 0, 1)) return NULL;
    }
    PyObject *result = out_argument ? accept_outputs(self, out_argument, args, &no_batch, out)
                             : new_outputs(self, &no_batch, out);
    if (!result) return NULL;
    const Code *code = self->code;  /* stays valid, since no Python code runs below */
    if (!code) {
        Py_DECREF(result);
        return NULL;
    }
    if (code->one_bytes) {
        block = take_block(code->one_bytes);
        workspace = block.start;
        if (!workspace) {
            Py_DECREF(result);
            return PyErr_NoMemory();
        }
    }
    int is_valid = 1;
    code->one(in, out, strides, 1, workspace);
    if (workspace) give_block(block);
    for (int k = 0; is_valid && self->check_outputs && k < self->n_out; k++)
        is_valid = output_is_finite(self, &self->outs[k], out[k], 1, 0);
    if (!is_valid) Py_CLEAR(result);
    return result;
}

/* Run a planned job. If the Call gets faster code meanwhile, that code computes the remaining rows: it has
   the same bits. */
static void run_with_fastest_code(Job *job, Block *block)
{
    run_releasing_gil(job, block->start);
    while (job->status == NEW_CODE) {
        Code *old = job->code;
        job->code = hold_code(job->call->code ? job->call->code : old);
        release_code(old);
        plan_chunks(job);
        if (job->next == job->rows) return;
        if (reserve(block, job->bytes)) run_releasing_gil(job, block->start);
        else job->status = NO_MEMORY;
    }
}

/* Plan and run a job; returns the status. Arrays of `out` are not written if an input is rejected: if
   there are several chunks, a first pass checks all inputs. */
static int plan_and_run(Job *job, int has_out)
{
    const Call *self = job->call;
    if (job->rows == 0) return DONE;
    plan_chunks(job);
    Block block = take_block(job->bytes);
    if (!block.start) return NO_MEMORY;
    if (job->rows == 1) {
        job->status = compute_chunk(job, 0, 1, block.start);
        give_block(block);
        return job->status;
    }
    int is_one_chunk = job->rows <= job->chunk && !is_worth_sharing(job->code, job->rows);
    if (has_out && !is_one_chunk && (self->n_unit_norms || self->check_inputs)) {
        job->only_checks = 1;
        run_releasing_gil(job, block.start);
        job->only_checks = 0;
        job->is_checked = !job->has_drifted;
        job->next = 0;
        if (job->status == DONE) {
            plan_chunks(job);  /* checked inputs need no buffers, so chunks may be longer */
            if (!reserve(&block, job->bytes)) job->status = NO_MEMORY;
        }
    }
    if (job->status == DONE) run_with_fastest_code(job, &block);
    give_block(block);
    return job->status == DONE && job->has_bad_outputs ? NOT_FINITE_OUTPUT : job->status;
}

/* Find the rows of all inputs, and the batch axes; 0 if Python has to handle them. */
static int read_inputs(const Call *self, PyObject *const *args, Source *sources, double *numbers,
                       Batch *batch)
{
    batch->axes = -1;
    for (int k = 0; k < self->n_in; k++) {
        Batch input_batch;
        const Port *port = &self->ins[k];
        int is_read = PyArray_CheckExact(args[k])
            ? read_array(self, port, (PyArrayObject *)args[k], &sources[k], &input_batch)
            : read_list(self, port, args[k], numbers, &sources[k], &input_batch);
        if (!is_read || !join_batch(batch, &input_batch)) return 0;
        numbers += port->size;
    }
    return batch->axes >= 0;
}

/* Call with a batch, or with one row to convert. NULL, without an error, if Python has to handle it. */
static NOINLINE PyObject *call_rows(Call *self, PyObject *const *args, PyObject *out_argument, int threads)
{
    if (!self->code) return NULL;  /* the garbage collector may have run Python code in `call_row` */
    Job job = {.call = self, .code = hold_code(self->code), .threads = threads};
    Batch batch;
    size_t numbers = 0, result_bytes = 0;
    for (int k = 0; k < self->n_in; k++) numbers += (size_t)self->ins[k].size;
    size_t sources_bytes = round_up((size_t)self->n_in * sizeof(Source));
    size_t outs_bytes = round_up((size_t)self->n_out * sizeof(void *));
    Block block = take_block(sources_bytes + outs_bytes + numbers * sizeof(double));
    if (!block.start) {
        release_code(job.code);
        return PyErr_NoMemory();
    }
    job.sources = (Source *)block.start;
    job.outs = (void **)(block.start + sources_bytes);
    double *listed = (double *)(block.start + sources_bytes + outs_bytes);
    PyObject *result = NULL;
    if (read_inputs(self, args, job.sources, listed, &batch)
        && (job.code->many || (double)batch.rows * job.code->cost <= LONG_WORK))
        result = out_argument ? accept_outputs(self, out_argument, args, &batch, job.outs)
                       : new_outputs(self, &batch, job.outs);
    if (result) {
        for (int k = 0; k < self->n_out; k++)
            result_bytes += (size_t)(batch.rows * self->outs[k].size) * self->item;
        job.rows = batch.rows;
        job.is_large = result_bytes > STREAMED_BYTES;
        int status = plan_and_run(&job, out_argument != NULL);
        if (status != DONE) Py_CLEAR(result);
        if (status == NO_MEMORY) PyErr_NoMemory();
    }
    give_block(block);
    release_code(job.code);
    return result;
}

/* Handle a call in C. NULL, without an error, if Python has to handle it. */
static NOINLINE PyObject *call_fast(Call *self, PyObject *const *args, Py_ssize_t count,
                                    PyObject *names)
{
    PyObject *out_argument = NULL;
    int threads = 0;
    if (!self->code || !self->is_simple || count != self->n_in) return NULL;
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); k++) {
        PyObject *name = PyTuple_GET_ITEM(names, k), *value = args[count + k];
        if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
            out_argument = value == Py_None ? NULL : value;
        } else if (PyUnicode_CompareWithASCIIString(name, "threads") == 0) {
            threads = read_threads(value);
            if (threads < 0) return NULL;
        } else {
            return NULL;
        }
    }
    PyObject *result = call_row(self, args, out_argument);
    if (result || PyErr_Occurred()) return result;
    return call_rows(self, args, out_argument, threads);
}

static PyObject *call_in_usual_mode(Call *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *result = call_fast(self, args, count, names);
    if (result || PyErr_Occurred()) return result;
    if (!self->slow) {
        PyErr_SetString(PyExc_RuntimeError, "the call was not initialized");
        return NULL;
    }
    if (Py_EnterRecursiveCall(" in a compiled function")) return NULL;
    PyObject *slow = Py_NewRef(self->slow);  /* the call may free self */
    result = PyObject_Vectorcall(slow, args, (size_t)count, names);
    Py_DECREF(slow);
    Py_LeaveRecursiveCall();
    return result;
}

/* Also what Python converts, traces and normalizes is rounded as usual. */
static PyObject *call_vector(PyObject *callable, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    uint64_t mode = enter_usual_mode();
    PyObject *result = call_in_usual_mode((Call *)callable, args, PyVectorcall_NARGS(nargsf), names);
    leave_usual_mode(mode);
    return result;
}

/* Check an array of rows that Python has prepared; -1 with an error if it is not valid. */
static int prepared_rows(const Call *self, const Port *port, PyObject *value, int is_output,
                         npy_intp rows)
{
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_Check(value) && PyArray_TYPE(array) == self->type && PyArray_NDIM(array) == 2
        && (is_output ? PyArray_ISCARRAY(array) : PyArray_ISCARRAY_RO(array))
        && PyArray_DIM(array, 1) == port->size
        && (PyArray_DIM(array, 0) == rows || (PyArray_DIM(array, 0) == 1 && !is_output)))
        return 0;
    PyErr_SetString(PyExc_ValueError, "run: an array does not match the signature of the function");
    return -1;
}

/* _run(inputs, outputs, rows, threads): compute rows of arrays that Python has prepared. Returns whether
   all results are finite, or None if an input is rejected. */
static PyObject *call_run(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    PyObject *inputs, *outputs, *threads_argument;
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "O!O!nO", &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &rows,
                          &threads_argument))
        return NULL;
    int threads = read_threads(threads_argument);
    if (!self->slow || !self->code || rows < 0 || threads < 0
        || PyTuple_GET_SIZE(inputs) != self->n_in || PyTuple_GET_SIZE(outputs) != self->n_out) {
        PyErr_SetString(PyExc_ValueError, "run: the arguments do not match the function");
        return NULL;
    }
    Job job = {.call = self, .code = hold_code(self->code), .rows = rows, .threads = threads};
    size_t sources_bytes = round_up((size_t)self->n_in * sizeof(Source)), result_bytes = 0;
    Block block = take_block(sources_bytes + (size_t)self->n_out * sizeof(void *));
    if (!block.start) {
        release_code(job.code);
        return PyErr_NoMemory();
    }
    job.sources = (Source *)block.start;
    job.outs = (void **)(block.start + sources_bytes);
    int is_valid = 1;
    for (int k = 0; is_valid && k < self->n_in; k++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(inputs, k);
        is_valid = prepared_rows(self, &self->ins[k], (PyObject *)array, 0, rows) == 0;
        if (!is_valid) break;
        int is_shared = PyArray_DIM(array, 0) == 1;
        job.sources[k].data = PyArray_BYTES(array);
        job.sources[k].step = is_shared ? 0 : self->ins[k].size * (npy_intp)self->item;
        job.sources[k].type = self->type;
        job.sources[k].is_direct = 1;
    }
    for (int k = 0; is_valid && k < self->n_out; k++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(outputs, k);
        is_valid = prepared_rows(self, &self->outs[k], (PyObject *)array, 1, rows) == 0;
        if (!is_valid) break;
        job.outs[k] = PyArray_DATA(array);
        result_bytes += (size_t)PyArray_NBYTES(array);
    }
    job.is_large = result_bytes > STREAMED_BYTES;
    int status = is_valid ? plan_and_run(&job, 1) : DONE;
    give_block(block);
    release_code(job.code);
    if (!is_valid || status == INTERRUPTED) return NULL;
    if (status == NO_MEMORY) return PyErr_NoMemory();
    if (status != DONE && status != NOT_FINITE_OUTPUT) Py_RETURN_NONE;
    return PyBool_FromLong(status == DONE);
}

/* The work of a row in vector operations: arithmetic, inputs that are read, transposed and checked, outputs,
   and a constant overhead. The weights are an estimate: with 0.25 to 0.3 ns for a unit they are within 25 % of
   the measured times of five kernels (1,024 rows, one thread, 8 lanes). */
static double work_of_row(const Call *self, double operations)
{
    double inputs = 0.0, outputs = 0.0;
    for (int k = 0; k < self->n_in; k++) inputs += (double)self->ins[k].size;
    for (int k = 0; k < self->n_out; k++) outputs += (double)self->outs[k].size;
    return operations + inputs + outputs / 2.0 + 20.0;
}

/* _use(one, many, width, operations, keep): use the functions at these addresses in later calls. */
static PyObject *call_use(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    unsigned long long one, many;
    Py_ssize_t width, operations;
    PyObject *keep;
    if (!PyArg_ParseTuple(args, "KKnnO", &one, &many, &width, &operations, &keep)) return NULL;
    if (width < 1 || operations < 0 || !self->slow) {
        const char *why = self->slow ? "use: the width must be at least 1, and operations at least 0"
                                     : "the call was not initialized";
        PyErr_SetString(self->slow ? PyExc_ValueError : PyExc_RuntimeError, why);
        return NULL;
    }
    Code *code = NULL;
    if (one) {
        code = new_code(one, many, width, keep);
        if (!code) return NULL;
        code->cost = work_of_row(self, (double)operations / (double)code->width);
        code->chunk = FIRST_CHUNK;
    }
    Code *old = self->code;
    self->code = code;
    if (self->shared && code) offer_code(self, self->shared);
    release_code(old);
    Py_RETURN_NONE;
}

static int call_traverse(PyObject *object, visitproc visit, void *arg)
{
    Call *self = (Call *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->slow);
    Py_VISIT(self->result);
    if (self->code && self->code->users == 1) Py_VISIT(self->code->keep);
    return 0;
}

static int call_clear(PyObject *object)
{
    Call *self = (Call *)object;
    Code *code = self->code;
    self->code = NULL;
    release_code(code);
    Py_CLEAR(self->slow);
    Py_CLEAR(self->result);
    return 0;
}

static void call_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    call_clear(object);
    free_ports((Call *)object);
    type->tp_free(object);
    Py_DECREF(type);
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
    {"_run", call_run, METH_VARARGS,
     "_run(inputs, outputs, rows, threads): compute rows of prepared arrays; return whether all results"
     " are finite, or None if an input is rejected."},
    {"_roll", call_roll, METH_VARARGS,
     "_roll(starts, others, results, rows, steps, threads): compute a rollout."},
    {"_roll_back", call_roll_back, METH_VARARGS,
     "_roll_back(vjp, starts, others, states, cotangents, finals, gradients, rows, steps, threads,"
     " most_bytes): propagate cotangents from the last step to the first."},
    {"_use", call_use, METH_VARARGS,
     "_use(one, many, width, operations, keep): use the functions at these addresses in later calls;"
     " `operations` is their number for a row."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot call_slots[] = {
    {Py_tp_doc, "Calls a compiled function with NumPy arrays."},
    {Py_tp_new, call_new},
    {Py_tp_init, call_init},
    {Py_tp_dealloc, call_dealloc},
    {Py_tp_traverse, call_traverse},
    {Py_tp_clear, call_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, call_methods},
    {Py_tp_members, call_members},
    {0, NULL},
};

PyTypeObject *call_type;

PyType_Spec call_spec = {
    .name = "linkwork.engine.kernel._call.Call",
    .basicsize = sizeof(Call),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC
             | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = call_slots,
};
