/* Computation of the chunks of a job on several threads, without the GIL. */
#ifndef LINKWORK_THREADS_H
#define LINKWORK_THREADS_H

#include "chunks.h"

/* Batches with more work are computed by several threads. The work is rows times `Code.cost`, in units of
   about a quarter of a nanosecond, so the limit is 50 microseconds on one core: about twice the cost of waking
   a helper. Measured with pthread_cond_broadcast after 1 ms of sleep, on two busy cores of an AMD EPYC: a
   helper started after 8 microseconds at best, 9 to 23 in the median of 1,000; the call took 2 at best, 12 in
   the median. On busy cores a helper may be interrupted, and two threads may be slower than one. */
#define SHARED_WORK 200000.0
#define SIGNAL_NS 20000000 /* time between two checks for signals by the calling thread */

/* Return whether rows of this code are enough work for several threads. */
static inline int is_worth_sharing(const Code *code, npy_intp rows)
{
    return (double)rows * code->cost > SHARED_WORK;
}

/* thread_counts(): batches computed by several threads, and chunks of them computed by helpers. */
PyObject *module_thread_counts(PyObject *module, PyObject *unused);

/* Register the handler for forks, when the module is imported. */
void start_threads(void);

/* Convert a number of threads; 0 for one per core, -1 if it is not an integer. */
int read_threads(PyObject *value);

/* Read LINKWORK_THREADS, with the GIL held: another Python thread may change the environment, and `getenv`
   might read freed memory. */
void read_environment(void);

/* The default number of threads: LINKWORK_THREADS, else one for each core that the process may use. */
int default_threads(void);

long long nanoseconds(void);

/* Run Python's signal handlers; returns INTERRUPTED if one of them raises, and NEW_CODE if the Call has got
   other code. A handler may fork and return in the child, where no thread computes the chunks that other
   threads had taken. */
int handle_signals(const Job *job, PyThreadState **state);

/* Compute the chunks of a planned job on `job->threads` threads, or on this one if the helpers are busy. */
void run_on_threads(Job *job, char *block, PyThreadState **state);

/* Run a planned job, on several threads if it is enough work; the GIL is not held. The calling thread
   acquires it with `state` to handle signals; NULL if it does not handle them. */
void run_without_gil(Job *job, char *block, PyThreadState **state);

/* Release the GIL, which is held, run a planned job, and acquire the GIL again. */
void run_releasing_gil(Job *job, char *block);

#endif
