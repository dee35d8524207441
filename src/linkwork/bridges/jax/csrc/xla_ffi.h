/* The part of XLA's foreign function interface that a handler on the CPU needs, declared here so that
 * the extension can be built without jax. Each struct begins with its size and a list of extensions.
 * A later version with the same major number adds members at the end. `frame_fits` compares sizes and
 * the major number with these declarations.
 */
#ifndef LINKWORK_XLA_FFI_H
#define LINKWORK_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

#define XLA_MAJOR 0                    /* version of the interface that is declared here: */
#define XLA_MINOR 1                    /* the first that queries the version of handlers */
enum { XLA_METADATA = 1 };             /* types of extensions */
enum { XLA_BUFFER = 1 };               /* types of arguments and results */
enum { XLA_STRING = 4 };               /* types of attributes */
enum { XLA_FLOAT32 = 11, XLA_FLOAT64 = 12 };  /* element types */
enum { XLA_EXECUTE = 3 };              /* stages */
enum { XLA_NO_MEMORY = 8, XLA_FAILED = 9, XLA_INTERNAL = 13 };  /* codes of errors */

typedef struct XlaExtension {
    size_t size;
    int type;
    struct XlaExtension *next;
} XlaExtension;

#define XLA_STRUCT size_t size; XlaExtension *extensions;

typedef struct { XLA_STRUCT int major, minor; } XlaVersion;
typedef struct { const char *chars; size_t length; } XlaString;
typedef struct XlaError XlaError;      /* created and destroyed by XLA */
typedef struct { XLA_STRUCT const char *message; int code; } XlaErrorArgs;

typedef struct {
    XLA_STRUCT
    XlaVersion version;
    const void *internal;
    XlaError *(*new_error)(XlaErrorArgs *);
} XlaApi;

typedef struct { XLA_STRUCT int type; void *data; int64_t axes; const int64_t *shape; } XlaBuffer;
typedef struct { XLA_STRUCT int64_t count; int *types; XlaBuffer **buffers; } XlaBuffers;
typedef struct {
    XLA_STRUCT
    int64_t count;
    int *types;
    XlaString **names;
    void **values;
} XlaAttributes;

typedef struct {                       /* one call of a handler */
    XLA_STRUCT
    const XlaApi *api;
    void *context;
    int stage;
    XlaBuffers inputs, outputs;
    XlaAttributes attributes;
} XlaFrame;

typedef struct {                       /* queried by XLA when a handler is registered */
    size_t size;
    XlaVersion version;
    uint32_t traits;
} XlaMetadata;

typedef struct { XlaExtension base; XlaMetadata *metadata; } XlaMetadataExtension;

/* Size of a struct up to the end of its last member, as XLA computes it. */
#define XLA_BYTES(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Whether a frame has the layout declared here. Early versions have no `api` in the version query; all have
   it in calls. */
static inline int frame_fits(const XlaFrame *frame)
{
    if (frame->size < XLA_BYTES(XlaFrame, attributes)) return 0;
    return !frame->api
        || (frame->api->size >= XLA_BYTES(XlaApi, new_error)
            && frame->api->version.size >= XLA_BYTES(XlaVersion, minor)
            && frame->api->version.major == XLA_MAJOR);
}

/* The same for a call, whose frame contains these structs: their sizes must be exactly the same. */
static inline int call_fits(const XlaFrame *frame)
{
    return frame_fits(frame) && frame->api && frame->inputs.size == XLA_BYTES(XlaBuffers, buffers)
        && frame->outputs.size == XLA_BYTES(XlaBuffers, buffers)
        && frame->attributes.size == XLA_BYTES(XlaAttributes, values);
}

#endif
