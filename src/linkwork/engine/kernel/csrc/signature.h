/* Call.__init__: shapes of inputs and outputs, elements with unit norm, options. */
#ifndef LINKWORK_SIGNATURE_H
#define LINKWORK_SIGNATURE_H

#include "call.h"

int call_init(PyObject *object, PyObject *args, PyObject *kwargs);

/* Free the memory that `call_init` has allocated. */
void free_ports(Call *self);

#endif
