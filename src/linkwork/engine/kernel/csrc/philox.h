/* Random numbers that depend on a counter only. */
#ifndef LINKWORK_PHILOX_H
#define LINKWORK_PHILOX_H
#include "common.h"

PyObject *module_philox(PyObject *module, PyObject *args);

#endif
