/* Tiles of a rollout: their states at one time, read, normalized, stepped on, and written.
 *
 * A tile is some rows of the batch. A frame holds its states at one time, one state after the other,
 * each with contiguous rows. A track is an array of the caller with numbers for each row and time.
 */
#include "rollout_tile.h"

#include "checks.h"
#include "threads.h"

#define WATCHED_ROWS 64    /* rows times steps between two looks at the clock */

/* After a step: the status with which to go on or to end. The calling thread handles signals. */
int check_progress(Tile *tile)
{
    Job *job = &tile->roll->job;
    int status = LOAD_RELAXED(job->status);
    tile->unwatched += tile->rows;
    if (status != DONE || !tile->state || tile->unwatched < WATCHED_ROWS) return status;
    tile->unwatched = 0;
    if (nanoseconds() - job->handled <= SIGNAL_NS) return DONE;
    status = handle_signals(tile->state);
    job->handled = nanoseconds();
    return status;
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

void read_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    for (int k = 0; k < roll->n_states; k++) {
        npy_intp bytes = bytes_of(roll->job.call, &roll->job.call->ins[k]);
        copy_strided(frame + roll->state_at[k], bytes, rows_at(tile, &tracks[k], time),
                     tracks[k].row, bytes, tile->rows);
    }
}

void write_frame(const Tile *tile, const Track *tracks, npy_intp time, const char *frame)
{
    const Roll *roll = tile->roll;
    for (int k = 0; k < roll->n_states; k++) {
        npy_intp bytes = bytes_of(roll->job.call, &roll->job.call->ins[k]);
        copy_strided(rows_at(tile, &tracks[k], time), tracks[k].row, frame + roll->state_at[k],
                     bytes, bytes, tile->rows);
    }
}

#define ADD_ROWS(kind)                                                                      \
    for (npy_intp row = 0; row < rows; row++, to += to_step, from += from_step)             \
        for (npy_intp i = 0; i < size; i++) ((kind *)to)[i] += ((const kind *)from)[i];

void add_strided(const Call *self, char *to, npy_intp to_step, const char *from, npy_intp from_step,
                 npy_intp size, npy_intp rows)
{
    if (self->type == NPY_DOUBLE) { ADD_ROWS(double) }
    else { ADD_ROWS(float) }
}

/* Add cotangents that the caller gives to those in a frame. */
void add_to_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++)
        if (tracks[k].data)
            add_strided(self, frame + roll->state_at[k], bytes_of(self, &self->ins[k]),
                        rows_at(tile, &tracks[k], time), tracks[k].row, self->ins[k].size,
                        tile->rows);
}

/* Divide the unit-norm parts of a frame by their norms in another, or in the same one. */
void divide_frame(const Tile *tile, const char *given, char *divided)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int u = 0; u < self->n_unit_norms; u++) {
        const UnitNorm *unit = &self->unit_norms[u];
        if (unit->input >= roll->n_states) continue;  /* Python has normalized it */
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
char *normalized_frame(const Tile *tile, char *frame, char *copy)
{
    if (!has_drifted(tile, frame)) return frame;
    memcpy(copy, frame, tile->roll->frame);
    divide_frame(tile, frame, copy);
    return copy;
}

/* Where a function finds its inputs: states in a frame, then the other inputs at this time. */
void point_inputs(const Tile *tile, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++) {
        tile->in[k] = frame + roll->state_at[k];
        tile->strides[k] = self->ins[k].size;
    }
    for (int k = roll->n_states; k < self->n_in; k++) {
        const Track *track = &roll->others[k - roll->n_states];
        tile->in[k] = rows_at(tile, track, time);
        tile->strides[k] = track->row / (npy_intp)self->item;
    }
}

/* One step of a tile, from a frame with unit norms to the next one. */
void step_frame(const Tile *tile, npy_intp time, char *from, char *to)
{
    const Roll *roll = tile->roll;
    point_inputs(tile, time, from);
    for (int k = 0; k < roll->n_states; k++) tile->out[k] = to + roll->state_at[k];
    compute_rows(&roll->job, tile->in, tile->out, tile->strides, tile->rows, tile->workspace);
}

Tile make_tile(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state)
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

/* Write several steps of a row, which are neighbors there: whole cache lines by `stream`. */
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
    char *to = rows_at(tile, track, time);
    for (npy_intp row = 0; row < tile->rows; row++, from += bytes, to += track->row) {
        if (is_streamed && (uintptr_t)to % 8 == 0)
            stream_row(to, from, (npy_intp)frame, bytes, steps);
        else
            copy_strided(to, track->time, from, (npy_intp)frame, bytes, steps);
    }
}

/* Write frames of several steps to the results. */
void write_states(const Tile *tile, npy_intp time, npy_intp steps, const char *frames)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++)
        write_steps(tile, &roll->results[k], time, steps, frames + roll->state_at[k], roll->frame,
                    bytes_of(self, &self->ins[k]));
}

/* Write the products of several steps to the gradients that have a value for each step. */
void write_products(const Tile *tile, npy_intp time, npy_intp steps, const char *products)
{
    const Roll *roll = tile->roll;
    const Call *back = roll->back.call;
    for (int k = roll->n_states; k < back->n_out; k++)
        if (!roll->sums[k])
            write_steps(tile, &roll->gradients[k], time, steps,
                        products + roll->gradient_at[k - roll->n_states], roll->gradient_bytes,
                        bytes_of(back, &back->outs[k]));
}
