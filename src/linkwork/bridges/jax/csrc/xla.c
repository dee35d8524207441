/* The module `_xla`: one handler for all calls from programs that JAX compiles with XLA.
 *
 * Such a program refers to a function by its key, a digest of what is computed, not by an address.
 * So it can be stored on disk, exported, and run in another process. `share` adds a function to a table
 * under its key. There is one entry for each key: of equal functions, the first is kept. XLA does not
 * report when it has called a function for the last time, so entries stay until the process ends.
 *
 * XLA calls without the GIL, on any of its threads. The handler acquires the GIL only where Python is
 * needed: for the first call, which compiles the code, and for errors. `xla_lock` guards the table. A
 * thread that holds it waits for nothing else, so it may be acquired with and without the GIL.
 */
#define LINKWORK_IMPORTS_NUMPY
#include "c_api.h"

#include "xla_ffi.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

#define KEY_LENGTH 64      /* hexadecimal digits */
#define BUCKETS 256
#define LARGE_PAGES_BYTES ((size_t)4 << 20)  /* results of at least this size use large pages */

#ifdef _WIN32
static SRWLOCK xla_lock = SRWLOCK_INIT;
#define XLA_LOCK() AcquireSRWLockExclusive(&xla_lock)
#define XLA_UNLOCK() ReleaseSRWLockExclusive(&xla_lock)
#define sleep_briefly() Sleep(1)
#else
static pthread_mutex_t xla_lock = PTHREAD_MUTEX_INITIALIZER;
#define XLA_LOCK() pthread_mutex_lock(&xla_lock)
#define XLA_UNLOCK() pthread_mutex_unlock(&xla_lock)
#define sleep_briefly() usleep(100)
#endif

typedef struct XlaEntry {  /* a function in the table */
    struct XlaEntry *next; /* in the same bucket */
    char key[KEY_LENGTH];
    Shared *shared;
} XlaEntry;

typedef struct {           /* the rows of a call */
    SharedRows *inputs;
    void **outputs;
    npy_intp rows;
} XlaRows;

static const CApi *api;
static XlaEntry *xla_table[BUCKETS];
static struct { int is_known, fits, major, minor; } xla_seen;  /* what XLA reported at registration */
static struct { int is_closed, users; } xla_python;  /* calls that use Python; see `xla_close` */

static XlaEntry **bucket_of(const char *key)
{
    unsigned hash = 0;
    for (int k = 0; k < 8; k++) hash = 31 * hash + (unsigned char)key[k];
    return &xla_table[hash % BUCKETS];
}

/* The entry of a key, NULL if there is none. The caller holds the lock. */
static XlaEntry *find_entry(const char *key)
{
    XlaEntry *entry = *bucket_of(key);
    while (entry && memcmp(entry->key, key, KEY_LENGTH) != 0) entry = entry->next;
    return entry;
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

/* Request large pages for a large result, as NumPy does for its arrays: XLA allocates new memory for
   each result, and page faults of 4 KB may take longer than the computation. */
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

/* Locate the rows of a call; return 0 if the buffers do not match the function. */
static int read_buffers(const Call *self, const XlaFrame *frame, XlaRows *call_rows)
{
    if (frame->inputs.count != self->n_in || frame->outputs.count != self->n_out) return 0;
    call_rows->rows = rows_of(self, &self->outs[0], &frame->outputs, 0);
    for (int k = 0; k < self->n_out; k++) {
        if (call_rows->rows < 0 || rows_of(self, &self->outs[k], &frame->outputs, k) != call_rows->rows)
            return 0;
        call_rows->outputs[k] = frame->outputs.buffers[k]->data;
        prefer_large_pages(call_rows->outputs[k], (size_t)(call_rows->rows * self->outs[k].size) * self->item);
    }
    for (int k = 0; k < self->n_in; k++) {
        npy_intp rows = rows_of(self, &self->ins[k], &frame->inputs, k);
        if (rows != call_rows->rows && rows != 1) return 0;
        npy_intp step = rows == 1 ? 0 : self->ins[k].size * (npy_intp)self->item;
        call_rows->inputs[k] = (SharedRows){.data = frame->inputs.buffers[k]->data, .step = step};
    }
    return 1;
}

/* A tuple of arrays: copies of all inputs, or empty arrays for all outputs. Copies, because exceptions may
   refer to the arguments of a call after XLA has freed its memory. */
static PyObject *copy_to_arrays(const Call *self, const XlaRows *call_rows, int is_output)
{
    int count = is_output ? self->n_out : self->n_in;
    PyObject *tuple = PyTuple_New(count);
    for (int k = 0; tuple && k < count; k++) {
        const Port *port = is_output ? &self->outs[k] : &self->ins[k];
        npy_intp shape[MOST_AXES + 1] = {is_output || call_rows->inputs[k].step ? call_rows->rows : 1};
        memcpy(shape + 1, port->shape, (size_t)port->axes * sizeof(npy_intp));
        PyObject *array = PyArray_SimpleNew(port->axes + 1, shape, self->type);
        if (!array) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, k, array);
        if (!is_output && port->size)  /* empty buffers may have no address */
            memcpy(PyArray_DATA((PyArrayObject *)array), call_rows->inputs[k].data,
                   (size_t)PyArray_NBYTES((PyArrayObject *)array));
    }
    return tuple;
}

/* Convert the current Python error to an XLA error, and clear it. */
static XlaError *python_error(const XlaFrame *frame)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *string = value ? PyObject_Str(value) : NULL;
    const char *message = string ? PyUnicode_AsUTF8(string) : NULL;
    XlaError *error = xla_error(frame, XLA_FAILED, message ? message : "unknown error");
    Py_XDECREF(string);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return error;
}

/* Clear an error about results that overflow, which are infinite or NaN in JAX; 0 for other errors. */
static int clear_overflow(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *results = value ? PyObject_GetAttrString(value, "results") : NULL;
    int is_overflow = results && results != Py_None;
    Py_XDECREF(results);
    PyErr_Clear();
    if (!is_overflow) {
        PyErr_Restore(type, value, traceback);
        return 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return 1;
}

/* Call through Python, which compiles code if there is none, and raises errors. */
static XlaError *call_python(Call *self, const XlaFrame *frame, const XlaRows *call_rows)
{
    XlaError *error = NULL;
    XLA_LOCK();
    int is_closed = xla_python.is_closed;
    if (!is_closed) xla_python.users++;
    XLA_UNLOCK();
    if (is_closed) return xla_error(frame, XLA_FAILED, "Python is being finalized");
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *result = NULL, *named = NULL;
    PyObject *inputs = copy_to_arrays(self, call_rows, 0);
    PyObject *outputs = inputs ? copy_to_arrays(self, call_rows, 1) : NULL;
    if (outputs) {
        named = Py_BuildValue("{sO}", "out", self->n_out == 1 ? PyTuple_GET_ITEM(outputs, 0) : outputs);
        if (named) result = PyObject_Call((PyObject *)self, inputs, named);
        if (named && !result && clear_overflow()) result = Py_NewRef(outputs);
    }
    if (!result) error = python_error(frame);
    for (int k = 0; result && k < self->n_out; k++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(outputs, k);
        if (self->outs[k].size)
            memcpy(call_rows->outputs[k], PyArray_DATA(array), (size_t)PyArray_NBYTES(array));
    }
    Py_XDECREF(result);
    Py_XDECREF(named);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    PyGILState_Release(state);
    XLA_LOCK();
    xla_python.users--;
    XLA_UNLOCK();
    return error;
}

/* XLA's threads flush denormal numbers to zero, NumPy does not. Switch to NumPy's mode until
   `restore_rounding`. */
#if defined(__SSE2__) || defined(_M_X64)
typedef unsigned Rounding;
static Rounding default_rounding(void)
{
    Rounding before = _mm_getcsr();
    _mm_setcsr(before & ~0x8040u);  /* clear FTZ (results) and DAZ (inputs) */
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

static XlaError *call_shared(const XlaFrame *frame, Shared *shared)
{
    Call *self = shared->call;
    SharedRows few_inputs[FEW_PORTS], *inputs = few_inputs;
    void *few_outputs[FEW_PORTS], **outputs = few_outputs;
    XlaError *error = NULL;
    if (self->n_in > FEW_PORTS) inputs = malloc((size_t)self->n_in * sizeof(SharedRows));
    if (self->n_out > FEW_PORTS) outputs = malloc((size_t)self->n_out * sizeof(void *));
    XlaRows call_rows = {.inputs = inputs, .outputs = outputs};
    if (!inputs || !outputs) {
        error = xla_error(frame, XLA_NO_MEMORY, "linkwork: out of memory");
    } else if (!read_buffers(self, frame, &call_rows)) {
        error = xla_error(frame, XLA_INTERNAL, "linkwork: the arrays do not match the function");
    } else if (call_rows.rows > 0) {
        Rounding rounding = default_rounding();
        int status = api->run_shared(shared, inputs, outputs, call_rows.rows);
        if (status == NO_MEMORY) error = xla_error(frame, XLA_NO_MEMORY, "linkwork: out of memory");
        else if (status != DONE) error = call_python(self, frame, &call_rows);
        restore_rounding(rounding);
    }
    if (inputs != few_inputs) free(inputs);
    if (outputs != few_outputs) free(outputs);
    return error;
}

/* Report the supported version, which XLA queries when a handler is registered. */
static int answer_metadata(const XlaFrame *frame)
{
    XlaExtension *extension = frame->extensions;
    if (!extension || extension->type != XLA_METADATA) return 0;
    XlaMetadata *metadata = ((XlaMetadataExtension *)extension)->metadata;
    xla_seen.is_known = 1;
    xla_seen.fits = frame_fits(frame) && metadata->size >= XLA_BYTES(XlaMetadata, traits);
    if (!xla_seen.fits) return 1;
    /* all minor versions have the members declared here */
    metadata->version.major = xla_seen.major = XLA_MAJOR;
    metadata->version.minor = xla_seen.minor = frame->api ? frame->api->version.minor : XLA_MINOR;
    metadata->traits = 0;
    return 1;
}

static XlaError *xla_handler(XlaFrame *frame)
{
    if (answer_metadata(frame)) return NULL;
    if (!frame->api) return NULL;  /* another query, not a call */
    if (!call_fits(frame))
        return xla_error(frame, XLA_INTERNAL, "linkwork: unsupported memory layout of XLA's calls");
    if (frame->stage != XLA_EXECUTE) return NULL;
    const XlaAttributes *attributes = &frame->attributes;
    const int is_key = attributes->count == 1 && attributes->types[0] == XLA_STRING;
    const XlaString *key = is_key ? attributes->values[0] : NULL;
    if (!key || key->length != KEY_LENGTH)
        return xla_error(frame, XLA_INTERNAL, "linkwork: expected the key of a function");
    XLA_LOCK();
    XlaEntry *entry = find_entry(key->chars);
    XLA_UNLOCK();
    if (!entry)
        return xla_error(frame, XLA_FAILED,
                         "linkwork: this process has not compiled the function; create the same"
                         " function with linkwork.jax and call it, or lower it, first");
    return call_shared(frame, entry->shared);
}

/* share(function, key): register a function under its key. */
static PyObject *xla_share(PyObject *module, PyObject *args)
{
    PyObject *callable;
    const char *key;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os#", &callable, &key, &length)) return NULL;
    if (length != KEY_LENGTH) {
        PyErr_SetString(PyExc_ValueError, "share: expected a key of 64 characters");
        return NULL;
    }
    XLA_LOCK();
    XlaEntry *entry = find_entry(key);
    XLA_UNLOCK();
    Shared *shared = api->share_call(callable, entry ? entry->shared : NULL);
    if (!shared) return NULL;
    if (!entry) {
        entry = calloc(1, sizeof(XlaEntry));
        if (!entry) return PyErr_NoMemory();
        memcpy(entry->key, key, KEY_LENGTH);
        entry->shared = shared;
        XLA_LOCK();
        entry->next = *bucket_of(key);
        *bucket_of(key) = entry;
        XLA_UNLOCK();
    }
    Py_RETURN_NONE;
}

/* close(): called before Python is finalized. A thread of XLA that requested the GIL after that would be
   terminated in the middle of XLA's code. */
static PyObject *xla_close(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    XLA_LOCK();
    xla_python.is_closed = 1;
    while (xla_python.users > 0) {
        XLA_UNLOCK();
        Py_BEGIN_ALLOW_THREADS
        sleep_briefly();
        Py_END_ALLOW_THREADS
        XLA_LOCK();
    }
    XLA_UNLOCK();
    Py_RETURN_NONE;
}

/* handler(): the handler, as jax.ffi.register_ffi_target takes it. */
static PyObject *xla_get_handler(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyCapsule_New((void *)(uintptr_t)xla_handler, NULL, NULL);
}

/* interface(): (major, minor, whether it is supported) of XLA's interface; None before registration. */
static PyObject *xla_interface(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (!xla_seen.is_known) Py_RETURN_NONE;
    return Py_BuildValue("iiO", xla_seen.major, xla_seen.minor, xla_seen.fits ? Py_True : Py_False);
}

#ifndef _WIN32
static void lock_xla(void) { XLA_LOCK(); }
static void unlock_xla(void) { XLA_UNLOCK(); }

/* In a forked child, which holds the lock: no other thread is in a call. */
static void reset_xla(void)
{
    xla_python.users = 0;
    XLA_UNLOCK();
}

static void start_xla(void) { pthread_atfork(lock_xla, unlock_xla, reset_xla); }

#else

static void start_xla(void) {}

#endif

static int execute(PyObject *module)
{
    import_array1(-1);
    if (!api) {  /* a second import shares the table of the first */
        api = import_c_api();
        if (!api) return -1;
        start_xla();
    }
    return PyModule_AddIntConstant(module, "MOST_AXES", MOST_AXES);
}

static PyMethodDef methods[] = {
    {"share", xla_share, METH_VARARGS,
     "share(function, key): register a function for XLA programs under its key, until the process ends."},
    {"handler", xla_get_handler, METH_NOARGS,
     "The handler of calls from XLA, as jax.ffi.register_ffi_target takes it."},
    {"close", xla_close, METH_NOARGS,
     "Reject further calls that need Python, and wait for those in progress."},
    {"interface", xla_interface, METH_NOARGS,
     "(major, minor, whether it is supported) of XLA's interface; None before registration."},
    {NULL, NULL, 0, NULL},
};

#define MODULE_NAME _xla
#define MODULE_DOC "Calls of compiled functions from XLA programs."
#define MODULE_METHODS methods
#include "module_template.h"
