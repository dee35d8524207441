/* Functions that native threads call without the GIL, such as threads of XLA.
 *
 * It is not known when such a thread calls a function for the last time: a program of XLA may be queued or
 * running after Python has collected it. So shared functions stay until the process ends. A `Shared` owns a
 * reference to its Call, which the garbage collector does not see, and a reference to each Code that a
 * thread may be running.
 */
#ifndef LINKWORK_SHARED_H
#define LINKWORK_SHARED_H

#include "call.h"

typedef struct Shared {
    Call *call;            /* owned */
    Code *code;            /* the fastest code so far, which is referenced; NULL if there is none */
} Shared;

typedef struct {           /* the rows of an input, each contiguous */
    const char *data;
    npy_intp step;         /* bytes from one row to the next; 0 if one row is broadcast */
} SharedRows;

/* Prepare the lock for forks, when the module is imported. */
void start_shared(void);

/* With the GIL held: share a Call. If `with` is not NULL, it belongs to an equal function, and the Call
   offers its code to it, now and later. Returns NULL with an error if the Call cannot be shared. */
Shared *share_call(PyObject *callable, Shared *with);

/* With the GIL held: use the code of a Call, if it is faster than the current code. */
void offer_code(const Call *self, Shared *shared);

/* Compute rows, without the GIL; returns the status. If it is neither DONE nor NO_MEMORY, a call through
   Python compiles code if there is none, or raises the error. */
int run_shared(Shared *shared, const SharedRows *inputs, void *const *outputs, npy_intp rows);

#endif
