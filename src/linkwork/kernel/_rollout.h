/* Rollouts: the outputs of a step are its first inputs in the next one.
 *
 * The rows of a batch are taken in tiles that stay in the cache for all steps. A frame holds the
 * states of a tile at one time, one state after the other, each with contiguous rows. Frames of
 * several steps are gathered before they are written to the results, where the steps of a row are
 * neighbours: memory is slow where each row is written to another page.
 *
 * Backwards, the code of the step's vector-Jacobian product (vjp) runs from the last step to the
 * first. It needs the state before each step: from arrays that the caller gives, or from frames
 * that the thread keeps. If all frames would take too much memory, only those at the start of each
 * segment are kept (checkpoints), and those of one segment at a time are computed again.
 *
 * Unit norms of states are restored before each step, however far they are from 1. The derivative
 * by a number that was divided by its norm is divided by that norm as well.
 */
#ifndef LINKWORK_ROLLOUT_H
#define LINKWORK_ROLLOUT_H

#include "_threads.h"

#define TILE_ROWS 64                     /* most rows of a tile */
#define TILE_BYTES ((size_t)12 << 10)    /* of the states and inputs of a tile at one time */
#define BACK_TILE_BYTES ((size_t)48 << 10)  /* the same backwards, with cotangents */
#define STAGED_BYTES ((size_t)192 << 10) /* of the frames that are written together */
#define STAGED_STEPS 64                  /* most of them */
#define WATCHED_ROWS 64                  /* rows times steps between two looks at the clock */

typedef struct {           /* where an array of rows, steps, numbers lies */
    char *data;            /* NULL if it is not given */
    npy_intp row, time;    /* bytes from one row to the next, and from one step to the next */
} Track;

typedef struct {
    Job job;               /* the first member: what the threads know; `call` is the step */
    Job back;              /* `call` and `code` of the vjp; NULL for rollouts forwards */
    npy_intp steps;
    int n_states;
    int is_large;          /* whether results use non-temporal stores */
    int is_final;          /* whether only the last states are results */
    Track *starts, *others, *results;                  /* of states, other inputs, states */
    Track *states, *cotangents, *finals, *gradients;   /* backwards; the last are of each output */
    char *sums;            /* for each gradient: whether it is the sum over all steps */
    size_t *state_at;      /* where each state is in a frame */
    size_t *gradient_at;   /* where each output of the vjp after the states is in a buffer */
    size_t frame, gradient_bytes;
    npy_intp staged;       /* frames that are written together */
    npy_intp segment, segments;  /* steps of a segment, and their number */
} Roll;

typedef struct {           /* a tile, as the thread that works on it sees it */
    Roll *roll;
    npy_intp start, rows;
    char *workspace, *frames;
    void **in, **out;
    npy_int64 *strides;
    PyThreadState **state; /* of the calling thread; NULL in a helper */
    npy_intp unwatched;    /* rows times steps since the last look at the clock */
} Tile;

static int status_of(const Job *job)
{
#if defined(__GNUC__)
    return __atomic_load_n(&job->status, __ATOMIC_RELAXED);
#else
    return job->status;    /* no other thread changes it */
#endif
}

/* After a step: the status with which to go on or to end. The calling thread handles signals. */
static int watch(Tile *tile)
{
    Job *job = &tile->roll->job;
    int status = status_of(job);
    tile->unwatched += tile->rows;
    if (status != DONE || !tile->state || tile->unwatched < WATCHED_ROWS) return status;
    tile->unwatched = 0;
    if (nanoseconds() - job->handled <= SIGNAL_NS) return DONE;
    status = handle_signals(tile->state);
    job->handled = nanoseconds();
    return status;
}

static npy_intp bytes_of(const Call *self, const Port *port)
{
    return port->size * (npy_intp)self->item;
}

/* Copy rows of some bytes; few of them are copied in line. */
static void copy_strided(char *to, npy_intp to_step, const char *from, npy_intp from_step,
                         npy_intp bytes, npy_intp rows)
{
    if (bytes == 8) {
        for (; rows > 0; rows--, to += to_step, from += from_step) memcpy(to, from, 8);
    } else if (bytes == 16) {
        for (; rows > 0; rows--, to += to_step, from += from_step) memcpy(to, from, 16);
    } else if (bytes == 32) {
        for (; rows > 0; rows--, to += to_step, from += from_step) memcpy(to, from, 32);
    } else {
        for (; rows > 0; rows--, to += to_step, from += from_step) memcpy(to, from, (size_t)bytes);
    }
}

/* The rows of a tile in an array, at one time. */
static char *at(const Tile *tile, const Track *track, npy_intp time)
{
    return track->data + tile->start * track->row + time * track->time;
}

static void read_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    for (int k = 0; k < roll->n_states; k++) {
        npy_intp bytes = bytes_of(roll->job.call, &roll->job.call->ins[k]);
        copy_strided(frame + roll->state_at[k], bytes, at(tile, &tracks[k], time), tracks[k].row,
                     bytes, tile->rows);
    }
}

static void write_frame(const Tile *tile, const Track *tracks, npy_intp time, const char *frame)
{
    const Roll *roll = tile->roll;
    for (int k = 0; k < roll->n_states; k++) {
        npy_intp bytes = bytes_of(roll->job.call, &roll->job.call->ins[k]);
        copy_strided(at(tile, &tracks[k], time), tracks[k].row, frame + roll->state_at[k], bytes,
                     bytes, tile->rows);
    }
}

#define ADD_ROWS(kind)                                                                      \
    for (npy_intp row = 0; row < rows; row++, to += to_step, from += from_step)             \
        for (npy_intp i = 0; i < size; i++) ((kind *)to)[i] += ((const kind *)from)[i];

static void add_strided(const Call *self, char *to, npy_intp to_step, const char *from,
                        npy_intp from_step, npy_intp size, npy_intp rows)
{
    if (self->type == NPY_DOUBLE) { ADD_ROWS(double) }
    else { ADD_ROWS(float) }
}

/* Add cotangents that the caller gives to those in a frame. */
static void add_to_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++)
        if (tracks[k].data)
            add_strided(self, frame + roll->state_at[k], bytes_of(self, &self->ins[k]),
                        at(tile, &tracks[k], time), tracks[k].row, self->ins[k].size, tile->rows);
}

/* Divide numbers of each row by the norm of the same numbers of `x`, unless it is 1 to rounding. */
#define DIVIDE_BY_NORM(kind)                                                                \
    const kind *x = (const kind *)given + unit->offset;                                     \
    kind *y = (kind *)divided + unit->offset;                                               \
    for (npy_intp row = 0; row < rows; row++, x += size, y += size) {                       \
        SUM_OF_SQUARES(x)                                                                   \
        if (!(fabs(sum - 1.0) > self->noise)) continue;                                     \
        double norm = sqrt(sum);                                                            \
        for (npy_intp i = 0; i < unit->count; i++) y[i] = (kind)(y[i] / norm);              \
    }

static void divide_by_norm(const Call *self, const UnitNorm *unit, const char *given,
                           char *divided, npy_intp rows)
{
    npy_intp size = self->ins[unit->input].size;
    if (self->type == NPY_DOUBLE) { DIVIDE_BY_NORM(double) }
    else { DIVIDE_BY_NORM(float) }
}

/* Divide the unit-norm parts of a frame by their norms in another, or in the same one. */
static void divide_frame(const Tile *tile, const char *given, char *divided)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int u = 0; u < self->n_unit_norms; u++) {
        const UnitNorm *unit = &self->unit_norms[u];
        if (unit->input >= roll->n_states) continue;  /* Python has normalised it */
        size_t place = roll->state_at[unit->input];
        divide_by_norm(self, unit, given + place, divided + place, tile->rows);
    }
}

static int has_drifted(const Tile *tile, const char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int u = 0; u < self->n_unit_norms; u++) {
        const UnitNorm *unit = &self->unit_norms[u];
        int k = unit->input;
        if (k < roll->n_states && !norms_are_one(self, unit, frame + roll->state_at[k],
                                                 self->ins[k].size, tile->rows))
            return 1;
    }
    return 0;
}

/* The frame itself, or a copy with unit norms if they have drifted. */
static char *normalised(const Tile *tile, char *frame, char *copy)
{
    if (!has_drifted(tile, frame)) return frame;
    memcpy(copy, frame, tile->roll->frame);
    divide_frame(tile, frame, copy);
    return copy;
}

/* Where a function finds its inputs: states in a frame, then the other inputs at this time. */
static void point_inputs(const Tile *tile, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++) {
        tile->in[k] = frame + roll->state_at[k];
        tile->strides[k] = self->ins[k].size;
    }
    for (int k = roll->n_states; k < self->n_in; k++) {
        const Track *track = &roll->others[k - roll->n_states];
        tile->in[k] = at(tile, track, time);
        tile->strides[k] = track->row / (npy_intp)self->item;
    }
}

/* One step of a tile, from a frame with unit norms to the next one. */
static void step_frame(const Tile *tile, npy_intp time, char *from, char *to)
{
    const Roll *roll = tile->roll;
    point_inputs(tile, time, from);
    for (int k = 0; k < roll->n_states; k++) tile->out[k] = to + roll->state_at[k];
    compute(&roll->job, tile->in, tile->out, tile->strides, tile->rows, tile->workspace);
}

static Tile tile_of(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state)
{
    Roll *roll = (Roll *)job;
    int most = job->call->n_in + roll->n_states;  /* inputs of the vjp */
    int outs = roll->back.call ? roll->back.call->n_out : roll->n_states;
    Tile tile = {.roll = roll, .start = start, .rows = rows, .workspace = block, .state = state};
    tile.in = (void **)(block + job->pointers_at);
    tile.out = tile.in + most;
    tile.strides = (npy_int64 *)(tile.out + (outs > roll->n_states ? outs : roll->n_states));
    tile.frames = block + job->buffers_at;
    return tile;
}

/* Copy with non-temporal stores: the cache lines that are written are not read first. */
static void stream(char *to, const char *from, npy_intp bytes)
{
#if defined(__SSE2__) && defined(__x86_64__)
    npy_intp i = 0;
    for (; i + 8 <= bytes && (uintptr_t)(to + i) % 16; i += 8)
        _mm_stream_si64((long long *)(to + i), *(const long long *)(from + i));
    for (; i + 16 <= bytes; i += 16)
        _mm_stream_pd((double *)(to + i), _mm_loadu_pd((const double *)(from + i)));
    for (; i + 8 <= bytes; i += 8)
        _mm_stream_si64((long long *)(to + i), *(const long long *)(from + i));
    to += i;
    from += i;
    bytes -= i;
#endif
    memcpy(to, from, (size_t)bytes);
}

/* Write several steps of a row, which are neighbours there: whole cache lines by `stream`. */
static void stream_row(char *to, const char *from, npy_intp frame, npy_intp bytes, npy_intp steps)
{
    char *first = (char *)round_up((uintptr_t)to);
    char *last = (char *)((uintptr_t)(to + steps * bytes) / CACHE_LINE * CACHE_LINE);
    for (npy_intp t = 0; t < steps; t++, to += bytes, from += frame) {
        if (to >= first && to + bytes <= last) {
            stream(to, from, bytes);
            continue;
        }
        npy_intp head = to < first ? first - to : 0, stop = last - to;
        if (head > bytes) head = bytes;
        if (stop > bytes) stop = bytes;
        if (stop < head) stop = head;
        memcpy(to, from, (size_t)head);
        stream(to + head, from + head, stop - head);
        memcpy(to + stop, from + stop, (size_t)(bytes - stop));
    }
}

/* Write several steps to an array, from rows of some bytes, `frame` bytes from step to step. */
static void write_steps(const Tile *tile, const Track *track, npy_intp time, npy_intp steps,
                        const char *from, size_t frame, npy_intp bytes)
{
    int is_streamed = tile->roll->is_large && track->time == bytes && bytes % 8 == 0;
    char *to = at(tile, track, time);
    for (npy_intp row = 0; row < tile->rows; row++, from += bytes, to += track->row) {
        if (is_streamed && (uintptr_t)to % 8 == 0)
            stream_row(to, from, (npy_intp)frame, bytes, steps);
        else
            copy_strided(to, track->time, from, (npy_intp)frame, bytes, steps);
    }
}

/* Write frames of several steps to the results. */
static void write_states(const Tile *tile, npy_intp time, npy_intp steps, const char *frames)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++)
        write_steps(tile, &roll->results[k], time, steps, frames + roll->state_at[k], roll->frame,
                    bytes_of(self, &self->ins[k]));
}

/* Write the products of several steps to the gradients that have a value for each step. */
static void write_products(const Tile *tile, npy_intp time, npy_intp steps, const char *products)
{
    const Roll *roll = tile->roll;
    const Call *back = roll->back.call;
    for (int k = roll->n_states; k < back->n_out; k++)
        if (!roll->sums[k])
            write_steps(tile, &roll->gradients[k], time, steps,
                        products + roll->gradient_at[k - roll->n_states], roll->gradient_bytes,
                        bytes_of(back, &back->outs[k]));
}

/* All steps of a tile, forwards; returns the status. */
static int roll_tile(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state)
{
    Tile tile = tile_of(job, start, rows, block, state);
    Roll *roll = tile.roll;
    char *copy = tile.frames, *first = copy + roll->frame;
    int status = DONE;
    read_frame(&tile, roll->starts, 0, first);
    if (!roll->is_final || roll->steps == 0) write_frame(&tile, roll->results, 0, first);
    for (npy_intp t = 0; t < roll->steps && status == DONE; t += roll->staged) {
        npy_intp left = roll->steps - t, steps = left < roll->staged ? left : roll->staged;
        char *frame = first;
        for (npy_intp i = 0; i < steps && status == DONE; i++, frame += roll->frame) {
            step_frame(&tile, t + i, normalised(&tile, frame, copy), frame + roll->frame);
            status = watch(&tile);
        }
        if (status != DONE) break;
        if (!roll->is_final) write_states(&tile, t + 1, steps, first + roll->frame);
        else if (steps == left) write_frame(&tile, roll->results, 0, frame);
        memcpy(first, frame, roll->frame);
    }
    if (roll->is_large) end_of_stream();
    return status;
}

/* One step of a tile backwards, from the cotangents after it to those before it. */
static void step_back(const Tile *tile, npy_intp time, char *frame, char *copy, char *after,
                      char *before, char *products)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call, *back = roll->back.call;
    char *unit = normalised(tile, frame, copy);
    point_inputs(tile, time, unit);
    for (int k = 0; k < roll->n_states; k++) {
        tile->in[self->n_in + k] = after + roll->state_at[k];
        tile->strides[self->n_in + k] = self->ins[k].size;
        tile->out[k] = before + roll->state_at[k];
    }
    for (int k = roll->n_states; k < back->n_out; k++)
        tile->out[k] = products + roll->gradient_at[k - roll->n_states];
    compute(&roll->back, tile->in, tile->out, tile->strides, tile->rows, tile->workspace);
    if (unit != frame) divide_frame(tile, frame, before);
    for (int k = roll->n_states; k < back->n_out; k++) {
        const Track *track = &roll->gradients[k];
        if (roll->sums[k])
            add_strided(back, at(tile, track, 0), track->row,
                        products + roll->gradient_at[k - roll->n_states],
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
            char *unit = normalised(tile, now, copy);
            char *next = t + 1 == roll->segment ? last : scratch + (size_t)(t % 2) * roll->frame;
            step_frame(tile, s * roll->segment + t, unit, next);
            now = next;
            status = watch(tile);
        }
    }
    return status;
}

/* All steps of a tile, backwards; returns the status. */
static int roll_tile_back(Job *job, npy_intp start, npy_intp rows, char *block,
                          PyThreadState **state)
{
    Tile tile = tile_of(job, start, rows, block, state);
    Roll *roll = tile.roll;
    char *after = tile.frames, *before = after + roll->frame, *copy = before + roll->frame;
    char *scratch = copy + roll->frame, *products = scratch + 2 * roll->frame;
    int is_given = roll->states[0].data != NULL, status = DONE;
    char *frames = products + (size_t)roll->staged * roll->gradient_bytes;
    npy_intp place = roll->staged;  /* the products of later steps lie from here on */
    char *checkpoints = is_given ? NULL : frames + (size_t)roll->segment * roll->frame;
    memset(after, 0, roll->frame);
    add_to_frame(&tile, roll->cotangents, roll->steps, after);
    add_to_frame(&tile, roll->finals, 0, after);
    if (!is_given) status = make_checkpoints(&tile, checkpoints, copy, scratch);
    for (npy_intp s = roll->segments - 1; s >= 0 && status == DONE; s--) {
        npy_intp first = s * roll->segment, last = first + roll->segment;
        if (last > roll->steps) last = roll->steps;
        if (!is_given) memcpy(frames, checkpoints + (size_t)s * roll->frame, roll->frame);
        for (npy_intp t = first; !is_given && t + 1 < last && status == DONE; t++) {
            char *frame = frames + (size_t)(t - first) * roll->frame;
            step_frame(&tile, t, normalised(&tile, frame, copy), frame + roll->frame);
            status = watch(&tile);
        }
        for (npy_intp t = last - 1; t >= first && status == DONE; t--) {
            char *frame = is_given ? scratch : frames + (size_t)(t - first) * roll->frame;
            if (is_given) read_frame(&tile, roll->states, t, frame);
            char *product = products + (size_t)--place * roll->gradient_bytes;
            step_back(&tile, t, frame, copy, after, before, product);
            if (place == 0 || t == 0) {
                write_products(&tile, t, roll->staged - place, product);
                place = roll->staged;
            }
            add_to_frame(&tile, roll->cotangents, t, before);
            char *swapped = after;
            after = before;
            before = swapped;
            status = watch(&tile);
        }
    }
    if (status == DONE) write_frame(&tile, roll->gradients, 0, after);
    if (roll->is_large) end_of_stream();
    return status;
}

/* Bytes of the rows of some ports, each on its own cache lines; sets where each begins. */
static size_t place_ports(const Call *self, const Port *ports, int count, npy_intp rows,
                          size_t *places)
{
    size_t bytes = 0;
    for (int k = 0; k < count; k++) {
        places[k] = bytes;
        bytes += round_up((size_t)(rows * bytes_of(self, &ports[k])));
    }
    return bytes;
}

/* Choose the size of tiles, and the layout of the block of a thread. */
static void plan_roll(Roll *roll, size_t most_bytes)
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
    rows = multiple(rows < TILE_ROWS ? rows : TILE_ROWS, 4 * width);
    if (rows > job->rows) rows = multiple(job->rows + width - 1, width);
    job->chunk = job->fitting = rows;
    roll->frame = place_ports(self, self->ins, roll->n_states, rows, roll->state_at);
    job->pointers_at = round_up(workspace);
    job->buffers_at = job->pointers_at
        + round_up((size_t)(2 * (self->n_in + roll->n_states) + n_out + 1) * sizeof(npy_int64));
    roll->gradient_bytes = !back ? 0
        : place_ports(back, back->outs + roll->n_states, back->n_out - roll->n_states, rows,
                      roll->gradient_at);
    roll->staged = (npy_intp)(STAGED_BYTES / ((back ? roll->gradient_bytes : roll->frame) + 1));
    if (roll->staged > STAGED_STEPS) roll->staged = STAGED_STEPS;
    if (roll->staged > roll->steps) roll->staged = roll->steps;
    if (roll->staged < 1) roll->staged = 1;
    job->bytes = job->buffers_at + (size_t)(roll->staged + 2) * roll->frame;
    if (!back) return;
    int is_given = roll->states[0].data != NULL;
    roll->segment = roll->steps > 0 ? roll->steps : 1;
    if (!is_given && (size_t)roll->steps > most_bytes / (roll->frame + 1))
        roll->segment = (npy_intp)ceil(sqrt((double)roll->steps));
    roll->segments = (roll->steps + roll->segment - 1) / roll->segment;
    size_t kept = is_given ? 0 : (size_t)(roll->segment + roll->segments + 1);
    job->bytes = job->buffers_at + (6 + kept) * roll->frame
        + (size_t)roll->staged * roll->gradient_bytes;
}

/* Run a rollout without the GIL, on several threads if there is much to do; returns the status. */
static int run_roll(Roll *roll, size_t most_bytes)
{
    Job *job = &roll->job;
    if (job->rows == 0) return DONE;
    plan_roll(roll, most_bytes);
    Block block = take_block(job->bytes);
    if (!block.start) return NO_MEMORY;
    npy_intp most = (job->rows + job->code->width - 1) / job->code->width;
    if (roll->steps <= SHARED_ROWS / job->rows) job->threads = 1;
    else if (job->threads == 0) job->threads = default_threads();
    if (job->threads > most) job->threads = (int)most;
    job->status = DONE;
    job->next = 0;
    PyThreadState *state = PyEval_SaveThread();
    int is_shared = job->threads > 1 && publish(job);
    take_chunks(job, block.start, &state);
    if (is_shared) withdraw();
    PyEval_RestoreThread(state);
    give_block(block);
    return job->status;
}

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
    if (!is_step(self) || rows < 0 || steps < 0 || threads < 0) return does_not_fit();
    Roll roll = {.job = {.call = self, .rows = rows, .threads = threads, .work = roll_tile},
                 .steps = steps, .n_states = n};
    if (!make_room(&roll, 0)) return PyErr_NoMemory();
    npy_intp kept = steps_of(results, 0, steps + 1);
    size_t result_bytes = 0;
    for (int k = 0; k < n; k++)
        result_bytes += (size_t)(rows * kept * bytes_of(self, &self->outs[k]));
    roll.is_final = kept == 1;
    roll.is_large = result_bytes > STREAMED_BYTES;
    int is_good = read_tracks(self, starts, self->ins, n, rows, 1, 0, roll.starts)
        && read_tracks(self, others, self->ins + n, self->n_in - n, rows, steps, 0, roll.others)
        && read_tracks(self, results, self->outs, n, rows, kept, 1, roll.results);
    int status = DONE;
    if (is_good) {
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
    if (!is_step(self) || !is_vjp(self, back) || rows < 0 || steps < 0 || threads < 0
        || most_bytes < 0 || PyTuple_GET_SIZE(gradients) != back->n_out)
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
        is_good = read_track(back, PyTuple_GET_ITEM(gradients, k), rows, kept, back->outs[k].size,
                             1, &roll.gradients[k]);
        roll.is_large |= (size_t)(rows * kept * bytes_of(back, &back->outs[k])) > STREAMED_BYTES;
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
