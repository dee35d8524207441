/* Rows of a batch shared out over threads, without the interpreter.
 *
 * Each thread first looks at an equal part of the rows, whether what must have norm 1 has it, and all
 * wait for each other: nothing is written unless all rows are good. Then each takes some rows, and some
 * more, until there are none. The calling thread is one of them.
 */
#ifndef LINKWORK_THREADS_H
#define LINKWORK_THREADS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define MOST_THREADS 64
#define CHUNKS 8  /* a thread takes rows about so many times */

typedef struct {
    const Call *call;
    function_t one, many;
    npy_intp width, rows, chunk;
    void *const *in, *const *out;
    npy_int64 *stride;
    pthread_mutex_t mutex;
    pthread_cond_t all_looked;
    npy_intp next;           /* the first row that nobody has taken */
    int waiting;             /* threads that have yet to look */
    int is_good;             /* 0 as soon as one has found a row that is not */
    int is_finite;
} Team;

typedef struct {             /* rows that a thread looks at */
    Team *team;
    npy_intp start, stop;
} Part;

/* How many threads to use: LINKWORK_THREADS, else one for each core that the process may use. */
static int default_threads(void)
{
    const char *given = getenv("LINKWORK_THREADS");
    if (given && *given && strspn(given, "0123456789") == strlen(given)) {
        long count = strtol(given, NULL, 10);
        return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (int)count;
    }
#ifdef __linux__
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
        int count = CPU_COUNT(&cores);
        return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : count;
    }
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (int)count;
}

/* Wait until all have looked; gives whether all rows are good. */
static int all_good(Team *team, int is_good)
{
    pthread_mutex_lock(&team->mutex);
    team->is_good &= is_good;
    if (--team->waiting == 0) pthread_cond_broadcast(&team->all_looked);
    while (team->waiting > 0) pthread_cond_wait(&team->all_looked, &team->mutex);
    is_good = team->is_good;
    pthread_mutex_unlock(&team->mutex);
    return is_good;
}

/* Whether a part of the rows is good. */
static int looked(const Part *part)
{
    const Team *team = part->team;
    void *in[MOST_PORTS], *out[MOST_PORTS];
    step(team->call, team->in, team->out, team->stride, part->start, in, out);
    return rows_are_unit(team->call, in, team->stride, part->stop - part->start);
}

/* Compute some rows, and some more, until there are none. */
static void take_rows(Team *team)
{
    void *in[MOST_PORTS], *out[MOST_PORTS];
    for (;;) {
        pthread_mutex_lock(&team->mutex);
        npy_intp start = team->next, stop = start + team->chunk;
        team->next = stop;
        pthread_mutex_unlock(&team->mutex);
        if (start >= team->rows) return;
        if (stop > team->rows) stop = team->rows;
        step(team->call, team->in, team->out, team->stride, start, in, out);
        compute(team->call, team->one, team->many, team->width, in, out, team->stride,
                stop - start);
        if (team->call->finite && !all_finite(team->call, out, stop - start)) {
            pthread_mutex_lock(&team->mutex);
            team->is_finite = 0;
            pthread_mutex_unlock(&team->mutex);
        }
    }
}

static void *work(void *given)
{
    Part *part = given;
    if (all_good(part->team, looked(part))) take_rows(part->team);
    return NULL;
}

/* Run on several threads; gives 0 if rows are not good, or results not finite. */
static int run_shared(const Call *self, void *const *in, void *const *out, npy_int64 *stride,
                      npy_intp rows, int threads)
{
    pthread_t others[MOST_THREADS];
    Part parts[MOST_THREADS];
    int started[MOST_THREADS] = {0}, missing = 0;
    npy_intp chunk = rows / (threads * CHUNKS) / self->width * self->width;
    Team team = {
        self, self->one, self->many, self->width, rows, chunk < self->width ? self->width : chunk,
        in, out, stride, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, threads, 1, 1};
    PyObject *keep = self->keep;
    Py_XINCREF(keep);
    stride[self->n_in] = output_bytes(self, rows) > STREAMED_BYTES;
    Py_BEGIN_ALLOW_THREADS
    for (int t = threads - 1; t >= 0; t--) {
        parts[t] = (Part){&team, rows * t / threads, rows * (t + 1) / threads};
        if (t > 0) {
            started[t] = pthread_create(&others[t], NULL, work, &parts[t]) == 0;
            missing += !started[t];
        }
    }
    if (missing) {           /* the system allows no more: this thread looks at their rows */
        int is_good = 1;
        for (int t = 1; t < threads; t++)
            if (!started[t]) is_good &= looked(&parts[t]);
        pthread_mutex_lock(&team.mutex);
        team.is_good &= is_good;
        team.waiting -= missing;
        pthread_mutex_unlock(&team.mutex);
    }
    work(&parts[0]);
    for (int t = 1; t < threads; t++)
        if (started[t]) pthread_join(others[t], NULL);
    Py_END_ALLOW_THREADS
    Py_XDECREF(keep);
    return team.is_good && team.is_finite;
}

#endif
