/* Memory of large result arrays, which is reused after an array is freed. */
#ifndef LINKWORK_RESULT_MEMORY_H
#define LINKWORK_RESULT_MEMORY_H

#include "common.h"

/* Create an array in C order, whose elements are not initialized. */
PyObject *new_array(int axes, npy_intp *shape, int type);

/* Prepare the memory when the module is imported; -1 with an error if that fails. */
int start_result_memory(void);

/* Functions of the module. */
PyObject *module_empty(PyObject *module, PyObject *args);
PyObject *module_spare_bytes(PyObject *module, PyObject *unused);

#endif
