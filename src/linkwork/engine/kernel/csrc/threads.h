/* The chunks of a job on several threads, without the GIL. */
#ifndef LINKWORK_THREADS_H
#define LINKWORK_THREADS_H

#include "chunks.h"

#define SHARED_ROWS 2048   /* a batch of more rows is shared by several threads */
#define SIGNAL_NS 20000000 /* the calling thread checks for signals this often */

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

/* Run a planned job, on several threads if it has many rows. No thread needs the GIL, but that of
   `state` to handle signals; NULL if none does. */
void run_chunks(Job *job, char *block, PyThreadState **state);

/* Run a planned job without the GIL, which is held before and after. */
void run_job(Job *job, char *block);

#endif
