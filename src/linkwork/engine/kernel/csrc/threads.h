/* The chunks of a job on several threads, without the GIL. */
#ifndef LINKWORK_THREADS_H
#define LINKWORK_THREADS_H

#include "chunks.h"

/* A batch of more work than this is shared by several threads: rows times `Code.work`, whose unit is about
   a quarter of a nanosecond, so this is 50 microseconds. Measured on an AMD EPYC for com, bias force, mass
   matrix and forward dynamics of a quadruped, 64 to 4,096 rows with threads=1 and threads=2. Helpers that
   are awake (calls one after the other) cost 0.3 to 1 microseconds, and save a third from 40 microseconds
   on. Helpers that sleep (1 ms between calls) cost the calling thread 3 to 5 microseconds, and take some 50
   to start. */
#define SHARED_WORK 200000.0
#define SIGNAL_NS 20000000 /* the calling thread checks for signals this often */

/* Whether rows that this code computes are enough work for several threads. */
static inline int is_worth_sharing(const Code *code, npy_intp rows)
{
    return (double)rows * code->work > SHARED_WORK;
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
