/* Checks and normalization of rows whose elements are contiguous. */
#include "checks.h"

#define NORMALIZE(kind)                                                                     \
    kind *x = (kind *)data + unit->offset;                                                  \
    for (npy_intp row = 0; row < rows; row++, x += step) {                                  \
        SUM_OF_SQUARES(x)                                                                   \
        if (!(fabs(sum - 1.0) > self->noise)) continue;                                     \
        double norm = sqrt(sum);                                                            \
        if (fabs(norm - 1.0) > self->tolerance) {                                           \
            if (is_finite(self, x, unit->count)) return 0;                                  \
            norm = NAN;  /* an infinite element: all become NaN */                          \
        }                                                                                   \
        for (npy_intp i = 0; writes && i < unit->count; i++) x[i] = (kind)(x[i] / norm);    \
    }                                                                                       \
    return 1;

int normalize(const Call *self, const UnitNorm *unit, void *data, npy_intp step, npy_intp rows,
              int writes)
{
    if (self->type == NPY_DOUBLE) { NORMALIZE(double) }
    NORMALIZE(float)
}

#define DIVIDE_BY_NORM(kind)                                                                \
    const kind *x = (const kind *)reference + unit->offset;                                     \
    kind *y = (kind *)divided + unit->offset;                                               \
    for (npy_intp row = 0; row < rows; row++, x += size, y += size) {                       \
        SUM_OF_SQUARES(x)                                                                   \
        if (!(fabs(sum - 1.0) > self->noise)) continue;                                     \
        double norm = sum < INFINITY ? sqrt(sum) : NAN;                                     \
        for (npy_intp i = 0; i < unit->count; i++) y[i] = (kind)(y[i] / norm);              \
    }

void divide_by_norm(const Call *self, const UnitNorm *unit, const char *reference, char *divided,
                    npy_intp rows)
{
    npy_intp size = self->ins[unit->input].size;
    if (self->type == NPY_DOUBLE) { DIVIDE_BY_NORM(double) }
    else { DIVIDE_BY_NORM(float) }
}
