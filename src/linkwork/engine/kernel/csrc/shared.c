/* Functions that native threads call without the GIL.
 *
 * `shared_lock` guards the code of shared functions, and the spare blocks of memory of their calls. A thread
 * that holds it waits for no other lock, so it may be acquired with and without the GIL.
 */
#include "shared.h"

#include "blocks.h"
#include "chunks.h"
#include "threads.h"

#ifdef _WIN32
#include <windows.h>
static SRWLOCK shared_lock = SRWLOCK_INIT;
#define LOCK() AcquireSRWLockExclusive(&shared_lock)
#define UNLOCK() ReleaseSRWLockExclusive(&shared_lock)
#else
#include <pthread.h>
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&shared_lock)
#define UNLOCK() pthread_mutex_unlock(&shared_lock)
#endif

static Block shared_blocks[SPARE_BLOCKS];

/* The previous code may be running, so it stays referenced. */
void offer_code(const Call *self, Shared *shared)
{
    Code *old = shared->code, *code = self->code;
    if (old && (code->width < old->width || (code->width == old->width && self != shared->call)))
        return;
    hold_code(code)->older = old;
    LOCK();
    shared->code = code;
    UNLOCK();
}

Shared *share_call(PyObject *callable, Shared *with)
{
    Call *self = (Call *)callable;
    if (!PyObject_TypeCheck(callable, call_type) || !self->slow || !self->is_simple) {
        PyErr_SetString(PyExc_ValueError, "share: expected a compiled function of at most 8 axes");
        return NULL;
    }
    if (self->shared) return self->shared;
    read_environment();  /* for calls without the GIL */
    if (!with) {
        with = calloc(1, sizeof(Shared));
        if (!with) {
            PyErr_NoMemory();
            return NULL;
        }
        with->call = (Call *)Py_NewRef(callable);
    }
    if (self->code) offer_code(self, with);
    self->shared = with;
    return with;
}

static int plan_and_run_shared(Job *job, Shared *shared)
{
    LOCK();
    job->code = shared->code;
    if (!job->code) {
        UNLOCK();
        return NO_CODE;
    }
    plan_chunks(job);
    Block block = take_from(shared_blocks, job->bytes);
    UNLOCK();
    if (!block.start) return NO_MEMORY;
    if (job->rows == 1) {
        job->status = compute_chunk(job, 0, 1, block.start);
        job->has_bad_outputs = 0;
    } else {
        run_without_gil(job, block.start, NULL);
    }
    LOCK();
    STORE_RELAXED(job->code->chunk, job->chunk);
    give_to(shared_blocks, block);
    UNLOCK();
    return job->status == DONE && job->has_bad_outputs ? NOT_FINITE_OUTPUT : job->status;
}

int run_shared(Shared *shared, const SharedRows *inputs, void *const *outputs, npy_intp rows)
{
    const Call *self = shared->call;
    Source few_sources[FEW_PORTS], *sources = few_sources;
    size_t result_bytes = 0;
    if (self->n_in > FEW_PORTS) sources = malloc((size_t)self->n_in * sizeof(Source));
    if (!sources) return NO_MEMORY;
    for (int k = 0; k < self->n_in; k++)
        sources[k] = (Source){.data = inputs[k].data, .step = inputs[k].step, .type = self->type,
                              .is_direct = 1};
    for (int k = 0; k < self->n_out; k++)
        result_bytes += (size_t)(rows * self->outs[k].size) * self->item;
    Job job = {.call = self, .sources = sources, .outs = (void **)outputs, .rows = rows,
               .is_large = result_bytes > STREAMED_BYTES};
    int status = plan_and_run_shared(&job, shared);
    if (sources != few_sources) free(sources);
    return status;
}

#ifndef _WIN32
static void hold_lock(void) { LOCK(); }
static void release_lock(void) { UNLOCK(); }

void start_shared(void) { pthread_atfork(hold_lock, release_lock, release_lock); }

#else

void start_shared(void) {}

#endif
