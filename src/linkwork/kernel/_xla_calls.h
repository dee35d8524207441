/* Calls from programs that XLA has compiled, as JAX makes them: one handler for all functions.
 *
 * Such a program names the function by its key, a digest of what is computed, rather than by an
 * address: so it may be kept on disk, exported, and run in another process. A Call is entered in a
 * table under its key by `_share`, and leaves it when it is destroyed, after calls that are under way
 * have ended.
 *
 * XLA calls without the GIL, on any of its threads. The handler takes the GIL only where Python has
 * to help: for the first call, which makes the code, and for errors. `xla_lock` guards the table, the
 * spare blocks of memory of these calls, and the code of Calls that are in the table.
 */
#ifndef LINKWORK_XLA_CALLS_H
#define LINKWORK_XLA_CALLS_H

#include "_threads.h"
#include "_xla_ffi.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#define KEY_LENGTH 64      /* hexadecimal digits */
#define BUCKETS 256
#define LARGE_PAGES_BYTES ((size_t)4 << 20)  /* results from this size on are given large pages */

#ifdef _WIN32
static SRWLOCK xla_lock = SRWLOCK_INIT;
#define XLA_LOCK() AcquireSRWLockExclusive(&xla_lock)
#define XLA_UNLOCK() ReleaseSRWLockExclusive(&xla_lock)
#define rest_briefly() Sleep(1)
#else
static pthread_mutex_t xla_lock = PTHREAD_MUTEX_INITIALIZER;
#define XLA_LOCK() pthread_mutex_lock(&xla_lock)
#define XLA_UNLOCK() pthread_mutex_unlock(&xla_lock)
#define rest_briefly() usleep(100)
#endif

typedef struct Shared {    /* a Call in the table */
    struct Shared *next;   /* in the same bucket */
    char key[KEY_LENGTH];
    Call *call;
    int users;             /* calls that are under way */
} Shared;

static Shared *xla_table[BUCKETS];
static Block xla_blocks[SPARE_BLOCKS];
static struct { int is_known, fits, major, minor; } xla_seen;  /* what XLA said when registering */

static Shared **bucket_of(const char *key)
{
    unsigned hash = 0;
    for (int k = 0; k < 8; k++) hash = 31 * hash + (unsigned char)key[k];
    return &xla_table[hash % BUCKETS];
}

static npy_intp width_of(const Shared *entry)
{
    return entry->call->code ? entry->call->code->width : 0;
}

/* With the lock held: the entry of a key, NULL if there is none. Equal functions have the same key;
   of several the one with the fastest code. */
static Shared *found(const char *key)
{
    Shared *best = NULL;
    for (Shared *entry = *bucket_of(key); entry; entry = entry->next)
        if (memcmp(entry->key, key, KEY_LENGTH) == 0 && (!best || width_of(entry) > width_of(best)))
            best = entry;
    return best;
}

#if PY_VERSION_HEX >= 0x030D0000
#define is_finalizing Py_IsFinalizing
#else
#define is_finalizing _Py_IsFinalizing
#endif

/* Take a Call out of the table, and wait for its calls; with the GIL held. 0 if they do not end, which
   may be so while Python is finalized: then their code must stay. */
static int withdraw_call(Call *self)
{
    Shared *entry = self->shared;
    if (!entry) return 1;
    self->shared = NULL;
    XLA_LOCK();
    for (Shared **at = bucket_of(entry->key); *at; at = &(*at)->next) {
        if (*at == entry) {
            *at = entry->next;
            break;
        }
    }
    while (entry->users > 0) {
        XLA_UNLOCK();
        if (is_finalizing()) return 0;
        Py_BEGIN_ALLOW_THREADS
        rest_briefly();
        Py_END_ALLOW_THREADS
        XLA_LOCK();
    }
    XLA_UNLOCK();
    free(entry);
    return 1;
}

/* Use other code from now on. That of a shared Call may be running: it is kept until the end. */
static void replace_code(Call *self, Code *code)
{
    Code *old = self->code;
    if (!self->shared) {
        self->code = code;
        release(old);
        return;
    }
    XLA_LOCK();
    self->code = code;
    if (old) {
        old->older = self->retired;
        self->retired = old;
    }
    XLA_UNLOCK();
}

static void release_retired(Call *self)
{
    while (self->retired) {
        Code *code = self->retired;
        self->retired = code->older;
        release(code);
    }
}

static XlaError *xla_error(const XlaFrame *frame, int code, const char *message)
{
    XlaErrorArgs args = {XLA_BYTES(XlaErrorArgs, code), NULL, message, code};
    return frame->api->new_error(&args);
}

/* The number of rows of a buffer, if its last axes are those of a port; else -1. */
static npy_intp rows_of(const Call *self, const Port *port, const XlaBuffers *buffers, int index)
{
    const XlaBuffer *buffer = buffers->buffers[index];
    if (buffers->types[index] != XLA_BUFFER || buffer->size < XLA_BYTES(XlaBuffer, shape)
        || buffer->type != (self->type == NPY_DOUBLE ? XLA_FLOAT64 : XLA_FLOAT32)
        || buffer->axes < port->axes)
        return -1;
    npy_intp rows = 1, axes = (npy_intp)buffer->axes - port->axes;
    for (npy_intp i = 0; i < axes; i++) rows *= (npy_intp)buffer->shape[i];
    for (int i = 0; i < port->axes; i++)
        if (buffer->shape[axes + i] != port->shape[i]) return -1;
    return rows;
}

/* Ask for large pages for a large result, as NumPy does for its arrays: XLA takes new memory for each
   result, and one page fault for every 4 KB may take longer than to compute it. */
static void prefer_large_pages(void *data, size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 4096, start = ((uintptr_t)data + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)data + bytes) / page * page;
    if (bytes >= LARGE_PAGES_BYTES && end > start)
        madvise((void *)start, end - start, MADV_HUGEPAGE);  /* a hint: it may fail */
#else
    (void)data;
    (void)bytes;
#endif
}

/* Where the rows of a call are; 0 if the buffers do not fit the function. */
static int read_buffers(const Call *self, const XlaFrame *frame, Job *job)
{
    size_t result_bytes = 0;
    if (frame->inputs.count != self->n_in || frame->outputs.count != self->n_out) return 0;
    job->rows = rows_of(self, &self->outs[0], &frame->outputs, 0);
    for (int k = 0; k < self->n_out; k++) {
        if (job->rows < 0 || rows_of(self, &self->outs[k], &frame->outputs, k) != job->rows)
            return 0;
        job->outs[k] = frame->outputs.buffers[k]->data;
        size_t bytes = (size_t)(job->rows * self->outs[k].size) * self->item;
        prefer_large_pages(job->outs[k], bytes);
        result_bytes += bytes;
    }
    for (int k = 0; k < self->n_in; k++) {
        npy_intp rows = rows_of(self, &self->ins[k], &frame->inputs, k);
        if (rows != job->rows && rows != 1) return 0;
        npy_intp step = rows == 1 ? 0 : self->ins[k].size * (npy_intp)self->item;
        job->sources[k] = (Source){.data = frame->inputs.buffers[k]->data, .step = step,
                                   .type = self->type, .is_direct = 1};
    }
    job->is_large = result_bytes > STREAMED_BYTES;
    return 1;
}

/* An array of the rows of a port, in memory that belongs to XLA. */
static PyObject *view_of(const Call *self, const Port *port, void *data, npy_intp rows)
{
    npy_intp shape[MOST_AXES + 1] = {rows};
    memcpy(shape + 1, port->shape, (size_t)port->axes * sizeof(npy_intp));
    return PyArray_SimpleNewFromData(port->axes + 1, shape, self->type, data);
}

/* A tuple of the arrays of all inputs or outputs. */
static PyObject *views(const Call *self, const Job *job, int is_output)
{
    int count = is_output ? self->n_out : self->n_in;
    PyObject *tuple = PyTuple_New(count);
    for (int k = 0; tuple && k < count; k++) {
        npy_intp rows = is_output || job->sources[k].step ? job->rows : 1;
        const Port *port = is_output ? &self->outs[k] : &self->ins[k];
        void *data = is_output ? job->outs[k] : (void *)job->sources[k].data;
        PyObject *view = view_of(self, port, data, rows);
        if (!view) Py_CLEAR(tuple);
        else PyTuple_SET_ITEM(tuple, k, view);
    }
    return tuple;
}

/* The text of the Python error that is set, as an error of XLA; clears it. */
static XlaError *python_error(const XlaFrame *frame)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
    XlaError *error = xla_error(frame, XLA_REFUSED, message ? message : "no reason given");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return error;
}

/* A call through Python, which makes code if there is none, and says what is wrong. */
static XlaError *call_python(Call *self, const XlaFrame *frame, const Job *job)
{
    XlaError *error = NULL;
    if (is_finalizing()) return xla_error(frame, XLA_REFUSED, "Python is being finalized");
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *callable = Py_NewRef((PyObject *)self), *result = NULL, *named = NULL;
    PyObject *inputs = views(self, job, 0), *outputs = views(self, job, 1);
    if (inputs && outputs) {
        named = Py_BuildValue("{sO}", "out", self->n_out == 1 ? PyTuple_GET_ITEM(outputs, 0) : outputs);
        if (named) result = PyObject_Call(callable, inputs, named);
    }
    if (!result) error = python_error(frame);
    Py_XDECREF(result);
    Py_XDECREF(named);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    Py_DECREF(callable);
    PyGILState_Release(state);
    return error;
}

/* XLA has its threads flush denormal numbers to zero, NumPy does not; as NumPy does it until
   `restore_rounding`. */
#if defined(__SSE2__) || defined(_M_X64)
typedef unsigned Rounding;
static Rounding default_rounding(void)
{
    Rounding before = _mm_getcsr();
    _mm_setcsr(before & ~0x8040u);  /* neither flushes results nor takes inputs for zero */
    return before;
}
static void restore_rounding(Rounding before) { _mm_setcsr(before); }
#elif defined(__aarch64__) && defined(__GNUC__)
typedef uint64_t Rounding;
static Rounding default_rounding(void)
{
    Rounding before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before & ~((Rounding)1 << 24)));
    return before;
}
static void restore_rounding(Rounding before) { __asm__ volatile("msr fpcr, %0" : : "r"(before)); }
#else
typedef int Rounding;
static Rounding default_rounding(void) { return 0; }
static void restore_rounding(Rounding before) { (void)before; }
#endif

/* Compute the rows of a call with its code, without the GIL; returns the status. */
static int run_frame(Job *job, Shared *entry)
{
    XLA_LOCK();
    job->code = entry->call->code;
    if (!job->code) {
        XLA_UNLOCK();
        return NO_CODE;
    }
    plan(job);
    Block block = take_from(xla_blocks, job->bytes);
    XLA_UNLOCK();
    if (!block.start) return NO_MEMORY;
    if (job->rows == 1) {
        job->status = do_chunk(job, 0, 1, block.start);
        job->has_bad_outputs = 0;
    } else {
        share_out(job, block.start, NULL);
    }
    XLA_LOCK();
    job->code->chunk = job->chunk;
    give_to(xla_blocks, block);
    XLA_UNLOCK();
    return job->status == DONE && job->has_bad_outputs ? NOT_FINITE_OUTPUT : job->status;
}

static XlaError *call_shared(const XlaFrame *frame, Shared *entry)
{
    Call *self = entry->call;
    Source few_sources[FEW_PORTS], *sources = few_sources;
    void *few_outs[FEW_PORTS], **outs = few_outs;
    XlaError *error = NULL;
    if (self->n_in > FEW_PORTS) sources = malloc((size_t)self->n_in * sizeof(Source));
    if (self->n_out > FEW_PORTS) outs = malloc((size_t)self->n_out * sizeof(void *));
    Job job = {.call = self, .sources = sources, .outs = outs};
    if (!sources || !outs) {
        error = xla_error(frame, XLA_NO_MEMORY, "linkwork: no memory");
    } else if (!read_buffers(self, frame, &job)) {
        error = xla_error(frame, XLA_INTERNAL, "linkwork: arrays that do not fit the function");
    } else if (job.rows > 0) {
        Rounding rounding = default_rounding();
        int status = run_frame(&job, entry);
        if (status == NO_MEMORY) error = xla_error(frame, XLA_NO_MEMORY, "linkwork: no memory");
        else if (status != DONE) error = call_python(self, frame, &job);
        restore_rounding(rounding);
    }
    if (sources != few_sources) free(sources);
    if (outs != few_outs) free(outs);
    return error;
}

/* Answer the question that XLA asks when a handler is registered: for which version it is. */
static int answers_metadata(const XlaFrame *frame)
{
    XlaExtension *extension = frame->extensions;
    if (!extension || extension->type != XLA_METADATA) return 0;
    XlaMetadata *metadata = ((XlaMetadataExtension *)extension)->metadata;
    xla_seen.is_known = 1;
    xla_seen.fits = frame_fits(frame) && metadata->size >= XLA_BYTES(XlaMetadata, traits);
    if (!xla_seen.fits) return 1;
    /* all minor versions have what is declared here */
    metadata->version.major = xla_seen.major = XLA_MAJOR;
    metadata->version.minor = xla_seen.minor = frame->api ? frame->api->version.minor : XLA_MINOR;
    metadata->traits = 0;
    return 1;
}

static XlaError *xla_handler(XlaFrame *frame)
{
    if (answers_metadata(frame)) return NULL;
    if (!call_fits(frame)) {
        if (!frame_fits(frame) || !frame->api) abort();  /* it did fit when it was registered */
        return xla_error(frame, XLA_INTERNAL, "linkwork: calls of XLA have another layout here");
    }
    if (frame->stage != XLA_EXECUTE) return NULL;
    const XlaAttributes *given = &frame->attributes;
    const XlaText *key = given->count == 1 && given->types[0] == XLA_STRING ? given->values[0] : NULL;
    if (!key || key->length != KEY_LENGTH)
        return xla_error(frame, XLA_INTERNAL, "linkwork: expected the key of a function");
    XLA_LOCK();
    Shared *entry = found(key->text);
    if (entry) entry->users++;
    XLA_UNLOCK();
    if (!entry)
        return xla_error(frame, XLA_REFUSED,
                         "a function of linkwork that this process has not compiled; make the same"
                         " function with linkwork.jax and call it, or lower it, before");
    XlaError *error = call_shared(frame, entry);
    XLA_LOCK();
    entry->users--;
    XLA_UNLOCK();
    return error;
}

/* _share(key): have programs of XLA find this function by its key. */
static PyObject *call_share(PyObject *callable, PyObject *text)
{
    Call *self = (Call *)callable;
    Py_ssize_t length;
    const char *key = PyUnicode_AsUTF8AndSize(text, &length);
    if (!key) return NULL;
    if (length != KEY_LENGTH || !self->slow || !self->is_simple) {
        PyErr_SetString(PyExc_ValueError, "share: not a key of 64 characters, or too many axes");
        return NULL;
    }
    if (self->shared) {
        if (memcmp(self->shared->key, key, KEY_LENGTH) == 0) Py_RETURN_NONE;
        PyErr_SetString(PyExc_ValueError, "share: the function has another key");
        return NULL;
    }
    Shared *entry = calloc(1, sizeof(Shared));
    if (!entry) return PyErr_NoMemory();
    memcpy(entry->key, key, KEY_LENGTH);
    entry->call = self;
    self->shared = entry;
    XLA_LOCK();
    entry->next = *bucket_of(key);
    *bucket_of(key) = entry;
    XLA_UNLOCK();
    Py_RETURN_NONE;
}

/* xla_handler(): the handler, as jax.ffi.register_ffi_target takes it. */
static PyObject *module_handler(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyCapsule_New((void *)(uintptr_t)xla_handler, NULL, NULL);
}

/* xla_interface(): (major, minor, whether it fits) of XLA's interface; None before registering. */
static PyObject *module_interface(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (!xla_seen.is_known) Py_RETURN_NONE;
    return Py_BuildValue("iiO", xla_seen.major, xla_seen.minor, xla_seen.fits ? Py_True : Py_False);
}

#ifndef _WIN32
/* In a forked child: threads that may have held the lock, or were in a call, do not exist. */
static void forget_xla(void)
{
    pthread_mutex_init(&xla_lock, NULL);
    for (int k = 0; k < BUCKETS; k++)
        for (Shared *entry = xla_table[k]; entry; entry = entry->next) entry->users = 0;
}
#endif

#endif
