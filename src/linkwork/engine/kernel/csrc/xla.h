/* Calls from programs that XLA has compiled, as JAX makes them. */
#ifndef LINKWORK_XLA_H
#define LINKWORK_XLA_H

#include "call.h"

typedef struct XlaEntry XlaEntry;

/* Prepare the lock for forks, when the module is imported. */
void start_xla(void);

/* With the GIL held: have an entry use the code of a Call, if that is better than what it has. */
void offer_code(const Call *self, XlaEntry *entry);

/* The method `_share` of a Call. */
PyObject *call_share(PyObject *callable, PyObject *text);

/* Functions of the module. */
PyObject *module_xla_handler(PyObject *module, PyObject *unused);
PyObject *module_xla_close(PyObject *module, PyObject *unused);
PyObject *module_xla_interface(PyObject *module, PyObject *unused);

#endif
