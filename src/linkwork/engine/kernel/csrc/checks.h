/* Checks that norms are 1, and that values are finite. */
#ifndef LINKWORK_CHECKS_H
#define LINKWORK_CHECKS_H

#include "call.h"

#define SUM_OF_SQUARES(x)                                                                   \
    double sum = 0.0;                                                                       \
    for (npy_intp i = 0; i < unit->count; i++) sum += (double)(x)[i] * (double)(x)[i];

#define NORMS_ARE_ONE(kind)                                                                 \
    const kind *x = (const kind *)data + unit->offset;                                      \
    int is_off = 0;                                                                         \
    for (npy_intp row = 0; row < rows; row++, x += step) {                                  \
        SUM_OF_SQUARES(x)                                                                   \
        is_off |= fabs(sum - 1.0) > self->noise;                                            \
    }                                                                                       \
    return !is_off;

/* Return whether norms are 1 up to rounding; NaN is accepted. `step` is the number of elements from one row
   to the next. Inline, as `is_finite`, for calls of one row. */
static inline int norms_are_one(const Call *self, const UnitNorm *unit, const void *data,
                                npy_intp step, npy_intp rows)
{
    if (self->type == NPY_DOUBLE) { NORMS_ARE_ONE(double) }
    NORMS_ARE_ONE(float)
}

/* Return whether norms are within the tolerance of 1; normalize the rows if `writes`. */
int normalize(const Call *self, const UnitNorm *unit, void *data, npy_intp step, npy_intp rows,
              int writes);

/* Divide elements of each row by the norm of the same elements of `reference`, unless it is 1 up to rounding. */
void divide_by_norm(const Call *self, const UnitNorm *unit, const char *reference, char *divided,
                    npy_intp rows);

/* Return whether values are finite: adding one to the exponent of infinity or NaN overflows into the sign
   bit. Compilers vectorize this for any processor, unlike comparisons of 64 bits. */
static inline int is_finite(const Call *self, const void *data, npy_intp count)
{
    if (self->type == NPY_DOUBLE) {
        const uint64_t exponent = (uint64_t)0x7FF << 52, one = (uint64_t)1 << 52, *bits = data;
        uint64_t sums = 0;
        for (npy_intp i = 0; i < count; i++) sums |= (bits[i] & exponent) + one;
        return !(sums >> 63);
    }
    const uint32_t exponent = (uint32_t)0xFF << 23, one = (uint32_t)1 << 23, *bits = data;
    uint32_t sums = 0;
    for (npy_intp i = 0; i < count; i++) sums |= (bits[i] & exponent) + one;
    return !(sums >> 31);
}

/* Return whether the rows of an output are finite. The first `blocks` rows were computed by `many`, which
   checks large square matrices itself, since batches of them do not stay in the cache. */
static inline int output_is_finite(const Call *self, const Port *port, const char *data,
                                   npy_intp rows, npy_intp blocks)
{
    int is_square = port->axes == 2 && port->shape[0] == port->shape[1];
    npy_intp first = is_square && port->shape[0] > self->small_matrix ? blocks : 0;
    data += first * port->size * (npy_intp)self->item;
    return is_finite(self, data, (rows - first) * port->size);
}

#endif
