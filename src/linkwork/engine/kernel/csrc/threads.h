/* The chunks of a job on several threads, without the GIL. */
#ifndef LINKWORK_THREADS_H
#define LINKWORK_THREADS_H

#include "chunks.h"

/* A batch of more work than this is shared by several threads: rows times `Code.cost`, whose unit is about
   a quarter of a nanosecond, so this is 50 microseconds on one core. It is some twice what waking a helper
   costs: with pthread_cond_broadcast after 1 ms of sleep, on two cores of an AMD EPYC in use by other
   programs, a helper started after 8 microseconds at best and 9 to 23 in the median of 1,000, and the call
   took 2 at best and 12 in the median. The gain has not been measured on idle cores. Where cores are in use,
   a helper that is interrupted holds the call up, and two threads may be slower than one. */
#define SHARED_WORK 200000.0
#define SIGNAL_NS 20000000 /* the calling thread checks for signals this often */

/* Whether rows that this code computes are enough work for several threads. */
static inline int is_worth_sharing(const Code *code, npy_intp rows)
{
    return (double)rows * code->cost > SHARED_WORK;
}

/* thread_counts(): how many batches were shared, and how many chunks of them helpers computed. */
PyObject *module_thread_counts(PyObject *module, PyObject *unused);

/* Prepare the helper threads for forks, when the module is imported. */
void start_threads(void);

/* A number of threads; 0 for one per core, -1 if it is not an integer. */
int read_threads(PyObject *value);

/* Read LINKWORK_THREADS, with the GIL held. */
void read_environment(void);

/* How many threads to use: LINKWORK_THREADS, else one for each core that the process may use. */
int default_threads(void);

long long nanoseconds(void);

/* Run Python's signal handlers; returns INTERRUPTED if one of them raises. */
int handle_signals(PyThreadState **state);

/* Run the chunks of a job on `job->threads` threads, if the helpers are free. */
void run_on_threads(Job *job, char *block, PyThreadState **state);

/* Run a planned job, on several threads if it is much work. No thread needs the GIL, but that of
   `state` to handle signals; NULL if none does. */
void run_chunks(Job *job, char *block, PyThreadState **state);

/* Run a planned job without the GIL, which is held before and after. */
void run_job(Job *job, char *block);

#endif
