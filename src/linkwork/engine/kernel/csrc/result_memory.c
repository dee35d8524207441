/* Memory of large result arrays, which is reused when an array is freed.
 *
 * The system hands out memory page by page, and clears each page when it is first written. For the
 * mass matrices of a large batch this takes longer than computing them.
 *
 * Owner     the array itself, by NumPy's interface for allocators: it has no base, may be resized,
 *           and tracemalloc counts it. Memory comes back when no array and no view is left
 * Spare     regions are kept for later arrays, most of `most_spare` bytes together, and for a second:
 *           then a thread returns them to the system. The thread ends when none is left. They are
 *           returned at once if there is no memory for a new array
 * Off       with LINKWORK_POOL=off, for small arrays, on Windows, and where the program has chosen an
 *           allocator for NumPy itself: then that of NumPy is used
 * Threads   NumPy calls with the GIL held, which also guards the environment that is read here; a mutex
 *           guards the list, which the thread that returns memory uses without the GIL
 * Fork      the child starts without spare regions: to write to those of the parent would copy them
 */
#include "result_memory.h"

#define POOLED_BYTES ((size_t)256 << 10)  /* smaller arrays are left to NumPy */

#ifdef _WIN32

PyObject *new_array(int axes, npy_intp *shape, int type)
{
    return PyArray_SimpleNew(axes, shape, type);
}

int start_result_memory(void) { return 0; }
static size_t spare_bytes(void) { return 0; }

#else

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>  /* reports the use of memory that has been given back */
#define FORBID(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define ALLOW(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
#define FORBID(start, bytes) ((void)0)
#define ALLOW(start, bytes) ((void)0)
#endif

#define PAGE_BYTES ((size_t)64 << 10)     /* a multiple of the pages of every system */
#define HUGE_BYTES ((size_t)2 << 20)      /* of a huge page, to which larger regions are aligned */
#define MOST_SPARE ((size_t)1 << 30)      /* bytes that are kept at most, on any machine */
#define SPARE_SHARE 32                    /* at most this part of the memory is kept */
#define MOST_REGIONS 64
#define SPARE_SECONDS 1                   /* a region is kept for so long */

typedef struct Region {    /* at the start of a mapping; the numbers follow */
    size_t bytes;          /* of the mapping */
    long long since;       /* when it became spare [ns] */
    struct Region *older;
} Region;

static struct {
    pthread_mutex_t mutex;
    Region *newest;        /* of the spare regions */
    size_t bytes;          /* of all of them */
    int count;
    int has_cleaner;       /* whether the thread that returns them to the system runs */
} spares = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0, 0};

static long long clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A number of bytes in a file of the system; 0 if there is none. */
static size_t bytes_in(const char *path)
{
    unsigned long long number = 0;
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%llu", &number) != 1) number = 0;  /* "max": no limit */
    fclose(file);
    return number > SIZE_MAX ? SIZE_MAX : (size_t)number;
}

/* The memory of the machine, or of the container that the process runs in. */
static size_t memory_bytes(void)
{
    static const char *limits[] = {"/sys/fs/cgroup/memory.max",
                                   "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
    for (int k = 0; k < 2; k++) {
        size_t limit = bytes_in(limits[k]);
        if (limit && limit < bytes) bytes = limit;
    }
    return bytes;
}

/* The most bytes that are kept: LINKWORK_POOL in megabytes, else a share of the memory. */
static size_t most_spare(void)
{
    static size_t usual = 0;
    const char *given = getenv("LINKWORK_POOL");
    if (given && *given) {
        if (strcmp(given, "off") == 0) return 0;
        if (strspn(given, "0123456789") == strlen(given)) {
            unsigned long megabytes = strtoul(given, NULL, 10);
            return (size_t)(megabytes < 1000000 ? megabytes : 1000000) * 1000000;
        }
    }
    if (!usual) {
        usual = memory_bytes() / SPARE_SHARE;
        if (usual > MOST_SPARE) usual = MOST_SPARE;
    }
    return usual;
}

static void unmap(Region *region)
{
    while (region) {
        Region *older = region->older;
        ALLOW(region, region->bytes);
        munmap(region, region->bytes);
        region = older;
    }
}

/* With the mutex held: take the regions from here on out of the list, as a list of their own. */
static Region *cut_off(Region **from)
{
    Region *cut = *from;
    *from = NULL;
    for (Region *region = cut; region; region = region->older) {
        spares.bytes -= region->bytes;
        spares.count--;
    }
    return cut;
}

/* Return all spare regions to the system. */
static void return_spares(void)
{
    pthread_mutex_lock(&spares.mutex);
    Region *cut = cut_off(&spares.newest);
    pthread_mutex_unlock(&spares.mutex);
    unmap(cut);
}

/* The thread that returns spare regions to the system; it ends when none is left. */
static void *cleaner_main(void *unused)
{
    int is_done = 0;
    while (!is_done) {
        struct timespec pause = {SPARE_SECONDS, 0};
        nanosleep(&pause, NULL);
        long long before = clock_ns() - SPARE_SECONDS * 1000000000LL;
        pthread_mutex_lock(&spares.mutex);
        Region **from = &spares.newest;
        while (*from && (*from)->since > before) from = &(*from)->older;
        Region *cut = cut_off(from);
        is_done = !spares.newest;
        if (is_done) spares.has_cleaner = 0;
        pthread_mutex_unlock(&spares.mutex);
        unmap(cut);
    }
    return unused;
}

/* With the mutex held: have the thread run; 0 if it cannot be started. */
static int start_cleaner(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t cleaner;
    if (spares.has_cleaner) return 1;
    if (pthread_attr_init(&attributes)) return 0;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
    sigfillset(&all);                   /* signals go to the threads of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    spares.has_cleaner = pthread_create(&cleaner, &attributes, cleaner_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return spares.has_cleaner;
}

/* The smallest spare region with so many bytes, if it is not much larger; else NULL. */
static Region *spare_region(size_t bytes)
{
    pthread_mutex_lock(&spares.mutex);
    Region **best = NULL, *found = NULL;
    for (Region **at = &spares.newest; *at; at = &(*at)->older)
        if ((*at)->bytes >= bytes && (*at)->bytes <= bytes + bytes / 4
            && (!best || (*at)->bytes < (*best)->bytes))
            best = at;
    if (best) {
        found = *best;
        *best = found->older;
        spares.bytes -= found->bytes;
        spares.count--;
    }
    pthread_mutex_unlock(&spares.mutex);
    if (found) ALLOW(found, found->bytes);
    return found;
}

/* A new region; NULL if there is no memory. Large ones start at a huge page, and ask for such. */
static Region *mapped_region(size_t bytes)
{
    size_t more = bytes >= HUGE_BYTES ? HUGE_BYTES : 0;
    char *start = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    if (start == MAP_FAILED) return NULL;
    if (more) {
        size_t before = (HUGE_BYTES - (uintptr_t)start % HUGE_BYTES) % HUGE_BYTES;
        if (before) munmap(start, before);
        start += before;
        munmap(start + bytes, more - before);
#ifdef MADV_HUGEPAGE
        const char *wish = getenv("NUMPY_MADVISE_HUGEPAGE");  /* as for NumPy's own arrays */
        if (!wish || strcmp(wish, "0") != 0) madvise(start, bytes, MADV_HUGEPAGE);
#endif
    }
    Region *region = (Region *)start;
    region->bytes = bytes;
    return region;
}

static void *pool_malloc(void *unused, size_t size)
{
    (void)unused;
    if (size > SIZE_MAX / 2) return NULL;
    size_t bytes = (CACHE_LINE + size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    Region *region = spare_region(bytes);
    if (!region) region = mapped_region(bytes);
    if (!region) {  /* those that are spare may be what is missing */
        return_spares();
        region = mapped_region(bytes);
    }
    return region ? (char *)region + CACHE_LINE : NULL;
}

/* Keep a region, unless that would be too much; what became spare first is returned to the system. */
static void pool_free(void *unused, void *start, size_t size)
{
    (void)unused;
    (void)size;
    if (!start) return;
    Region *region = (Region *)((char *)start - CACHE_LINE), *cut = NULL;
    size_t most = most_spare();
    region->since = clock_ns();
    region->older = NULL;
    FORBID(start, region->bytes - CACHE_LINE);
    pthread_mutex_lock(&spares.mutex);
    if (region->bytes <= most && start_cleaner()) {
        region->older = spares.newest;
        spares.newest = region;
        spares.bytes += region->bytes;
        spares.count++;
        size_t bytes = 0;
        int count = 0;
        Region **from = &spares.newest;
        while (*from && (bytes += (*from)->bytes) <= most && ++count <= MOST_REGIONS)
            from = &(*from)->older;
        cut = cut_off(from);
    } else {
        cut = region;
    }
    pthread_mutex_unlock(&spares.mutex);
    unmap(cut);
}

static void *pool_calloc(void *unused, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return NULL;
    void *start = pool_malloc(unused, count * size);
    return start ? memset(start, 0, count * size) : NULL;
}

static void *pool_realloc(void *unused, void *start, size_t size)
{
    void *moved = pool_malloc(unused, size);
    if (!moved || !start) return moved;
    size_t held = ((Region *)((char *)start - CACHE_LINE))->bytes - CACHE_LINE;
    memcpy(moved, start, held < size ? held : size);
    pool_free(unused, start, held);
    return moved;
}

static PyDataMem_Handler pool_handler = {
    "linkwork_pool", 1, {NULL, pool_malloc, pool_calloc, pool_realloc, pool_free}};
static PyObject *pool_capsule;  /* the handler as NumPy takes it */

static void hold_pool(void) { pthread_mutex_lock(&spares.mutex); }
static void release_pool(void) { pthread_mutex_unlock(&spares.mutex); }

/* In a forked child, with the mutex held since before: there is no thread but this one. */
static void forget_pool(void)
{
    Region *parents = cut_off(&spares.newest);
    spares.has_cleaner = 0;
    release_pool();
    unmap(parents);
}

int start_result_memory(void)
{
    pool_capsule = PyCapsule_New(&pool_handler, "mem_handler", NULL);
    if (!pool_capsule) return -1;
    if (pthread_atfork(hold_pool, release_pool, forget_pool) == 0) return 0;
    PyErr_NoMemory();
    return -1;
}

static size_t spare_bytes(void)
{
    pthread_mutex_lock(&spares.mutex);
    size_t bytes = spares.bytes;
    pthread_mutex_unlock(&spares.mutex);
    return bytes;
}

/* A new array, in C order; its numbers are not set. */
PyObject *new_array(int axes, npy_intp *shape, int type)
{
    double bytes = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (int i = 0; i < axes; i++) bytes *= (double)shape[i];
    if (bytes < (double)POOLED_BYTES || most_spare() == 0)
        return PyArray_SimpleNew(axes, shape, type);
    PyObject *before = PyDataMem_SetHandler(pool_capsule);
    if (!before) return NULL;
    if (before != PyDataMem_DefaultHandler) {  /* the program wants another allocator */
        PyObject *ours = PyDataMem_SetHandler(before);
        Py_DECREF(before);
        if (!ours) return NULL;
        Py_DECREF(ours);
        return PyArray_SimpleNew(axes, shape, type);
    }
    PyObject *array = PyArray_SimpleNew(axes, shape, type);
    PyObject *ours = PyDataMem_SetHandler(before);
    Py_DECREF(before);
    if (!ours) Py_CLEAR(array);
    Py_XDECREF(ours);
    return array;
}

#endif

/* empty(shape, dtype): a new array, as the results of calls are. */
PyObject *module_empty(PyObject *module, PyObject *args)
{
    PyArray_Dims shape = {NULL, 0};
    PyArray_Descr *dtype = NULL;
    PyObject *array = NULL;
    (void)module;
    if (PyArg_ParseTuple(args, "O&O&", PyArray_IntpConverter, &shape, PyArray_DescrConverter,
                         &dtype)) {
        int type = dtype->type_num;
        if (type == NPY_DOUBLE || type == NPY_FLOAT) array = new_array(shape.len, shape.ptr, type);
        else PyErr_SetString(PyExc_ValueError, "empty: expected float64 or float32");
    }
    Py_XDECREF(dtype);
    PyDimMem_FREE(shape.ptr);
    return array;
}

/* spare_bytes(): how much memory is kept for later arrays. */
PyObject *module_spare_bytes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromSize_t(spare_bytes());
}
