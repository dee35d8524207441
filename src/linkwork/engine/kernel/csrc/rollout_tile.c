/* Tiles of a rollout: reading, normalizing, stepping and writing their states at one time.
 *
 * A tile is some rows of the batch. A frame contains its states at one time, one state after the other,
 * each with contiguous rows. A track is an array of the caller with elements for each row and time.
 */
#include "rollout_tile.h"

#include "checks.h"
#include "threads.h"

#define WATCHED_ROWS 64    /* rows times steps between two reads of the clock */

int check_progress(Tile *tile)
{
    Job *job = &tile->roll->job;
    int status = LOAD_RELAXED(job->status);
    tile->unwatched += tile->rows;
    if (status != DONE || !tile->state || tile->unwatched < WATCHED_ROWS) return status;
    tile->unwatched = 0;
    if (nanoseconds() - job->handled <= SIGNAL_NS) return DONE;
    status = handle_signals(job, tile->state);
    job->handled = nanoseconds();
    return status;
}

/* Copy rows; common sizes are inlined. */
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
        copy_strided(frame + roll->state_offset[k], bytes, rows_at(tile, &tracks[k], time),
                     tracks[k].row, bytes, tile->rows);
    }
}

void write_frame(const Tile *tile, const Track *tracks, npy_intp time, const char *frame)
{
    const Roll *roll = tile->roll;
    for (int k = 0; k < roll->n_states; k++) {
        npy_intp bytes = bytes_of(roll->job.call, &roll->job.call->ins[k]);
        copy_strided(rows_at(tile, &tracks[k], time), tracks[k].row, frame + roll->state_offset[k],
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

void add_to_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++)
        if (tracks[k].data)
            add_strided(self, frame + roll->state_offset[k], bytes_of(self, &self->ins[k]),
                        rows_at(tile, &tracks[k], time), tracks[k].row, self->ins[k].size,
                        tile->rows);
}

void divide_frame(const Tile *tile, const char *reference, char *divided)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int u = 0; u < self->n_unit_norms; u++) {
        const UnitNorm *unit = &self->unit_norms[u];
        if (unit->input >= roll->n_states) continue;  /* normalized in Python */
        size_t offset = roll->state_offset[unit->input];
        divide_by_norm(self, unit, reference + offset, divided + offset, tile->rows);
    }
}

static int has_drifted(const Tile *tile, const char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int u = 0; u < self->n_unit_norms; u++) {
        const UnitNorm *unit = &self->unit_norms[u];
        int k = unit->input;
        if (k < roll->n_states && !norms_are_one(self, unit, frame + roll->state_offset[k],
                                                 self->ins[k].size, tile->rows))
            return 1;
    }
    return 0;
}

char *normalized_frame(const Tile *tile, char *frame, char *copy)
{
    if (!has_drifted(tile, frame)) return frame;
    memcpy(copy, frame, tile->roll->frame);
    divide_frame(tile, frame, copy);
    return copy;
}

void point_inputs(const Tile *tile, npy_intp time, char *frame)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++) {
        tile->in[k] = frame + roll->state_offset[k];
        tile->strides[k] = self->ins[k].size;
    }
    for (int k = roll->n_states; k < self->n_in; k++) {
        const Track *track = &roll->others[k - roll->n_states];
        tile->in[k] = rows_at(tile, track, time);
        tile->strides[k] = track->row / (npy_intp)self->item;
    }
}

void step_frame(const Tile *tile, npy_intp time, char *from, char *to)
{
    const Roll *roll = tile->roll;
    point_inputs(tile, time, from);
    for (int k = 0; k < roll->n_states; k++) tile->out[k] = to + roll->state_offset[k];
    compute_rows(&roll->job, tile->in, tile->out, tile->strides, tile->rows, tile->workspace);
}

Tile make_tile(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state)
{
    Roll *roll = (Roll *)job;
    int most = job->call->n_in + roll->n_states;  /* inputs of the vjp */
    int outs = roll->back.call ? roll->back.call->n_out : roll->n_states;
    Tile tile = {.roll = roll, .start = start, .rows = rows, .workspace = block, .state = state};
    tile.in = (void **)(block + job->pointers_offset);
    tile.out = tile.in + most;
    tile.strides = (npy_int64 *)(tile.out + (outs > roll->n_states ? outs : roll->n_states));
    tile.frames = block + job->buffers_offset;
    return tile;
}

/* Copy with non-temporal stores, which do not read the cache lines that they write. */
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

/* Write several steps of a row, which are contiguous: complete cache lines with `stream`. */
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

/* Write several steps to an array; `frame` is the bytes from one step of the source to the next. */
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

void write_states(const Tile *tile, npy_intp time, npy_intp steps, const char *frames)
{
    const Roll *roll = tile->roll;
    const Call *self = roll->job.call;
    for (int k = 0; k < roll->n_states; k++)
        write_steps(tile, &roll->results[k], time, steps, frames + roll->state_offset[k], roll->frame,
                    bytes_of(self, &self->ins[k]));
}

void write_products(const Tile *tile, npy_intp time, npy_intp steps, const char *products)
{
    const Roll *roll = tile->roll;
    const Call *back = roll->back.call;
    for (int k = roll->n_states; k < back->n_out; k++)
        if (!roll->sums[k])
            write_steps(tile, &roll->gradients[k], time, steps,
                        products + roll->gradient_offset[k - roll->n_states], roll->gradient_bytes,
                        bytes_of(back, &back->outs[k]));
}
