/* Conversion, normalization, checks and computation of one chunk of the rows of a call. */
#include "chunks.h"

#include "checks.h"

static int needs_buffer(const Job *job, int input)
{
    if (!job->sources[input].is_direct) return 1;
    for (int k = 0; k < job->call->n_unit_norms && !job->is_checked; k++)
        if (job->call->unit_norms[k].input == input) return 1;
    return 0;
}

void plan_chunks(Job *job)
{
    const Call *self = job->call;
    npy_intp width = job->code->width;
    size_t row_bytes = 0;
    for (int k = 0; k < self->n_in; k++)
        if (needs_buffer(job, k)) row_bytes += (size_t)self->ins[k].size * self->item;
    job->fitting = row_bytes ? (npy_intp)(BUFFER_BYTES / row_bytes) : MOST_ROWS;
    if (job->fitting > MOST_ROWS) job->fitting = MOST_ROWS;
    job->fitting = round_to_width(job->fitting, width);
    job->chunk = LOAD_RELAXED(job->code->chunk);
    job->chunk = round_to_width(job->chunk < job->fitting ? job->chunk : job->fitting, width);
    npy_intp rows = job->rows < job->fitting ? job->rows : job->fitting;
    job->pointers_offset = round_up(job->code->bytes);
    job->buffers_offset = job->pointers_offset
        + round_up((size_t)(2 * self->n_in + self->n_out + 1) * sizeof(npy_int64));
    job->bytes = job->buffers_offset + (size_t)self->n_in * CACHE_LINE + row_bytes * (size_t)rows;
    job->status = DONE;
}

/* The number of rows that are computed `width` at a time. */
static npy_intp rows_in_blocks(const Code *code, npy_intp rows)
{
    return code->many ? rows - rows % code->width : 0;
}

int compute_rows(const Job *job, void **in, void **out, npy_int64 *strides, npy_intp rows,
                 void *workspace)
{
    const Call *self = job->call;
    const Code *code = job->code;
    npy_intp blocks = rows_in_blocks(code, rows);
    strides[self->n_in] = job->is_large;
    int is_finite = !blocks || code->many(in, out, strides, blocks, workspace) >= 0;
    if (job->is_large) end_of_stream();
    if (rows == blocks) return is_finite;
    for (int k = 0; k < self->n_in; k++)
        in[k] = (char *)in[k] + blocks * strides[k] * (npy_intp)self->item;
    for (int k = 0; k < self->n_out; k++)
        out[k] = (char *)out[k] + blocks * self->outs[k].size * (npy_intp)self->item;
    code->one(in, out, strides, rows - blocks, workspace);
    return is_finite;
}

/* Check the norms in rows that are not converted; returns the status. */
static int check_norms(const Job *job, const UnitNorm *unit, npy_intp start, npy_intp rows,
                       void *buffer)
{
    const Call *self = job->call;
    int k = unit->input;
    UnitNorm alone = {k, 0, unit->count};  /* the buffer contains only these elements */
    copy_part(self, &self->ins[k], &job->sources[k], start, rows, unit->offset, unit->count,
              buffer);
    if (norms_are_one(self, &alone, buffer, unit->count, rows)) return DONE;
    return normalize(self, &alone, buffer, unit->count, rows, 0) ? DRIFTED : NOT_UNIT_NORM;
}

/* Normalize rows that have drifted, in a copy if they belong to the caller; returns the status. */
static int normalize_rows(const Job *job, const UnitNorm *unit, void **in, npy_int64 *strides,
                          npy_intp start, npy_intp rows, void *buffer)
{
    const Call *self = job->call;
    int k = unit->input;
    if (norms_are_one(self, unit, in[k], strides[k], rows)) return DONE;
    if (job->only_checks)
        return normalize(self, unit, in[k], strides[k], rows, 0) ? DRIFTED : NOT_UNIT_NORM;
    if (in[k] != buffer) {
        copy_rows(self, &self->ins[k], &job->sources[k], start, rows, buffer);
        in[k] = buffer;
        if (strides[k]) strides[k] = self->ins[k].size;
    }
    return normalize(self, unit, buffer, self->ins[k].size, rows, 1) ? DONE : NOT_UNIT_NORM;
}

static int inputs_are_finite(const Call *self, void **in, const npy_int64 *strides, npy_intp rows)
{
    for (int k = 0; k < self->n_in; k++) {
        npy_intp size = self->ins[k].size, count = strides[k] ? rows : 1;
        const char *data = in[k];
        if (strides[k] == size) {
            if (!is_finite(self, data, count * size)) return 0;
            continue;
        }
        for (npy_intp row = 0; row < count; row++, data += strides[k] * (npy_intp)self->item)
            if (!is_finite(self, data, size)) return 0;
    }
    return 1;
}

static int compute_in_usual_mode(const Job *job, npy_intp start, npy_intp rows, char *block)
{
    const Call *self = job->call;
    void **in = (void **)(block + job->pointers_offset), **out = in + self->n_in;
    npy_int64 *strides = (npy_int64 *)(out + self->n_out);
    char *buffer = block + job->buffers_offset;
    int chunk_status = DONE;
    for (int k = 0; k < self->n_in; k++) {
        const Source *source = &job->sources[k];
        npy_intp count = source->step ? rows : 1;
        void *copy = buffer;
        int is_converted = 1;
        if (needs_buffer(job, k))
            buffer += round_up((size_t)(count * self->ins[k].size) * self->item);
        if (source->is_direct) {
            in[k] = (char *)source->data + start * source->step;
            strides[k] = source->step / (npy_intp)self->item;
        } else {
            is_converted = !job->only_checks || self->check_inputs;
            if (is_converted) copy_rows(self, &self->ins[k], source, start, count, copy);
            in[k] = copy;
            strides[k] = source->step ? self->ins[k].size : 0;
        }
        for (int u = 0; u < self->n_unit_norms && !job->is_checked; u++) {
            if (self->unit_norms[u].input != k) continue;
            const UnitNorm *unit = &self->unit_norms[u];
            int status = is_converted
                ? normalize_rows(job, unit, in, strides, start, count, copy)
                : check_norms(job, unit, start, count, copy);
            if (status == NOT_UNIT_NORM) return status;
            if (status == DRIFTED) chunk_status = status;
        }
    }
    if (self->check_inputs && !job->is_checked && !inputs_are_finite(self, in, strides, rows))
        return NOT_FINITE_INPUT;
    if (job->only_checks) return chunk_status;
    for (int k = 0; k < self->n_out; k++)
        out[k] = (char *)job->outs[k] + start * self->outs[k].size * (npy_intp)self->item;
    int many_is_finite = compute_rows(job, in, out, strides, rows, block);
    if (!self->check_outputs) return DONE;
    if (!many_is_finite) return NOT_FINITE_OUTPUT;
    for (int k = 0; k < self->n_out; k++) {
        const char *data = (char *)job->outs[k] + start * self->outs[k].size * (npy_intp)self->item;
        npy_intp blocks = job->code->width > 1 ? rows_in_blocks(job->code, rows) : 0;
        if (!output_is_finite(self, &self->outs[k], data, rows, blocks)) return NOT_FINITE_OUTPUT;
    }
    return DONE;
}

int compute_chunk(const Job *job, npy_intp start, npy_intp rows, char *block)
{
    uint64_t mode = enter_usual_mode();
    int status = compute_in_usual_mode(job, start, rows, block);
    leave_usual_mode(mode);
    return status;
}
