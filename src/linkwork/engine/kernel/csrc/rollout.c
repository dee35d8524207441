/* Rollouts: the outputs of a step are the first inputs of the next step.
 *
 * The rows of a batch are computed in tiles that stay in the cache for all steps. A frame contains the
 * states of a tile at one time, one state after the other, each with contiguous rows. Frames of several
 * steps are gathered before they are written to the results, where the steps of a row are contiguous:
 * writing each row of a step to another page would be slow.
 *
 * Backwards, the code of the step's vector-Jacobian product (vjp) runs from the last step to the first. It
 * needs the state before each step: from arrays of the caller, or from frames that the thread stores. If
 * all frames would take too much memory, only those at the start of each segment are stored (checkpoints),
 * and those of one segment at a time are computed again.
 *
 * Unit norms of states are restored before each step, even if they are far from 1. The derivative with
 * respect to an element that was divided by its norm is divided by that norm as well.
 */

#include "blocks.h"
#include "rollout_tile.h"
#include "threads.h"

#define TILE_ROWS 64                     /* maximum rows of a tile */
#define TILE_BYTES ((size_t)12 << 10)    /* maximum size of states and inputs of a tile at one time */
#define BACK_TILE_BYTES ((size_t)48 << 10)  /* the same backwards, with cotangents */
#define STAGED_BYTES ((size_t)192 << 10) /* maximum size of the frames that are written together */
#define STAGED_STEPS 64                  /* maximum number of these frames */
#define MOST_STEPS (PY_SSIZE_T_MAX / 2)  /* so that the number of steps plus one does not overflow */

/* Compute all steps of a tile forwards; returns the status. */
static int roll_tile(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state)
{
    uint64_t mode = enter_usual_mode();
    Tile tile = make_tile(job, start, rows, block, state);
    Roll *roll = tile.roll;
    char *copy = tile.frames, *first = copy + roll->frame;
    int status = DONE;
    read_frame(&tile, roll->starts, 0, first);
    if (!roll->is_final || roll->steps == 0) write_frame(&tile, roll->results, 0, first);
    for (npy_intp t = 0; t < roll->steps && status == DONE; t += roll->staged) {
        npy_intp left = roll->steps - t, steps = left < roll->staged ? left : roll->staged;
        char *frame = first;
        for (npy_intp i = 0; i < steps && status == DONE; i++, frame += roll->frame) {
            step_frame(&tile, t + i, normalized_frame(&tile, frame, copy), frame + roll->frame);
            status = check_progress(&tile);
        }
        if (status != DONE) break;
        if (!roll->is_final) write_states(&tile, t + 1, steps, first + roll->frame);
        else if (steps == left) write_frame(&tile, roll->results, 0, frame);
        memcpy(first, frame, roll->frame);
    }
    if (roll->is_large) end_of_stream();
    leave_usual_mode(mode);
    return status;
}

/* Compute one step of a tile backwards, from the cotangents after it to those before it. */
static void step_back(const Tile *tile, npy_intp time, char *frame, char *copy, char *after,
                      char *before, char *products)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call, *back = roll->back.call;
    char *unit = normalized_frame(tile, frame, copy);
    point_inputs(tile, time, unit);
    for (int k = 0; k < roll->n_states; k++) {
        tile->in[self->n_in + k] = after + roll->state_offset[k];
        tile->strides[self->n_in + k] = self->ins[k].size;
        tile->out[k] = before + roll->state_offset[k];
    }
    for (int k = roll->n_states; k < back->n_out; k++)
        tile->out[k] = products + roll->gradient_offset[k - roll->n_states];
    compute_rows(&roll->back, tile->in, tile->out, tile->strides, tile->rows, tile->workspace);
    if (unit != frame) divide_frame(tile, frame, before);
    for (int k = roll->n_states; k < back->n_out; k++) {
        const Track *track = &roll->gradients[k];
        if (roll->sums[k])
            add_strided(back, rows_at(tile, track, 0), track->row,
                        products + roll->gradient_offset[k - roll->n_states],
                        bytes_of(back, &back->outs[k]), back->outs[k].size, tile->rows);
    }
}

/* Compute the frames at the start of each segment, from the first; returns the status. */
static int make_checkpoints(Tile *tile, char *checkpoints, char *copy, char *scratch)
{
    const Roll *roll = tile->roll;
    int status = DONE;
    read_frame(tile, roll->starts, 0, checkpoints);
    for (npy_intp s = 0; s + 1 < roll->segments; s++) {
        char *now = checkpoints + (size_t)s * roll->frame, *last = now + roll->frame;
        for (npy_intp t = 0; t < roll->segment && status == DONE; t++) {
            char *unit = normalized_frame(tile, now, copy);
            char *next = t + 1 == roll->segment ? last : scratch + (size_t)(t % 2) * roll->frame;
            step_frame(tile, s * roll->segment + t, unit, next);
            now = next;
            status = check_progress(tile);
        }
    }
    return status;
}

/* Compute all steps of a tile backwards; returns the status. */
static int roll_tile_back(Job *job, npy_intp start, npy_intp rows, char *block,
                          PyThreadState **state)
{
    uint64_t mode = enter_usual_mode();
    Tile tile = make_tile(job, start, rows, block, state);
    Roll *roll = tile.roll;
    char *after = tile.frames, *before = after + roll->frame, *copy = before + roll->frame;
    char *scratch = copy + roll->frame, *products = scratch + 2 * roll->frame;
    int has_states = roll->states[0].data != NULL, status = DONE;
    char *frames = products + (size_t)roll->staged * roll->gradient_bytes;
    npy_intp first_product = roll->staged;  /* products from this index on are not written yet */
    char *checkpoints = has_states ? NULL : frames + (size_t)roll->segment * roll->frame;
    memset(after, 0, roll->frame);
    add_to_frame(&tile, roll->cotangents, roll->steps, after);
    add_to_frame(&tile, roll->finals, 0, after);
    if (!has_states) status = make_checkpoints(&tile, checkpoints, copy, scratch);
    for (npy_intp s = roll->segments - 1; s >= 0 && status == DONE; s--) {
        npy_intp first = s * roll->segment, last = first + roll->segment;
        if (last > roll->steps) last = roll->steps;
        if (!has_states) memcpy(frames, checkpoints + (size_t)s * roll->frame, roll->frame);
        for (npy_intp t = first; !has_states && t + 1 < last && status == DONE; t++) {
            char *frame = frames + (size_t)(t - first) * roll->frame;
            step_frame(&tile, t, normalized_frame(&tile, frame, copy), frame + roll->frame);
            status = check_progress(&tile);
        }
        for (npy_intp t = last - 1; t >= first && status == DONE; t--) {
            char *frame = has_states ? scratch : frames + (size_t)(t - first) * roll->frame;
            if (has_states) read_frame(&tile, roll->states, t, frame);
            char *product = products + (size_t)--first_product * roll->gradient_bytes;
            step_back(&tile, t, frame, copy, after, before, product);
            if (first_product == 0 || t == 0) {
                write_products(&tile, t, roll->staged - first_product, product);
                first_product = roll->staged;
            }
            add_to_frame(&tile, roll->cotangents, t, before);
            char *swapped = after;
            after = before;
            before = swapped;
            status = check_progress(&tile);
        }
    }
    if (status == DONE) write_frame(&tile, roll->gradients, 0, after);
    if (roll->is_large) end_of_stream();
    leave_usual_mode(mode);
    return status;
}

/* Set the offsets of the rows of ports, aligned to cache lines; returns the total bytes. */
static size_t set_offsets(const Call *self, const Port *ports, int count, npy_intp rows,
                          size_t *offsets)
{
    size_t bytes = 0;
    for (int k = 0; k < count; k++) {
        offsets[k] = bytes;
        bytes += round_up((size_t)(rows * bytes_of(self, &ports[k])));
    }
    return bytes;
}

/* Set the size of tiles, and the layout of the block of a thread; 0 if its size overflows. */
static int plan_roll(Roll *roll, size_t most_bytes)
{
    Job *job = &roll->job;
    const Call *self = job->call, *back = roll->back.call;
    npy_intp row_bytes = 1, width = job->code->width;
    size_t workspace = job->code->bytes;
    int n_out = back && back->n_out > roll->n_states ? back->n_out : roll->n_states;
    for (int k = 0; k < self->n_in; k++) row_bytes += bytes_of(self, &self->ins[k]);
    for (int k = 0; k < roll->n_states; k++) row_bytes += bytes_of(self, &self->ins[k]);
    for (int k = 0; back && k < back->n_out; k++) row_bytes += bytes_of(back, &back->outs[k]);
    if (back && roll->back.code->width > width) width = roll->back.code->width;
    if (back && roll->back.code->bytes > workspace) workspace = roll->back.code->bytes;
    npy_intp rows = (npy_intp)(back ? BACK_TILE_BYTES : TILE_BYTES) / row_bytes;
    rows = round_to_width(rows < TILE_ROWS ? rows : TILE_ROWS, 4 * width);
    if (rows > job->rows) rows = round_to_width(job->rows + width - 1, width);
    job->chunk = job->fitting = rows;
    roll->frame = set_offsets(self, self->ins, roll->n_states, rows, roll->state_offset);
    job->pointers_offset = round_up(workspace);
    job->buffers_offset = job->pointers_offset
        + round_up((size_t)(2 * (self->n_in + roll->n_states) + n_out + 1) * sizeof(npy_int64));
    roll->gradient_bytes = !back ? 0
        : set_offsets(back, back->outs + roll->n_states, back->n_out - roll->n_states, rows,
                      roll->gradient_offset);
    roll->staged = (npy_intp)(STAGED_BYTES / ((back ? roll->gradient_bytes : roll->frame) + 1));
    if (roll->staged > STAGED_STEPS) roll->staged = STAGED_STEPS;
    if (roll->staged > roll->steps) roll->staged = roll->steps;
    if (roll->staged < 1) roll->staged = 1;
    job->bytes = job->buffers_offset + (size_t)(roll->staged + 2) * roll->frame;
    if (!back) return 1;
    int has_states = roll->states[0].data != NULL;
    roll->segment = roll->steps > 0 ? roll->steps : 1;
    if (!has_states && (size_t)roll->steps > most_bytes / (roll->frame + 1))
        roll->segment = (npy_intp)ceil(sqrt((double)roll->steps));
    roll->segments = (roll->steps + roll->segment - 1) / roll->segment;
    size_t stored = has_states ? 0 : (size_t)(roll->segment + roll->segments + 1);
    if (stored > SIZE_MAX / 4 / (roll->frame + 1)) return 0;
    job->bytes = job->buffers_offset + (6 + stored) * roll->frame
        + (size_t)roll->staged * roll->gradient_bytes;
    return 1;
}

/* Run a rollout without the GIL, on several threads if it is enough work; returns the status. */
static int run_roll(Roll *roll, size_t most_bytes)
{
    Job *job = &roll->job;
    if (job->rows == 0) return DONE;
    if (!plan_roll(roll, most_bytes)) return NO_MEMORY;
    Block block = take_block(job->bytes);
    if (!block.start) return NO_MEMORY;
    npy_intp most = (job->rows + job->code->width - 1) / job->code->width;
    double work = job->code->cost + (roll->back.code ? roll->back.code->cost : 0.0);
    if ((double)job->rows * (double)roll->steps * work <= SHARED_WORK) job->threads = 1;
    if (job->threads == 0) {
        read_environment();
        job->threads = default_threads();
    }
    if (job->threads > most) job->threads = (int)most;
    job->status = DONE;
    job->next = 0;
    PyThreadState *state = PyEval_SaveThread();
    run_on_threads(job, block.start, &state);
    PyEval_RestoreThread(state);
    give_block(block);
    return job->status;
}

/* The methods of `Call`. */

/* Read an array (rows, steps, size); 0 if it is not such an array. */
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

/* Read a tuple of such arrays, one for each port; 0 if one of them is not valid. */
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

static int is_missing(PyObject *values, int count)
{
    return PyTuple_GET_SIZE(values) == 0 && count > 0;
}

/* The number of steps of an array: `steps`, or 1. */
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

/* Return whether a Call can be a step, and has code. */
static int is_step(const Call *self)
{
    return self->slow && self->code && self->n_out <= self->n_in
        && ports_agree(self->ins, self->outs, self->n_out);
}

/* Return whether `back` is the vjp of a step with respect to its states and possibly other inputs, and has
   code. */
static int is_vjp(const Call *self, const Call *back)
{
    return back->slow && back->code && back->type == self->type
        && back->n_in == self->n_in + self->n_out && back->n_out >= self->n_out
        && ports_agree(self->ins, back->ins, self->n_in)
        && ports_agree(self->outs, back->ins + self->n_in, self->n_out)
        && ports_agree(self->outs, back->outs, self->n_out);
}

static PyObject *roll_result(int status)
{
    if (status == INTERRUPTED) return NULL;
    if (status == NO_MEMORY) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *reject_arguments(void)
{
    PyErr_SetString(PyExc_ValueError, "rollout: the arguments do not match the function");
    return NULL;
}

/* Allocate the arrays that a Roll points to; 0 if there is no memory. */
static int allocate_tracks(Roll *roll, int n_back)
{
    size_t states = (size_t)roll->n_states, ins = (size_t)roll->job.call->n_in;
    size_t outs = (size_t)n_back + 1;
    char *memory = calloc(1, (6 * states + ins + outs) * sizeof(Track)
                             + (states + outs) * sizeof(size_t) + outs);
    if (!memory) return 0;
    roll->starts = (Track *)memory;
    roll->results = roll->starts + states;
    roll->states = roll->results + states;
    roll->cotangents = roll->states + states;
    roll->finals = roll->cotangents + states;
    roll->others = roll->finals + states;
    roll->gradients = roll->others + ins;
    roll->state_offset = (size_t *)(roll->gradients + outs + states);
    roll->gradient_offset = roll->state_offset + states;
    roll->sums = (char *)(roll->gradient_offset + outs);
    return 1;
}

/* _roll(starts, others, results, rows, steps, threads): arrays of (rows, steps, size) each; `starts` have one
   step, and so have `results` if only the final states are computed. */
PyObject *call_roll(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable;
    PyObject *starts, *others, *results, *threads_argument;
    Py_ssize_t rows, steps;
    if (!PyArg_ParseTuple(args, "O!O!O!nnO", &PyTuple_Type, &starts, &PyTuple_Type, &others,
                          &PyTuple_Type, &results, &rows, &steps, &threads_argument))
        return NULL;
    int threads = read_threads(threads_argument), n = self->n_out;
    if (!is_step(self) || rows < 0 || steps < 0 || steps > MOST_STEPS || threads < 0)
        return reject_arguments();
    Roll roll = {.job = {.call = self, .rows = rows, .threads = threads, .chunk_function = roll_tile},
                 .steps = steps, .n_states = n};
    if (!allocate_tracks(&roll, 0)) return PyErr_NoMemory();
    npy_intp result_steps = steps_of(results, 0, steps + 1);
    roll.is_final = result_steps == 1;
    int is_valid = read_tracks(self, starts, self->ins, n, rows, 1, 0, roll.starts)
        && read_tracks(self, others, self->ins + n, self->n_in - n, rows, steps, 0, roll.others)
        && read_tracks(self, results, self->outs, n, rows, result_steps, 1, roll.results);
    int status = DONE;
    if (is_valid) {
        size_t result_bytes = 0;
        for (int k = 0; k < n; k++)
            result_bytes += (size_t)PyArray_NBYTES((PyArrayObject *)PyTuple_GET_ITEM(results, k));
        roll.is_large = result_bytes > STREAMED_BYTES;
        roll.job.code = hold_code(self->code);
        status = run_roll(&roll, 0);
        release_code(roll.job.code);
    }
    free(roll.starts);
    return is_valid ? roll_result(status) : reject_arguments();
}

/* _roll_back(vjp, starts, others, states, cotangents, finals, gradients, rows, steps, threads,
   most_bytes): states, cotangents and finals may be empty. */
PyObject *call_roll_back(PyObject *callable, PyObject *args)
{
    Call *self = (Call *)callable, *back;
    PyObject *starts, *others, *states, *cotangents, *finals, *gradients, *threads_argument;
    Py_ssize_t rows, steps, most_bytes;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O!nnOn", call_type, &back, &PyTuple_Type, &starts,
                          &PyTuple_Type, &others, &PyTuple_Type, &states, &PyTuple_Type,
                          &cotangents, &PyTuple_Type, &finals, &PyTuple_Type, &gradients, &rows,
                          &steps, &threads_argument, &most_bytes))
        return NULL;
    int threads = read_threads(threads_argument), n = self->n_out;
    if (!is_step(self) || !is_vjp(self, back) || rows < 0 || steps < 0 || steps > MOST_STEPS
        || threads < 0 || most_bytes < 0 || PyTuple_GET_SIZE(gradients) != back->n_out)
        return reject_arguments();
    Roll roll = {.job = {.call = self, .rows = rows, .threads = threads, .chunk_function = roll_tile_back},
                 .back = {.call = back}, .steps = steps, .n_states = n};
    if (!allocate_tracks(&roll, back->n_out)) return PyErr_NoMemory();
    int is_valid = read_tracks(self, starts, self->ins, n, rows, 1, 0, roll.starts)
        && read_tracks(self, others, self->ins + n, self->n_in - n, rows, steps, 0, roll.others)
        && (is_missing(states, n)
            || read_tracks(self, states, self->ins, n, rows, steps + 1, 0, roll.states))
        && (is_missing(cotangents, n)
            || read_tracks(self, cotangents, self->ins, n, rows, steps + 1, 0, roll.cotangents))
        && (is_missing(finals, n)
            || read_tracks(self, finals, self->ins, n, rows, 1, 0, roll.finals));
    for (int k = 0; is_valid && k < back->n_out; k++) {
        npy_intp gradient_steps = k < n ? 1 : steps_of(gradients, k, steps);
        roll.sums[k] = k >= n && gradient_steps == 1 && steps != 1;
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(gradients, k);
        is_valid = read_track(back, (PyObject *)array, rows, gradient_steps, back->outs[k].size, 1,
                              &roll.gradients[k]);
        if (is_valid && (size_t)PyArray_NBYTES(array) > STREAMED_BYTES) roll.is_large = 1;
    }
    int status = DONE;
    if (is_valid) {
        roll.job.code = hold_code(self->code);
        roll.back.code = hold_code(back->code);
        status = run_roll(&roll, (size_t)most_bytes);
        release_code(roll.back.code);
        release_code(roll.job.code);
    }
    free(roll.starts);
    return is_valid ? roll_result(status) : reject_arguments();
}
