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

#include "_tiles.h"

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

/* Choose the size of tiles, and the layout of the block of a thread; 0 if that is more than any memory. */
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
    if (!back) return 1;
    int is_given = roll->states[0].data != NULL;
    roll->segment = roll->steps > 0 ? roll->steps : 1;
    if (!is_given && (size_t)roll->steps > most_bytes / (roll->frame + 1))
        roll->segment = (npy_intp)ceil(sqrt((double)roll->steps));
    roll->segments = (roll->steps + roll->segment - 1) / roll->segment;
    size_t kept = is_given ? 0 : (size_t)(roll->segment + roll->segments + 1);
    if (kept > SIZE_MAX / 4 / (roll->frame + 1)) return 0;
    job->bytes = job->buffers_at + (6 + kept) * roll->frame
        + (size_t)roll->staged * roll->gradient_bytes;
    return 1;
}

/* Run a rollout without the GIL, on several threads if there is much to do; returns the status. */
static int run_roll(Roll *roll, size_t most_bytes)
{
    Job *job = &roll->job;
    if (job->rows == 0) return DONE;
    if (!plan_roll(roll, most_bytes)) return NO_MEMORY;
    Block block = take_block(job->bytes);
    if (!block.start) return NO_MEMORY;
    npy_intp most = (job->rows + job->code->width - 1) / job->code->width;
    if (roll->steps <= SHARED_ROWS / job->rows) job->threads = 1;
    if (job->threads == 0) {
        read_environment();
        job->threads = default_threads();
    }
    if (job->threads > most) job->threads = (int)most;
    job->status = DONE;
    job->next = 0;
    PyThreadState *state = PyEval_SaveThread();
    int is_shared = job->threads > 1 && publish(job);
    take_chunks(job, block.start, 1, &state);
    if (is_shared) withdraw();
    PyEval_RestoreThread(state);
    give_block(block);
    return job->status;
}

#endif
