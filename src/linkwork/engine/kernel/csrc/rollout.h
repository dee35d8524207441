/* Rollouts: the methods `_roll` and `_roll_back` of a Call. */
#ifndef LINKWORK_ROLLOUT_H
#define LINKWORK_ROLLOUT_H

#include "call.h"

PyObject *call_roll(PyObject *callable, PyObject *args);
PyObject *call_roll_back(PyObject *callable, PyObject *args);

#endif
