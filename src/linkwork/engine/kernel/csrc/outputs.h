/* Result arrays of a call: new ones, or those of the argument `out`. */
#ifndef LINKWORK_OUTPUTS_H
#define LINKWORK_OUTPUTS_H

#include "inputs.h"

/* Create output arrays; return a tuple, or the array itself if there is one output. */
PyObject *new_outputs(const Call *self, const Batch *batch, void **out);

/* Use the arrays of `out`; NULL, without an error, if Python has to handle them. */
PyObject *accept_outputs(const Call *self, PyObject *out_argument, PyObject *const *args,
                         const Batch *batch, void **out);

#endif
