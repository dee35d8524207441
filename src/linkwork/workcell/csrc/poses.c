/* The type `Poses`: poses of all frames of a workcell in the world, for any attachments.
 *
 * Frames are computed by steps. A step computes the pose of a frame, or of an intermediate frame, in its
 * parent as a combination of constant poses, and then its pose in the world:
 *
 *   LINEAR_POSE       C0 + v0 C1 + v1 C2 + ...   v: entries of the state; C0 alone is a fixed frame
 *   ROTATION_POSE     C0 + cos C1 + sin C2       of the angle  factor v + offset
 *   FREE_POSE         position and quaternion
 *   QUATERNION_POSE   quaternion, or its inverse
 *
 * Steps are grouped into parts: the frames that WORLD carries in every state, and those that each
 * attachable frame carries in every state. Within a part, each step comes after that of its parent. A
 * part is computed after the part that it is attached to; this order may differ from row to row.
 *
 * Nothing is compiled for a cell, so a new cell or attachment takes no extra time. For states with more
 * than MOST_AXES batch axes, Python flattens the batch first.
 */
#define LINKWORK_IMPORTS_NUMPY
#include "poses.h"

#define POSE_CHUNK 256     /* rows of a chunk */
#define POSE_WORK 20.0     /* approximate number of vector operations per frame */

static const CApi *api;    /* threads and result arrays of the extension `_call` */

/* Rows of an array (..., size) with at most MOST_AXES batch axes: their number, and the bytes from one to
   the next; returns 0 if the array is not supported. */
static int read_pose_rows(PyObject *value, int type, npy_intp size, npy_intp *rows, npy_intp *step)
{
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_TYPE(array) != type || !PyArray_ISBEHAVED_RO(array)) return 0;
    int axes = PyArray_NDIM(array);
    if (axes < 1 || axes - 1 > MOST_AXES || PyArray_DIM(array, axes - 1) != size) return 0;
    npy_intp count = 1;
    int is_shared = 1;
    for (int i = 0; i < axes - 1; i++) {
        count *= PyArray_DIM(array, i);
        if (PyArray_DIM(array, i) > 1 && PyArray_STRIDE(array, i) != 0) is_shared = 0;
    }
    int is_row = size < 2 || PyArray_STRIDE(array, axes - 1) == PyArray_ITEMSIZE(array);
    *rows = count;
    *step = is_shared ? 0 : size * PyArray_ITEMSIZE(array);
    return count == 0 || (is_shared ? is_row : PyArray_IS_C_CONTIGUOUS(array));
}

/* Read the arrays of states: a row of parents for each row of values, or one for all; 0 if they do not
   match the frames. */
static int read_states(PyObject *values, PyObject *parents, PoseJob *job, npy_intp *rows)
{
    npy_intp parent_rows = 0;
    if (!read_pose_rows(values, NPY_DOUBLE, job->poses->n_values, rows, &job->value_step)
        || !read_pose_rows(parents, NPY_INT32, job->poses->n_attachable, &parent_rows,
                           &job->parent_step))
        return 0;
    job->values = PyArray_BYTES((PyArrayObject *)values);
    job->parents = PyArray_BYTES((PyArrayObject *)parents);
    return parent_rows == *rows || (parent_rows == 1 && job->parent_step == 0);
}

/* The output array (..., n, height, width) with the batch axes of values that `read_pose_rows` has
   checked: a new array, or a new reference to `argument` unless it is None; NULL, possibly without an
   exception, on failure. */
static PyArrayObject *pose_output(PyObject *argument, PyArrayObject *values, npy_intp n,
                                  npy_intp height, npy_intp width)
{
    npy_intp shape[MOST_AXES + 3];
    int axes = PyArray_NDIM(values) - 1;
    for (int i = 0; i < axes; i++) shape[i] = PyArray_DIM(values, i);
    shape[axes] = n;
    shape[axes + 1] = height;
    shape[axes + 2] = width;
    if (argument == Py_None) return (PyArrayObject *)api->new_array(axes + 3, shape, NPY_DOUBLE);
    PyArrayObject *out = (PyArrayObject *)argument;
    if (!PyArray_Check(argument) || PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)
        || PyArray_NDIM(out) != axes + 3)
        return NULL;
    for (int i = 0; i < axes + 3; i++)
        if (PyArray_DIM(out, i) != shape[i]) return NULL;
    return (PyArrayObject *)Py_NewRef(argument);
}

/* Compute all rows; returns the status. */
static int run_poses(PoseJob *job, npy_intp rows, int threads)
{
    double work = POSE_WORK * (double)job->poses->n_frames;
    return api->run_rows(pose_chunk, job, rows, POSE_CHUNK, work, job->poses->block_bytes, threads);
}

/* Read the requested frames without duplicates, or None for all; 0 if they are invalid. */
static int read_frames(const Poses *self, PyObject *value, PoseJob *job, npy_int32 *out_at)
{
    PyArrayObject *array = (PyArrayObject *)value;
    job->n_out = self->n_frames;
    for (int k = 0; k < self->n_frames; k++) out_at[k] = k;
    if (value == Py_None) return 1;
    if (!PyArray_Check(value) || PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_INT32
        || !PyArray_ISCARRAY_RO(array))
        return 0;
    job->n_out = PyArray_DIM(array, 0);
    job->frames = PyArray_DATA(array);
    for (int k = 0; k < self->n_frames; k++) out_at[k] = -1;
    for (npy_intp k = 0; k < job->n_out; k++) {
        npy_int32 frame = job->frames[k];
        if (frame < 0 || frame >= self->n_frames || out_at[frame] >= 0) return 0;
        out_at[frame] = (npy_int32)k;
    }
    return 1;
}

static PyObject *reject_arguments(void)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "the arguments do not match the frames");
    return NULL;
}

/* The result of a call; takes the reference to `out`, which may be NULL unless the status is DONE. */
static PyObject *finished(PyArrayObject *out, int status)
{
    if (status == DONE) return (PyObject *)out;
    Py_XDECREF(out);
    if (status == NO_MEMORY) return PyErr_NoMemory();
    return status == INTERRUPTED ? NULL : reject_arguments();
}

/* run(values, parents, frames, reference, out, threads): poses of all frames, or of those in `frames`,
   relative to the world (-1) or a reference frame. */
static PyObject *poses_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const Poses *self = (Poses *)object;
    PoseJob job = {.poses = self};
    npy_intp rows = 0;
    if (count != 6 || !self->memory) return reject_arguments();
    int threads = api->read_threads(args[5]);
    job.reference = PyLong_Check(args[3]) ? PyLong_AsSsize_t(args[3]) : -2;
    if (PyErr_Occurred()) return NULL;  /* more than fits */
    if (threads < 0 || job.reference < -1 || job.reference >= self->n_frames
        || (job.reference >= 0 && args[2] == Py_None)
        || !read_states(args[0], args[1], &job, &rows))
        return reject_arguments();
    npy_int32 *out_at = PyMem_Malloc((size_t)self->n_frames * sizeof(npy_int32)
                                     + (size_t)self->n_slots);
    if (!out_at) return PyErr_NoMemory();
    char *is_needed = (char *)(out_at + self->n_frames);
    PyArrayObject *out = NULL;
    if (read_frames(self, args[2], &job, out_at))
        out = pose_output(args[4], (PyArrayObject *)args[0], job.n_out, 4, 4);
    int status = out ? DONE : BAD_PARENTS;
    if (out && rows > 0) {
        job.out = PyArray_DATA(out);
        job.row_size = 16 * job.n_out;
        job.out_at = out_at;
        if (has_wide_registers && (size_t)PyArray_NBYTES(out) > STREAMED_BYTES)
            job.streamed = (uintptr_t)job.out % 32 == 0 ? 32 : (uintptr_t)job.out % 16 == 0 ? 16 : 0;
        /* stores across the boundary of two poses need both of them */
        job.is_late = job.reference >= 0 || job.streamed == 16;
        if (job.frames && (rows == 1 || job.parent_step == 0)) {
            if (!mark_needed(&job, is_needed)) status = BAD_PARENTS;
            job.is_needed = is_needed;
        }
        if (status == DONE) status = run_poses(&job, rows, threads);
    }
    PyMem_Free(out_at);
    return finished(out, status);
}

/* Whether a value is an array of this type, in C order, of shape (n,), or (n, width) if width > 0. */
static int is_pose_array(PyObject *value, int type, npy_intp width)
{
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_Check(value) && PyArray_TYPE(array) == type && PyArray_ISCARRAY_RO(array)
        && PyArray_NDIM(array) == (width ? 2 : 1) && (!width || PyArray_DIM(array, 1) == width);
}

/* jacobians(values, parents, base, frames, columns, twists, nv, threads): (..., n, 6, nv), for the same
   parents in all rows. */
static PyObject *poses_jacobians(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const Poses *self = (Poses *)object;
    PoseJob job = {.poses = self};
    npy_intp rows = 0;
    if (count != 8 || !self->memory) return reject_arguments();
    int threads = api->read_threads(args[7]);
    job.reference = PyLong_Check(args[2]) ? PyLong_AsSsize_t(args[2]) : -1;
    job.nv = PyLong_Check(args[6]) ? PyLong_AsSsize_t(args[6]) : -1;
    if (PyErr_Occurred()) return NULL;  /* more than fits */
    if (threads < 0 || job.reference < 0 || job.reference >= self->n_frames || job.nv < 0
        || job.nv > NPY_MAX_INT
        || !read_states(args[0], args[1], &job, &rows) || job.parent_step
        || PyArray_NDIM((PyArrayObject *)args[1]) != 1 || !is_pose_array(args[3], NPY_INT32, 0)
        || !is_pose_array(args[4], NPY_INT32, 4) || !is_pose_array(args[5], NPY_DOUBLE, 6)
        || PyArray_DIM((PyArrayObject *)args[4], 0) != PyArray_DIM((PyArrayObject *)args[5], 0))
        return reject_arguments();
    job.frames = PyArray_DATA((PyArrayObject *)args[3]);
    job.n_out = PyArray_DIM((PyArrayObject *)args[3], 0);
    job.columns = PyArray_DATA((PyArrayObject *)args[4]);
    job.n_columns = PyArray_DIM((PyArrayObject *)args[4], 0);
    job.twists = PyArray_DATA((PyArrayObject *)args[5]);
    job.is_late = 1;
    for (npy_intp k = 0; k < job.n_out; k++)
        if (job.frames[k] < 0 || job.frames[k] >= self->n_frames) return reject_arguments();
    for (npy_intp k = 0; k < job.n_columns; k++) {
        const PoseColumn *column = &job.columns[k];
        if (column->target < 0 || column->target >= job.n_out || column->axes < 0
            || column->axes >= self->n_frames || column->origin < 0
            || column->origin >= self->n_frames || column->column < 0 || column->column >= job.nv)
            return reject_arguments();
    }
    PyArrayObject *out = pose_output(Py_None, (PyArrayObject *)args[0], job.n_out, 6, job.nv);
    if (!out) return NULL;
    char *is_needed = PyMem_Malloc((size_t)self->n_slots);
    if (!is_needed) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    job.is_needed = is_needed;
    job.out = PyArray_DATA(out);
    int status = mark_needed(&job, is_needed) ? DONE : BAD_PARENTS;
    if (status == DONE && rows > 0) {
        job.row_size = PyArray_SIZE(out) / rows;
        status = run_poses(&job, rows, threads);
    }
    PyMem_Free(is_needed);
    return finished(out, status);
}

/* Copy an array of `count` entries; 0 if its type or size differs. */
static int copy_array(PyObject *value, int type, void *to, npy_intp count)
{
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_TYPE(array) != type || PyArray_SIZE(array) != count
        || !PyArray_ISCARRAY_RO(array))
        return 0;
    memcpy(to, PyArray_DATA(array), (size_t)PyArray_NBYTES(array));
    return 1;
}

/* Whether the indices of all steps are in range, and each step comes after its parent in its part. */
static int steps_fit(const Poses *self, npy_intp n_constants)
{
    if (self->part_starts[0] != 0 || self->part_starts[self->n_parts] != self->n_steps) return 0;
    for (int k = 0; k < self->n_frames; k++)
        if (self->part_of[k] < 0 || self->part_of[k] >= self->n_parts) return 0;
    for (int k = 0; k < self->n_angles; k++)
        if (self->angle_at[k] < 0 || self->angle_at[k] >= (self->n_values ? self->n_values : 1))
            return 0;
    for (int k = 0; k < self->n_slots; k++) self->step_of[k] = -1;
    for (int part = 0; part < self->n_parts; part++) {
        int start = self->part_starts[part], stop = self->part_starts[part + 1];
        if (start > stop || stop > self->n_steps) return 0;
        for (int s = start; s < stop; s++) {
            const PoseStep *step = &self->steps[s];
            npy_intp poses = step->op == LINEAR_POSE ? 1 + (npy_intp)step->terms
                : step->op == ROTATION_POSE ? 3 : 0;
            npy_intp values = step->op == LINEAR_POSE ? step->terms
                : step->op == FREE_POSE ? 7 : step->op == QUATERNION_POSE ? 4 : 0;
            if (step->op < 0 || step->op > QUATERNION_POSE || step->terms < 0 || step->constant < 0
                || step->argument < 0 || step->constant + 12 * poses > n_constants
                || (values && step->argument + values > self->n_values)
                || (step->op == ROTATION_POSE
                    && (self->n_values < 1 || step->argument >= 2 * self->n_angles - 4))
                || step->slot < 0 || step->slot >= self->n_slots || self->step_of[step->slot] >= 0)
                return 0;
            if (step->parent >= 0) {
                int before = step->parent < self->n_slots ? self->step_of[step->parent] : -1;
                if (before < start) return 0;
            } else if (step->parent <= ATTACHED) {
                if (part == 0 || ATTACHED - step->parent != part - 1) return 0;
            }
            self->step_of[step->slot] = s;
        }
    }
    for (int k = 0; k < self->n_slots; k++)
        if (self->step_of[k] < 0) return 0;
    return 1;
}

static int poses_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    Poses *self = (Poses *)object;
    PyObject *steps, *starts, *part_of, *angle_at, *angles, *constants;
    int n_frames, n_slots, n_values, n_attachable;
    if (!PyArg_ParseTuple(args, "(iiii)O!O!O!O!O!O!", &n_frames, &n_slots, &n_values, &n_attachable,
                          &PyArray_Type, &steps, &PyArray_Type, &starts, &PyArray_Type, &part_of,
                          &PyArray_Type, &angle_at, &PyArray_Type, &angles, &PyArray_Type,
                          &constants))
        return -1;
    if (self->memory || kwargs) {  /* checked after parsing, because `__index__` may run any code */
        PyErr_SetString(PyExc_RuntimeError, "Poses can be initialized once, without keywords");
        return -1;
    }
    npy_intp n_steps = PyArray_SIZE((PyArrayObject *)steps) / 6;
    npy_intp n_angles = PyArray_SIZE((PyArrayObject *)angle_at);
    npy_intp n_constants = PyArray_SIZE((PyArrayObject *)constants);
    if (n_frames < 1 || n_slots < n_frames || n_values < 0 || n_attachable < 0
        || n_attachable >= n_frames || n_angles % 4 || n_steps > NPY_MAX_INT / 8
        || n_angles > NPY_MAX_INT / 8 || n_constants > NPY_MAX_INT)
        goto rejected;
    self->n_frames = n_frames;
    self->n_slots = n_slots;
    self->n_values = n_values;
    self->n_attachable = n_attachable;
    self->n_steps = (int)n_steps;
    self->n_angles = (int)n_angles;
    self->n_parts = self->n_attachable + 1;
    size_t doubles = (size_t)(2 * n_angles + n_constants) * sizeof(double);
    size_t ints = (size_t)(6 * n_steps + self->n_parts + 1 + self->n_frames + self->n_slots
                           + n_angles) * sizeof(npy_int32);
    char *memory = calloc(1, doubles + ints + CACHE_LINE);
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    self->factors = (double *)memory;
    self->offsets = self->factors + n_angles;
    self->constants = self->offsets + n_angles;
    self->steps = (PoseStep *)(self->constants + n_constants);
    self->part_starts = (npy_int32 *)(self->steps + n_steps);
    self->part_of = self->part_starts + self->n_parts + 1;
    self->step_of = self->part_of + self->n_frames;
    self->angle_at = self->step_of + self->n_slots;
    self->block_bytes = rows_bytes(self);
    if (!copy_array(steps, NPY_INT32, self->steps, 6 * n_steps)
        || !copy_array(starts, NPY_INT32, self->part_starts, self->n_parts + 1)
        || !copy_array(part_of, NPY_INT32, self->part_of, self->n_frames)
        || !copy_array(angle_at, NPY_INT32, self->angle_at, n_angles)
        || !copy_array(angles, NPY_DOUBLE, self->factors, 2 * n_angles)
        || !copy_array(constants, NPY_DOUBLE, self->constants, n_constants)
        || !steps_fit(self, n_constants)) {
        free(memory);
        goto rejected;
    }
    self->memory = memory;
    return 0;
rejected:
    PyErr_SetString(PyExc_ValueError, "the steps are inconsistent");
    return -1;
}

static void poses_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((Poses *)object)->memory);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef poses_methods[] = {
    {"run", (PyCFunction)(void (*)(void))poses_run, METH_FASTCALL,
     "run(values, parents, frames, reference, out, threads): poses of frames, (..., n, 4, 4)."},
    {"jacobians", (PyCFunction)(void (*)(void))poses_jacobians, METH_FASTCALL,
     "jacobians(values, parents, base, frames, columns, twists, nv, threads): (..., n, 6, nv)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot poses_slots[] = {
    {Py_tp_doc, "Poses of the frames of a workcell in the world."},
    {Py_tp_init, poses_init},
    {Py_tp_dealloc, poses_dealloc},
    {Py_tp_methods, poses_methods},
    {0, NULL},
};

static PyType_Spec poses_spec = {
    .name = "linkwork.workcell._poses.Poses",
    .basicsize = sizeof(Poses),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = poses_slots,
};

static int execute(PyObject *module)
{
    import_array1(-1);
    api = import_c_api();
    if (!api) return -1;
    detect_processor();
    static const struct { const char *name; long value; } constants[] = {
        {"LINEAR_POSE", LINEAR_POSE},
        {"ROTATION_POSE", ROTATION_POSE},
        {"FREE_POSE", FREE_POSE},
        {"QUATERNION_POSE", QUATERNION_POSE},
        {"ROOTED", ROOTED},
        {"ATTACHED", ATTACHED},
    };
    for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++)
        if (PyModule_AddIntConstant(module, constants[k].name, constants[k].value) < 0) return -1;
    PyObject *type = PyType_FromModuleAndSpec(module, &poses_spec, NULL);
    if (!type) return -1;
    int status = PyModule_AddObjectRef(module, "Poses", type);
    PyObject *max_axes = PyLong_FromLong(MOST_AXES);
    if (status == 0) status = max_axes ? PyObject_SetAttrString(type, "MOST_AXES", max_axes) : -1;
    Py_XDECREF(max_axes);
    Py_DECREF(type);
    return status;
}

#define MODULE_NAME _poses
#define MODULE_DOC "Poses of the frames of a workcell."
#define MODULE_METHODS NULL
#include "module_template.h"
