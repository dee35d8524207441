/* Rollouts as Python calls them: the methods `_roll` and `_roll_back` of a Call. */
#ifndef LINKWORK_ROLL_CALLS_H
#define LINKWORK_ROLL_CALLS_H

#include "_rollout.h"

/* Where an array of (rows, steps, size) lies; 0 if it is not such an array. */
static int read_track(const Call *self, PyObject *value, npy_intp rows, npy_intp steps,
                      npy_intp size, int is_output, Track *track)
{
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_TYPE(array) != self->type || PyArray_NDIM(array) != 3
        || !(is_output ? PyArray_ISBEHAVED(array) : PyArray_ISBEHAVED_RO(array))
        || PyArray_DIM(array, 0) != rows || PyArray_DIM(array, 1) != steps
        || PyArray_DIM(array, 2) != size)
        return 0;
    if (PyArray_SIZE(array) > 0
        && ((size > 1 && PyArray_STRIDE(array, 2) != (npy_intp)self->item)
            || PyArray_STRIDE(array, 0) % (npy_intp)self->item))
        return 0;
    *track = (Track){PyArray_BYTES(array), PyArray_STRIDE(array, 0), PyArray_STRIDE(array, 1)};
    return 1;
}

/* The same for a tuple of arrays, one for each port, all or none of which may be missing. */
static int read_tracks(const Call *self, PyObject *values, const Port *ports, int count,
                       npy_intp rows, npy_intp steps, int is_output, Track *tracks)
{
    if (PyTuple_GET_SIZE(values) != count) return 0;
    for (int k = 0; k < count; k++)
        if (!read_track(self, PyTuple_GET_ITEM(values, k), rows, steps, ports[k].size, is_output,
                        &tracks[k]))
            return 0;
    return 1;
}

static int may_be_missing(PyObject *values, int count)
{
    return PyTuple_GET_SIZE(values) == 0 && count > 0;
}

/* Steps that an array has: `steps`, or 1. */
static npy_intp steps_of(PyObject *values, Py_ssize_t index, npy_intp steps)
{
    if (index >= PyTuple_GET_SIZE(values)) return steps;
    PyObject *value = PyTuple_GET_ITEM(values, index);
    if (!PyArray_Check(value) || PyArray_NDIM((PyArrayObject *)value) != 3) return steps;
    return PyArray_DIM((PyArrayObject *)value, 1) == 1 ? 1 : steps;
}

static int ports_agree(const Port *ports, const Port *others, int count)
{
    for (int k = 0; k < count; k++)
        if (ports[k].size != others[k].size) return 0;
    return 1;
}

/* Whether a Call can be a step with so many outputs, and has code. */
static int is_step(const Call *self)
{
    return self->slow && self->code && self->n_out <= self->n_in
        && ports_agree(self->ins, self->outs, self->n_out);
}

/* Whether `back` is the vjp of a step by its states and maybe other inputs, and has code. */
static int is_vjp(const Call *self, const Call *back)
{
    return back->slow && back->code && back->type == self->type
        && back->n_in == self->n_in + self->n_out && back->n_out >= self->n_out
        && ports_agree(self->ins, back->ins, self->n_in)
        && ports_agree(self->outs, back->ins + self->n_in, self->n_out)
        && ports_agree(self->outs, back->outs, self->n_out);
}

static PyObject *roll_ending(int status)
{
    if (status == INTERRUPTED) return NULL;
    if (status == NO_MEMORY) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *does_not_fit(void)
{
    PyErr_SetString(PyExc_ValueError, "rollout: arguments that do not fit the function");
    return NULL;
}

#define MOST_STEPS (PY_SSIZE_T_MAX / 2)  /* so that one more can be counted */

/* Memory for what a Roll points to; 0 if there is none. */
static int make_room(Roll *roll, int n_back)
{
    size_t states = (size_t)roll->n_states, ins = (size_t)roll->job.call->n_in;
    size_t outs = (size_t)n_back + 1;
    char *room = calloc(1, (6 * states + ins + outs) * sizeof(Track)
                           + (states + outs) * sizeof(size_t) + outs);
    if (!room) return 0;
    roll->starts = (Track *)room;
    roll->results = roll->starts + states;
    roll->states = roll->results + states;
    roll->cotangents = roll->states + states;
    roll->finals = roll->cotangents + states;
    roll->others = roll->finals + states;
    roll->gradients = roll->others + ins;
    roll->state_at = (size_t *)(roll->gradients + outs + states);
    roll->gradient_at = roll->state_at + states;
    roll->sums = (char *)(roll->gradient_at + outs);
    return 1;
}

/* _roll(starts, others, results, rows, steps, threads): arrays of (rows, steps, size) each; of one
   step for the starts, and for the results if only the last states are wanted. */
static PyObject *call_roll(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    PyObject *starts, *others, *results, *wanted_threads;
    Py_ssize_t rows, steps;
    if (!PyArg_ParseTuple(args, "O!O!O!nnO", &PyTuple_Type, &starts, &PyTuple_Type, &others,
                          &PyTuple_Type, &results, &rows, &steps, &wanted_threads))
        return NULL;
    int threads = read_threads(wanted_threads), n = self->n_out;
    if (!is_step(self) || rows < 0 || steps < 0 || steps > MOST_STEPS || threads < 0)
        return does_not_fit();
    Roll roll = {.job = {.call = self, .rows = rows, .threads = threads, .work = roll_tile},
                 .steps = steps, .n_states = n};
    if (!make_room(&roll, 0)) return PyErr_NoMemory();
    npy_intp kept = steps_of(results, 0, steps + 1);
    roll.is_final = kept == 1;
    int is_good = read_tracks(self, starts, self->ins, n, rows, 1, 0, roll.starts)
        && read_tracks(self, others, self->ins + n, self->n_in - n, rows, steps, 0, roll.others)
        && read_tracks(self, results, self->outs, n, rows, kept, 1, roll.results);
    int status = DONE;
    if (is_good) {
        size_t result_bytes = 0;
        for (int k = 0; k < n; k++)
            result_bytes += (size_t)PyArray_NBYTES((PyArrayObject *)PyTuple_GET_ITEM(results, k));
        roll.is_large = result_bytes > STREAMED_BYTES;
        roll.job.code = held(self->code);
        status = run_roll(&roll, 0);
        release(roll.job.code);
    }
    free(roll.starts);
    return is_good ? roll_ending(status) : does_not_fit();
}

/* _roll_back(vjp, starts, others, states, cotangents, finals, gradients, rows, steps, threads,
   most_bytes): states, cotangents and finals may be empty. */
static PyObject *call_roll_back(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable, *back;
    PyObject *starts, *others, *states, *cotangents, *finals, *gradients, *wanted_threads;
    Py_ssize_t rows, steps, most_bytes;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O!nnOn", call_type, &back, &PyTuple_Type, &starts,
                          &PyTuple_Type, &others, &PyTuple_Type, &states, &PyTuple_Type,
                          &cotangents, &PyTuple_Type, &finals, &PyTuple_Type, &gradients, &rows,
                          &steps, &wanted_threads, &most_bytes))
        return NULL;
    int threads = read_threads(wanted_threads), n = self->n_out;
    if (!is_step(self) || !is_vjp(self, back) || rows < 0 || steps < 0 || steps > MOST_STEPS
        || threads < 0 || most_bytes < 0 || PyTuple_GET_SIZE(gradients) != back->n_out)
        return does_not_fit();
    Roll roll = {.job = {.call = self, .rows = rows, .threads = threads, .work = roll_tile_back},
                 .back = {.call = back}, .steps = steps, .n_states = n};
    if (!make_room(&roll, back->n_out)) return PyErr_NoMemory();
    int is_good = read_tracks(self, starts, self->ins, n, rows, 1, 0, roll.starts)
        && read_tracks(self, others, self->ins + n, self->n_in - n, rows, steps, 0, roll.others)
        && (may_be_missing(states, n)
            || read_tracks(self, states, self->ins, n, rows, steps + 1, 0, roll.states))
        && (may_be_missing(cotangents, n)
            || read_tracks(self, cotangents, self->ins, n, rows, steps + 1, 0, roll.cotangents))
        && (may_be_missing(finals, n)
            || read_tracks(self, finals, self->ins, n, rows, 1, 0, roll.finals));
    for (int k = 0; is_good && k < back->n_out; k++) {
        npy_intp kept = k < n ? 1 : steps_of(gradients, k, steps);
        roll.sums[k] = k >= n && kept == 1 && steps != 1;
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(gradients, k);
        is_good = read_track(back, (PyObject *)array, rows, kept, back->outs[k].size, 1,
                             &roll.gradients[k]);
        if (is_good && (size_t)PyArray_NBYTES(array) > STREAMED_BYTES) roll.is_large = 1;
    }
    int status = DONE;
    if (is_good) {
        roll.job.code = held(self->code);
        roll.back.code = held(back->code);
        status = run_roll(&roll, (size_t)most_bytes);
        release(roll.back.code);
        release(roll.job.code);
    }
    free(roll.starts);
    return is_good ? roll_ending(status) : does_not_fit();
}

#endif
