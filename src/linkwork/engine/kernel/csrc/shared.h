/* Functions that native threads call without the GIL, such as those of another library's runtime.
 *
 * Nobody knows when such a thread will not call a function any more: its program may be queued or running
 * after Python has collected all that it knows of it. So what is shared stays until the process ends. A
 * `Shared` owns a reference to its Call, which the garbage collector does not see and so cannot break, and
 * a count of each Code that a thread may have begun to run.
 */
#ifndef LINKWORK_SHARED_H
#define LINKWORK_SHARED_H

#include "call.h"

typedef struct Shared {
    Call *call;            /* owned */
    Code *code;            /* the fastest so far, which is counted here; NULL if there is none yet */
} Shared;

typedef struct {           /* where the rows of an input are, each without gaps */
    const char *data;
    npy_intp step;         /* bytes from one row to the next; 0 if one row is broadcast */
} SharedRows;

/* Prepare the lock for forks, when the module is imported. */
void start_shared(void);

/* With the GIL held: share a Call. Its code, now and later, is offered to `with` if that is not NULL: that
   of an equal function. Returns NULL with an error if it cannot be shared. */
Shared *share_call(PyObject *callable, Shared *with);

/* With the GIL held: use the code of a Call, if that is better than what there is. */
void offer_code(const Call *self, Shared *shared);

/* Compute rows, without the GIL; returns the status. After another one than DONE and NO_MEMORY, a call
   through Python makes code if there is none, and says what is wrong. */
int run_shared(Shared *shared, const SharedRows *inputs, void *const *outputs, npy_intp rows);

#endif
