/* Memory of large result arrays, which is reused after an array is freed.
 *
 * The system clears each page of memory when it is first written. For the mass matrices of a large batch,
 * this takes longer than computing them.
 *
 * Owner     the array itself, through NumPy's interface for allocators: it has no base, may be resized,
 *           and tracemalloc counts it. Memory is freed when no array and no view uses it
 * Spare     freed regions are kept for later arrays, for a second, and at most `most_spare` bytes: then a
 *           thread returns them to the system. The thread ends when none is left. They are returned
 *           immediately if there is no memory for a new array
 * Off       NumPy's allocator is used with LINKWORK_POOL=off, for small arrays, on Windows, and if the
 *           program has set an allocator for NumPy
 * Threads   NumPy calls with the GIL held, which also guards the environment variables read here; a mutex
 *           guards the list, which the thread that returns memory uses without the GIL
 * Fork      the child starts without spare regions: writing to those of the parent would copy them
 */
#include "result_memory.h"

#define POOLED_BYTES ((size_t)256 << 10)  /* smaller arrays use NumPy's allocator */

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
#include <sanitizer/asan_interface.h>  /* reports the use of freed memory */
#define FORBID(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define ALLOW(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
#define FORBID(start, bytes) ((void)0)
#define ALLOW(start, bytes) ((void)0)
#endif

#define PAGE_BYTES ((size_t)64 << 10)     /* a multiple of the page size of every system */
#define HUGE_BYTES ((size_t)2 << 20)      /* size of a huge page, to which larger regions are aligned */
#define MOST_SPARE ((size_t)1 << 30)      /* maximum size of spare memory on any machine */
#define SPARE_SHARE 32                    /* spare memory is at most this fraction: 1 / 32 */
#define MOST_REGIONS 64
#define SPARE_SECONDS 1                   /* time for which a spare region is kept */

typedef struct Region {    /* at the start of a mapping, followed by the elements */
    size_t bytes;          /* of the mapping */
    long long since;       /* when it became spare [ns] */
    struct Region *older;
} Region;

static struct {
    pthread_mutex_t mutex;
    Region *newest;        /* list of the spare regions */
    size_t bytes;          /* of all spare regions */
    int count;
    int has_cleaner;       /* whether the thread that returns them to the system runs */
} spares = {PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0, 0};

static long long clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Read a number of bytes from a system file; 0 if there is none. */
static size_t bytes_in(const char *path)
{
    unsigned long long number = 0;
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%llu", &number) != 1) number = 0;  /* "max", which is no limit */
    fclose(file);
    return number > SIZE_MAX ? SIZE_MAX : (size_t)number;
}

/* The memory of the machine, or the limit of the container that the process runs in. */
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

/* The maximum size of spare memory: LINKWORK_POOL in megabytes, else a fraction of the memory. */
static size_t most_spare(void)
{
    static size_t default_bytes = 0;
    const char *value = getenv("LINKWORK_POOL");
    if (value && *value) {
        if (strcmp(value, "off") == 0) return 0;
        if (strspn(value, "0123456789") == strlen(value)) {
            unsigned long megabytes = strtoul(value, NULL, 10);
            return (size_t)(megabytes < 1000000 ? megabytes : 1000000) * 1000000;
        }
    }
    if (!default_bytes) {
        default_bytes = memory_bytes() / SPARE_SHARE;
        if (default_bytes > MOST_SPARE) default_bytes = MOST_SPARE;
    }
    return default_bytes;
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

/* With the mutex held: cut the list of spare regions here, and return its end. */
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

/* With the mutex held: start the thread if it is not running; 0 if it cannot be started. */
static int start_cleaner(void)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t cleaner;
    if (spares.has_cleaner) return 1;
    if (pthread_attr_init(&attributes)) return 0;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
    sigfillset(&all);                   /* the thread does not receive signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    spares.has_cleaner = pthread_create(&cleaner, &attributes, cleaner_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return spares.has_cleaner;
}

/* Take the smallest spare region of at least `bytes`, if it is not much larger; else NULL. */
static Region *spare_region(size_t bytes)
{
    pthread_mutex_lock(&spares.mutex);
    Region **best = NULL, *region = NULL;
    for (Region **link = &spares.newest; *link; link = &(*link)->older)
        if ((*link)->bytes >= bytes && (*link)->bytes <= bytes + bytes / 4
            && (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    if (best) {
        region = *best;
        *best = region->older;
        spares.bytes -= region->bytes;
        spares.count--;
    }
    pthread_mutex_unlock(&spares.mutex);
    if (region) ALLOW(region, region->bytes);
    return region;
}

/* Map a new region; NULL if there is no memory. Large regions are aligned to huge pages and request them. */
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
        const char *value = getenv("NUMPY_MADVISE_HUGEPAGE");  /* as NumPy does for its arrays */
        if (!value || strcmp(value, "0") != 0) madvise(start, bytes, MADV_HUGEPAGE);
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
    if (!region) {  /* try again without spare regions */
        return_spares();
        region = mapped_region(bytes);
    }
    return region ? (char *)region + CACHE_LINE : NULL;
}

/* Keep a region as spare; the oldest spare regions above the limit are returned to the system. */
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
    size_t old_size = ((Region *)((char *)start - CACHE_LINE))->bytes - CACHE_LINE;
    memcpy(moved, start, old_size < size ? old_size : size);
    pool_free(unused, start, old_size);
    return moved;
}

static PyDataMem_Handler pool_handler = {
    "linkwork_pool", 1, {NULL, pool_malloc, pool_calloc, pool_realloc, pool_free}};
static PyObject *pool_capsule;  /* the handler in the form that NumPy expects */

static void hold_pool(void) { pthread_mutex_lock(&spares.mutex); }
static void release_pool(void) { pthread_mutex_unlock(&spares.mutex); }

/* In a forked child, with the mutex held since before the fork: there are no other threads. */
static void forget_pool(void)
{
    Region *parent_regions = cut_off(&spares.newest);
    spares.has_cleaner = 0;
    release_pool();
    unmap(parent_regions);
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

PyObject *new_array(int axes, npy_intp *shape, int type)
{
    double bytes = type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    for (int i = 0; i < axes; i++) bytes *= (double)shape[i];
    if (bytes < (double)POOLED_BYTES || most_spare() == 0)
        return PyArray_SimpleNew(axes, shape, type);
    PyObject *before = PyDataMem_SetHandler(pool_capsule);
    if (!before) return NULL;
    if (before != PyDataMem_DefaultHandler) {  /* the program has set another allocator */
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

/* empty(shape, dtype): create an array with the memory of results. */
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

/* spare_bytes(): the bytes of memory that are kept for later arrays. */
PyObject *module_spare_bytes(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromSize_t(spare_bytes());
}
