/* Result arrays of a call: new ones, or those that the caller gives as `out`. */
#ifndef LINKWORK_OUTPUTS_H
#define LINKWORK_OUTPUTS_H

#include "inputs.h"

/* New output arrays: a tuple, or the array itself if there is one output. */
PyObject *new_outputs(const Call *self, const Batch *batch, void **out);

/* Accept the arrays given as `out`; NULL, without an error, if they are left to Python. */
PyObject *accept_outputs(const Call *self, PyObject *given, PyObject *const *args,
                         const Batch *batch, void **out);

#endif
