/* A thread pool that computes the chunks of a job, without the GIL.
 *
 * The calling thread publishes its job, and helper threads may join it. Each thread takes chunks
 * of rows from a shared counter until none is left. The calling thread waits only for helpers that
 * have joined, and is the only one to handle signals.
 *
 * Helpers spin-wait briefly for the next job, then sleep. One job is published at a time: if the
 * helpers are busy, a call runs on the calling thread. A forked child starts without helpers.
 *
 * Without POSIX threads (Windows), every call runs on the calling thread.
 */
#include "threads.h"

#include "blocks.h"

#define MOST_THREADS 64
#define CHUNK_WORK 10000.0 /* minimum work of a chunk of a published job, in the unit of SHARED_WORK */
#define CHUNK_BLOCKS 4     /* minimum blocks of W rows of such a chunk, since long programs run in tiles */
#define CHUNK_NS 4000000   /* target duration of a chunk, as signals are handled after it */

int read_threads(PyObject *value)
{
    int overflow;
    if (value == Py_None) return 0;
    if (!PyLong_Check(value)) return -1;
    long threads = PyLong_AsLongAndOverflow(value, &overflow);
    if (overflow > 0 || threads > MOST_THREADS) return MOST_THREADS;
    return threads < 1 ? -1 : (int)threads;
}

/* The minimum number of rows of a chunk of a published job. */
static npy_intp fewest_rows(const Job *job)
{
    npy_intp rows = CHUNK_BLOCKS * job->code->width;
    double least = CHUNK_WORK / (job->code->cost + 1.0);
    return least > (double)rows ? (npy_intp)least : rows;
}

/* The number of rows of the next chunk: fewer towards the end, so that all threads finish together. */
static npy_intp next_chunk(const Job *job)
{
    npy_intp width = job->code->width, left = job->rows - job->next, rows = job->chunk;
    if (job->threads > 1) {
        npy_intp share = left / (2 * job->threads), fewest = job->chunk_function ? width : fewest_rows(job);
        if (share < fewest) share = fewest;
        if (share < rows) rows = round_to_width(share + width - 1, width);
    }
    return rows < left ? rows : left;
}

#ifdef _WIN32

#include <windows.h>
#define LOCK() ((void)0)
#define COUNT_CHUNK() ((void)0)
#define UNLOCK() ((void)0)
void read_environment(void) {}
int default_threads(void) { return 1; }

long long nanoseconds(void)
{
    LARGE_INTEGER now, per_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&per_second);
    return (long long)((double)now.QuadPart * 1e9 / (double)per_second.QuadPart);
}

#else

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#define SPIN_NS 50000                   /* duration of a spin-wait, after which the thread sleeps */
#define STACK_BYTES ((size_t)1 << 20)   /* stack of a helper thread */

static struct {
    pthread_mutex_t mutex;              /* guards the pool, and the fields of a Job that threads change */
    pthread_cond_t has_job, change;     /* there is a new job; all helpers have left the job */
    Job *job;                           /* the job that helpers may join; NULL if there is none */
    int is_busy;                        /* whether a call uses the helpers */
    int members;                        /* number of helpers that are working on the job */
    int joined;                         /* number of helpers that have joined it, including former ones */
    int helpers;                        /* number of threads that were started */
    unsigned jobs;                      /* number of published jobs; a change wakes the helpers */
    unsigned long chunks;               /* number of chunks that helpers have computed */
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
          NULL, 0, 0, 0, 0, 0, 0};

#define LOCK() pthread_mutex_lock(&pool.mutex)
#define COUNT_CHUNK() pool.chunks++
#define UNLOCK() pthread_mutex_unlock(&pool.mutex)

static int capped(long count)
{
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (int)count;
}

static int environment_threads;  /* last value read of LINKWORK_THREADS; 0 if it is not positive */

void read_environment(void)
{
    const char *value = getenv("LINKWORK_THREADS");
    int is_number = value && *value && strspn(value, "0123456789") == strlen(value);
    long threads = is_number ? strtol(value, NULL, 10) : 0;
    STORE_RELAXED(environment_threads, threads > 0 ? capped(threads) : 0);
}

int default_threads(void)
{
    int threads = LOAD_RELAXED(environment_threads);
    if (threads) return threads;
#ifdef __linux__
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return capped(CPU_COUNT(&cores));
#endif
    return capped(sysconf(_SC_NPROCESSORS_ONLN));
}

long long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    for (int k = 0; k < 20; k++) __builtin_ia32_pause();
#elif defined(__aarch64__)
    for (int k = 0; k < 20; k++) __asm__ volatile("yield");
#endif
}

/* Wait, with the mutex held, while a condition holds: spin-wait at first, then sleep. */
#define WAIT_WHILE(condition, signal)                                            \
    do {                                                                         \
        long long deadline = nanoseconds() + SPIN_NS;                            \
        while ((condition) && nanoseconds() < deadline) {                        \
            UNLOCK();                                                            \
            pause_briefly();                                                     \
            LOCK();                                                              \
        }                                                                        \
        while (condition) pthread_cond_wait(&(signal), &pool.mutex);             \
    } while (0)

#endif

/* Adapt the size of chunks, so that each takes about CHUNK_NS. */
static npy_intp better_chunk(const Job *job, npy_intp rows, long long elapsed)
{
    npy_intp chunk = job->chunk;
    if (rows < chunk) return chunk;  /* the time of a shorter chunk is not representative */
    if (elapsed < CHUNK_NS / 4 && chunk < job->fitting) chunk = 4 * chunk;
    if (elapsed > 2 * CHUNK_NS) chunk = chunk / 2;
    return round_to_width(chunk < job->fitting ? chunk : job->fitting, job->code->width);
}

int handle_signals(const Job *job, PyThreadState **state)
{
    PyEval_RestoreThread(*state);
#ifdef _WIN32
    int status = PyErr_CheckSignals() ? INTERRUPTED : DONE;
#else
    pid_t process = getpid();
    int status = PyErr_CheckSignals() ? INTERRUPTED : DONE;
    if (status == DONE && getpid() != process) {
        PyErr_SetString(PyExc_RuntimeError, "a signal handler forked the process during a call,"
                        " which cannot continue in the child; call the function again in the child");
        status = INTERRUPTED;
    }
#endif
    int may_change = !job->chunk_function && !job->only_checks && job->call->code;
    int is_changed = may_change && job->call->code != job->code;
    *state = PyEval_SaveThread();
    return status == DONE && is_changed ? NEW_CODE : status;
}

/* Combine the status of a chunk with that of its job; with the mutex held if there are several threads. */
static void add_status(Job *job, int status)
{
    int is_valid = job->status == DONE || job->status == NEW_CODE;
    if (status == NOT_FINITE_OUTPUT) job->has_bad_outputs = 1;  /* and continue */
    else if (status == DRIFTED) job->has_drifted = 1;
    else if (status != DONE && is_valid) STORE_RELAXED(job->status, status);
}

/* Compute chunks until none is left. The calling thread leads: it adapts the size of chunks, and handles
   signals if `state` is not NULL. */
static void compute_chunks(Job *job, char *block, int leads, PyThreadState **state)
{
    long long now = leads ? nanoseconds() : 0;
    if (state) job->handled = now;
    LOCK();
    while (job->next < job->rows && job->status == DONE) {
        npy_intp start = job->next, rows = next_chunk(job);
        job->next += rows;
        UNLOCK();
        int status = job->chunk_function ? job->chunk_function(job, start, rows, block, state)
                                         : compute_chunk(job, start, rows, block);
        long long before = now;
        if (leads && start + rows < job->rows) {
            now = nanoseconds();
            if (state && status == DONE && now - job->handled > SIGNAL_NS) {
                status = handle_signals(job, state);
                job->handled = nanoseconds();
            }
        }
        LOCK();
        if (!leads) COUNT_CHUNK();
        if (leads && now > before && !job->chunk_function) job->chunk = better_chunk(job, rows, now - before);
        add_status(job, status);
    }
    UNLOCK();
}

#ifndef _WIN32

static void *helper_main(void *unused)
{
    Block block = {NULL, NULL, 0};
    unsigned last_job = 0;
    LOCK();
    for (;;) {
        WAIT_WHILE(pool.jobs == last_job, pool.has_job);
        last_job = pool.jobs;
        Job *job = pool.job;
        if (!job || pool.joined >= job->threads - 1) continue;
        pool.joined++;
        pool.members++;
        UNLOCK();
        if (reserve(&block, job->bytes)) compute_chunks(job, block.start, 0, NULL);
        if (block.bytes > MOST_SPARE_BYTES) {
            free(block.allocated);
            block = (Block){NULL, NULL, 0};
        }
        LOCK();
        if (--pool.members == 0) pthread_cond_broadcast(&pool.change);
    }
    return unused;
}

/* With the mutex held: start helpers until there are `count`, or as many as the system allows. */
static void start_helpers(int count)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pool.helpers >= count || pthread_attr_init(&attributes)) return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);                   /* helpers do not receive signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t helper;
    while (pool.helpers < count && pthread_create(&helper, &attributes, helper_main, NULL) == 0)
        pool.helpers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* In a forked child: the helpers, and a thread that may have held the mutex, do not exist. */
static void forget_helpers(void)
{
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.has_job, NULL);
    pthread_cond_init(&pool.change, NULL);
    pool.job = NULL;
    pool.is_busy = pool.members = pool.joined = pool.helpers = 0;
    pool.jobs = 0;
}

void start_threads(void) { pthread_atfork(NULL, NULL, forget_helpers); }

PyObject *module_thread_counts(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    LOCK();
    unsigned jobs = pool.jobs;
    unsigned long chunks = pool.chunks;
    UNLOCK();
    return Py_BuildValue("Ik", jobs, chunks);
}

/* Publish a job, so that helpers join it; 0 if they are busy with another. */
static int publish_job(Job *job)
{
    LOCK();
    int is_shared = !pool.is_busy;
    if (is_shared) {
        pool.is_busy = 1;
        pool.job = job;
        pool.joined = 0;
        pool.jobs++;
        start_helpers(job->threads - 1);
        pthread_cond_broadcast(&pool.has_job);
    }
    UNLOCK();
    return is_shared;
}

/* Wait until all helpers have left the job. */
static void withdraw_job(void)
{
    LOCK();
    pool.job = NULL;                    /* no more helpers join */
    WAIT_WHILE(pool.members > 0, pool.change);
    pool.is_busy = 0;
    UNLOCK();
}

#else
void start_threads(void) {}
PyObject *module_thread_counts(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("ii", 0, 0);
}
static int publish_job(Job *job) { (void)job; return 0; }
static void withdraw_job(void) {}
#endif

void run_on_threads(Job *job, char *block, PyThreadState **state)
{
    int is_shared = job->threads > 1 && publish_job(job);
    compute_chunks(job, block, 1, state);
    if (is_shared) withdraw_job();
}

void run_without_gil(Job *job, char *block, PyThreadState **state)
{
    npy_intp rows = job->rows - job->next;
    npy_intp most = rows / fewest_rows(job);  /* number of threads that have a chunk */
    if (most <= 1 || !is_worth_sharing(job->code, rows)) job->threads = 1;
    else if (job->threads == 0) job->threads = default_threads();
    if (job->threads > most) job->threads = (int)most;
    if (job->threads == 1 && rows <= job->chunk) {  /* one chunk: without the pool */
        add_status(job, compute_chunk(job, job->next, rows, block));
    } else {
        run_on_threads(job, block, state);
    }
}

void run_releasing_gil(Job *job, char *block)
{
    if (job->threads == 0 && is_worth_sharing(job->code, job->rows)) read_environment();
    PyThreadState *state = PyEval_SaveThread();
    run_without_gil(job, block, &state);
    PyEval_RestoreThread(state);
    if (!job->only_checks) STORE_RELAXED(job->code->chunk, job->chunk);
}
