/* Arguments of a call: the location of the rows of an input, and their conversion. */
#ifndef LINKWORK_INPUTS_H
#define LINKWORK_INPUTS_H

#include "call.h"

typedef struct {           /* the rows of an input in memory */
    const char *data;
    npy_intp step;         /* bytes from one row to the next; 0 if one row is broadcast */
    npy_intp strides[MOST_AXES];  /* bytes along each axis of a row */
    int type;              /* type number of NumPy */
    int is_direct;         /* whether compiled code can read the rows without a copy */
} Source;

typedef struct {           /* the batch axes of a call */
    int axes;              /* -1 before any input is read */
    int is_single;         /* whether it is one row, with any number of axes */
    npy_intp rows, shape[MOST_AXES];
} Batch;

/* Find the rows of an array, and its batch axes; 0 if Python has to handle it. */
int read_array(const Call *self, const Port *port, PyArrayObject *array, Source *source,
               Batch *input_batch);

/* Convert a number, or a list or tuple of numbers, to one row; 0 for other types. */
int read_list(const Call *self, const Port *port, PyObject *value, double *numbers, Source *source,
              Batch *input_batch);

/* Combine the batch axes of one more input; 0 if Python has to broadcast them. */
int join_batch(Batch *batch, const Batch *input_batch);

/* Copy elements `first` to `first + count` of each row to a contiguous buffer. */
void copy_part(const Call *self, const Port *port, const Source *source, npy_intp start,
               npy_intp rows, npy_intp first, npy_intp count, void *memory);

/* Copy rows to a contiguous buffer. */
void copy_rows(const Call *self, const Port *port, const Source *source, npy_intp start,
               npy_intp rows, void *memory);

#endif
