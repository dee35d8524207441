/* The capsule `C_API`: threads, result arrays and compiled functions for other C extensions. */
#include "c_api.h"

#include "blocks.h"
#include "result_memory.h"
#include "threads.h"

typedef struct {
    Job job;               /* the first member: threads receive a pointer to it */
    RowsFunction function;
    void *context;
} RowsJob;

static int run_rows_chunk(Job *job, npy_intp start, npy_intp rows, char *block,
                          PyThreadState **state)
{
    RowsJob *rows_job = (RowsJob *)job;
    (void)state;
    return rows_job->function(rows_job->context, start, rows, block);
}

static int run_rows(RowsFunction function, void *context, npy_intp rows, npy_intp chunk,
                    double work, size_t bytes, int threads)
{
    Block block = take_block(bytes);
    if (!block.start) return NO_MEMORY;
    int status;
    if (rows == 1) {  /* releasing the GIL would take longer */
        status = function(context, 0, 1, block.start);
    } else if (rows <= chunk) {
        PyThreadState *state = PyEval_SaveThread();
        status = function(context, 0, rows, block.start);
        PyEval_RestoreThread(state);
    } else {
        Code code = {.width = 1, .cost = work, .chunk = chunk};  /* without machine code */
        RowsJob rows_job = {.function = function, .context = context};
        rows_job.job = (Job){.code = &code, .rows = rows, .threads = threads, .chunk = chunk,
                             .fitting = chunk, .bytes = bytes, .chunk_function = run_rows_chunk};
        run_releasing_gil(&rows_job.job, block.start);
        status = rows_job.job.status;
    }
    give_block(block);
    return status;
}

static const CApi c_api = {run_rows, read_threads, new_array, share_call, run_shared};

int add_c_api(PyObject *module)
{
    static char name[C_API_NAME_BYTES];  /* static, since the capsule stores its address */
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&c_api, c_api_name(name), NULL);
    if (!capsule) return -1;
    int status = PyModule_AddObjectRef(module, "C_API", capsule);
    Py_DECREF(capsule);
    return status;
}
