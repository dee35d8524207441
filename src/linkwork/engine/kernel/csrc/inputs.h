/* Arguments of a call: where the rows of an input lie, and their conversion. */
#ifndef LINKWORK_INPUTS_H
#define LINKWORK_INPUTS_H

#include "call.h"

typedef struct {           /* where the rows of an input lie */
    const char *data;
    npy_intp step;         /* bytes from one row to the next; 0 if one row is broadcast */
    npy_intp strides[MOST_AXES];  /* bytes along each axis of a row */
    int type;              /* of the numbers, as NumPy counts types */
    int is_direct;         /* whether compiled code can read the rows without a copy */
} Source;

typedef struct {           /* the leading axes of a call; -1 before any input is read */
    int axes;
    int is_single;         /* whether it is one row, whatever the number of axes */
    npy_intp rows, shape[MOST_AXES];
} Batch;

/* Where the rows of an array are, and its batch axes; 0 if it is left to Python. */
int read_array(const Call *self, const Port *port, PyArrayObject *array, Source *source,
               Batch *own);

/* A number, or a list or tuple of numbers, as one row; 0 if it is something else. */
int read_list(const Call *self, const Port *port, PyObject *value, double *numbers, Source *source,
              Batch *own);

/* Add the batch axes of one more input; 0 if broadcasting them is left to Python. */
int join_batch(Batch *batch, const Batch *own);

/* Copy numbers `first` to `first + count` of each row to a contiguous buffer. */
void copy_part(const Call *self, const Port *port, const Source *source, npy_intp start,
               npy_intp rows, npy_intp first, npy_intp count, void *memory);

/* Copy rows to a contiguous buffer. */
void copy_rows(const Call *self, const Port *port, const Source *source, npy_intp start,
               npy_intp rows, void *memory);

#endif
