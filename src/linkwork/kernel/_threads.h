/* Rows of a batch shared out over threads, without the interpreter.
 *
 * The calling thread forms a team that helpers may join. All look at rows, whether what must have norm
 * 1 has it, and wait for each other: nothing is written unless all rows are good. Then each takes some
 * rows, and some more, until there are none. A helper that comes late joins in, or finds nothing to do;
 * nobody waits for one that has not come.
 *
 * Helpers stay for the next batch: they look out for it for a moment, then sleep. There is one team at
 * a time; a call that finds the helpers busy works alone. The child of a fork starts without helpers.
 */
#ifndef LINKWORK_THREADS_H
#define LINKWORK_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define MOST_THREADS 64
#define FEWEST_ROWS 64                 /* that a thread takes, unless there are no more */
#define PATIENCE 50000                 /* [ns] to look out for work, or for others, before sleeping */
#define STACK_BYTES ((size_t)16 << 20) /* of a helper: stages of large outputs are on it */

typedef struct {
    const Call *call;
    function_t one, many;
    npy_intp width, rows;
    void *const *in, *const *out;
    npy_int64 *stride;
    int threads;                       /* that may be in the team */
    npy_intp to_look, looked;          /* the first row that nobody has looked at; rows looked at */
    npy_intp to_compute;               /* the first row that nobody has taken */
    int is_good, is_finite;
} Team;

static struct {
    pthread_mutex_t mutex;             /* of all that is here, and of what teams count */
    pthread_cond_t work, change;       /* there is a team; something in it is done */
    Team *team;                        /* that helpers may join */
    int is_busy;                       /* whether somebody has a team */
    int members;                       /* helpers in the team */
    int joined;                        /* how many there have been */
    int helpers;
    unsigned teams;                    /* that there have been */
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
          NULL, 0, 0, 0, 0, 0};

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

static long long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    for (int k = 0; k < 20; k++) __builtin_ia32_pause();
#elif defined(__aarch64__)
    for (int k = 0; k < 20; k++) __asm__ volatile("yield");
#endif
}

/* Wait, with the mutex held, while a condition holds: awake at first, then asleep. */
#define WAIT_WHILE(condition, signal)                                            \
    do {                                                                         \
        long long give_up = nanoseconds() + PATIENCE;                            \
        while ((condition) && nanoseconds() < give_up) {                         \
            pthread_mutex_unlock(&pool.mutex);                                   \
            pause_a_little();                                                    \
            pthread_mutex_lock(&pool.mutex);                                     \
        }                                                                        \
        while (condition) pthread_cond_wait(&(signal), &pool.mutex);             \
    } while (0)

/* How many rows to take when so many are left: fewer towards the end, so that all end together. */
static npy_intp portion(const Team *team, npy_intp left)
{
    npy_intp rows = left / (2 * team->threads) / team->width * team->width;
    npy_intp fewest = (FEWEST_ROWS + team->width - 1) / team->width * team->width;
    if (rows < fewest) rows = fewest;
    return rows < left ? rows : left;
}

/* Look at rows until none are left, then wait for those who still look. Gives whether all are good. */
static int look(Team *team)
{
    void *in[MOST_PORTS], *out[MOST_PORTS];
    pthread_mutex_lock(&pool.mutex);
    while (team->to_look < team->rows) {
        npy_intp start = team->to_look, count = portion(team, team->rows - start);
        team->to_look += count;
        pthread_mutex_unlock(&pool.mutex);
        step(team->call, team->in, team->out, team->stride, start, in, out);
        int is_good = rows_are_unit(team->call, in, team->stride, count);
        pthread_mutex_lock(&pool.mutex);
        team->looked += count;
        team->is_good &= is_good;
        if (team->looked == team->rows) pthread_cond_broadcast(&pool.change);
    }
    WAIT_WHILE(team->looked < team->rows, pool.change);
    int is_good = team->is_good;
    pthread_mutex_unlock(&pool.mutex);
    return is_good;
}

/* Compute rows until none are left. */
static void take_rows(Team *team)
{
    void *in[MOST_PORTS], *out[MOST_PORTS];
    pthread_mutex_lock(&pool.mutex);
    while (team->to_compute < team->rows) {
        npy_intp start = team->to_compute, count = portion(team, team->rows - start);
        team->to_compute += count;
        pthread_mutex_unlock(&pool.mutex);
        step(team->call, team->in, team->out, team->stride, start, in, out);
        compute(team->call, team->one, team->many, team->width, in, out, team->stride, count);
        int is_finite = !team->call->finite || all_finite(team->call, out, count);
        pthread_mutex_lock(&pool.mutex);
        team->is_finite &= is_finite;
    }
    pthread_mutex_unlock(&pool.mutex);
}

static void *help(void *unused)
{
    unsigned seen = 0;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        WAIT_WHILE(pool.teams == seen, pool.work);
        seen = pool.teams;
        Team *team = pool.team;
        if (!team || pool.joined >= team->threads - 1) continue;  /* it has gone on without us */
        pool.joined++;
        pool.members++;
        pthread_mutex_unlock(&pool.mutex);
        if (look(team)) take_rows(team);
        pthread_mutex_lock(&pool.mutex);
        if (--pool.members == 0) pthread_cond_broadcast(&pool.change);
    }
    return unused;
}

/* With the mutex held: have so many helpers, or as many as the system allows. */
static void hire(int count)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pool.helpers >= count || pthread_attr_init(&attributes)) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);                  /* signals are for the threads of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t helper;
    while (pool.helpers < count && pthread_create(&helper, &attributes, help, NULL) == 0)
        pool.helpers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* In the child of a fork: the helpers are gone, and whoever held the mutex. */
static void forget_helpers(void)
{
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.change, NULL);
    pool.team = NULL;
    pool.is_busy = pool.members = pool.joined = pool.helpers = 0;
    pool.teams = 0;
}

/* Run on several threads; gives 0 if rows are not good, or results not finite. */
static int run_shared(const Call *self, void *const *in, void *const *out, npy_int64 *stride,
                      npy_intp rows, int threads)
{
    Team team = {self, self->one, self->many, self->width, rows, in, out, stride,
                 threads, 0, 0, 0, 1, 1};
    PyObject *keep = self->keep;
    Py_XINCREF(keep);
    stride[self->n_in] = output_bytes(self, rows) > STREAMED_BYTES;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&pool.mutex);
    int has_helpers = !pool.is_busy;
    if (has_helpers) {
        pool.is_busy = 1;
        pool.team = &team;
        pool.joined = 0;
        pool.teams++;
        hire(threads - 1);
        pthread_cond_broadcast(&pool.work);
    }
    pthread_mutex_unlock(&pool.mutex);
    if (look(&team)) take_rows(&team);
    if (has_helpers) {
        pthread_mutex_lock(&pool.mutex);
        pool.team = NULL;              /* nobody joins any more */
        WAIT_WHILE(pool.members > 0, pool.change);
        pool.is_busy = 0;
        pthread_mutex_unlock(&pool.mutex);
    }
    Py_END_ALLOW_THREADS
    Py_XDECREF(keep);
    return team.is_good && team.is_finite;
}

#endif
