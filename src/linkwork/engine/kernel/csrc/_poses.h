/* The type `Poses`: poses of all frames of a workcell in the world, for any attachments.
 *
 * Frames are computed by steps, each of which gives the pose of one frame, or of a frame between two,
 * on its parent as a combination of constant poses, and from it the pose in the world:
 *
 *   LINEAR_POSE   C0 + v0 C1 + v1 C2 + ...   with numbers v of the state; C0 alone is a fixed frame
 *   TURN_POSE     C0 + cos C1 + sin C2       with an angle, factor v + offset
 *   FREE_POSE     position and quaternion
 *   SPIN_POSE     quaternion, or its inverse
 *
 * Steps are grouped into parts: what WORLD carries in every state, and what each attachable frame
 * carries in every state. Within a part each step comes after that of its parent. Parts are computed
 * in the order of what they are attached to, which may differ from row to row.
 *
 * Nothing is compiled for a cell, so a new cell or attachment costs nothing. States with more than
 * MOST_AXES batch axes are left to Python, which calls with one axis for all; it knows the number as
 * `Poses.MOST_AXES`.
 */
#ifndef LINKWORK_POSES_H
#define LINKWORK_POSES_H

#include "_threads.h"
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_WIDE_POSES 1
#else
#define HAS_WIDE_POSES 0
#endif

#define LARGE_ANGLE 1e5    /* larger ones are left to the C library [rad] */
#define ROOTED (-1)        /* parent of a step whose pose is in the world already */
#define ATTACHED (-2)      /* and below: of the root of an attachable part, by its column */
#define POSE_CHUNK 256     /* rows of a chunk */
#define BAD_PARENTS 100    /* status: attachments that do not form a tree */

enum { LINEAR_POSE, TURN_POSE, FREE_POSE, SPIN_POSE };

typedef struct {
    npy_int32 op, parent, slot, constant, argument, terms;
} PoseStep;

typedef struct {
    PyObject_HEAD
    int n_frames, n_slots, n_values, n_attachable, n_angles, n_steps, n_parts;
    PoseStep *steps;
    npy_int32 *part_starts;   /* first step of each part, and the end */
    npy_int32 *part_of;       /* part of each frame */
    npy_int32 *step_of;       /* step of each slot */
    npy_int32 *angle_at;      /* number of the state behind each angle; padded to four */
    double *factors, *offsets, *constants;
    void *memory;             /* that holds all of them */
    size_t block_bytes;       /* that a thread needs */
} Poses;

typedef struct {              /* one joint coordinate in the Jacobian of one frame */
    npy_int32 target;         /* the frame, by its place among those wanted */
    npy_int32 axes, origin;   /* frames: of the axes that v and w are in, and of where v is */
    npy_int32 column;         /* of the Jacobian; coordinates that share one are added up */
} PoseColumn;

typedef struct {
    Job job;                  /* first: threads know only it */
    const Poses *poses;
    const char *values, *parents;
    npy_intp value_step, parent_step;  /* bytes from row to row; 0 if they share one */
    double *out;
    npy_intp n_out;           /* frames that are written */
    npy_intp row_size;        /* numbers that are written for each row */
    const PoseColumn *columns;  /* of Jacobians in place of poses; NULL for poses */
    const double *twists;     /* v and w of each of them */
    npy_intp n_columns, nv;
    const npy_int32 *out_at;  /* where the pose of a frame in the world goes; -1 if nowhere */
    const npy_int32 *wanted;  /* frames, if their poses are to be in a reference frame */
    npy_intp reference;       /* that frame; -1 for the world */
    const char *is_needed;    /* by slot; NULL if all are */
    int streamed;             /* to what non-temporal stores are aligned, 32 or 16; 0 without */
    int is_late;              /* whether poses are written when all of a row are there */
} PoseJob;

typedef struct {              /* a step, with where its parent and its result are in the rows */
    npy_int32 op, parent, slot, constant, argument, terms, out, unused;
} PlannedStep;

typedef struct {              /* what a thread works on */
    const double *values;
    const npy_int32 *parents;
    double *world, *turns, *out;
    PlannedStep *plan;        /* the steps of all parts, in an order that fits the attachments */
    npy_int32 *n_planned;     /* how many there are; 0 before the first row */
    npy_int32 *planned_for;   /* parents that the plan is for: a copy, so that what was checked stays */
    npy_int32 *order;         /* the parts in the order of the plan, WORLD first */
    npy_int32 *position;      /* of each part in that order */
    npy_int32 *root_at;       /* step that attaches each part; -1 if it is not needed */
    char *is_turned;          /* whether a group of four angles is needed */
} Rows;

static size_t rows_bytes(const Poses *self)
{
    size_t n_parts = (size_t)self->n_parts, n_angles = (size_t)self->n_angles;
    return round_up((12 * (size_t)self->n_slots + 2 * n_angles) * sizeof(double)
                    + (size_t)self->n_steps * sizeof(PlannedStep)
                    + (1 + 4 * n_parts) * sizeof(npy_int32) + n_angles / 4);
}

static Rows rows_in(const Poses *self, char *block)
{
    Rows row = {0};
    row.world = (double *)block;
    row.turns = row.world + 12 * (npy_intp)self->n_slots;
    row.plan = (PlannedStep *)(row.turns + 2 * (npy_intp)self->n_angles);
    row.n_planned = (npy_int32 *)(row.plan + self->n_steps);
    row.planned_for = row.n_planned + 1;
    row.order = row.planned_for + self->n_parts;
    row.position = row.order + self->n_parts;
    row.root_at = row.position + self->n_parts;
    row.is_turned = (char *)(row.root_at + self->n_parts);
    *row.n_planned = 0;
    for (int k = 0; k < self->n_parts; k++) row.order[k] = k;
    return row;
}

/* Put the parts in order, each after the one that it is attached to; 0 if that cannot be. */
static int put_in_order(const Poses *self, Rows *row)
{
    for (int k = 1; k < self->n_parts; k++) row->position[k] = -1;
    row->position[0] = 0;
    for (int i = 1; i < self->n_parts; i++) {
        int j = i;
        for (; j < self->n_parts; j++) {
            npy_int32 parent = row->planned_for[row->order[j] - 1];
            if (parent < 0 || parent >= self->n_frames) return 0;
            if (row->position[self->part_of[parent]] >= 0) break;
        }
        if (j == self->n_parts) return 0;  /* parts that sit on each other */
        npy_int32 part = row->order[j];
        row->order[j] = row->order[i];
        row->order[i] = part;
        row->position[part] = i;
    }
    return 1;
}

/* Plan the steps of a row, without those that are not needed; 0 if it is attached in a circle. */
static int make_plan(const PoseJob *job, Rows *row)
{
    const Poses *self = job->poses;
    PlannedStep *to = row->plan;
    memcpy(row->planned_for, row->parents, (size_t)self->n_attachable * sizeof(npy_int32));
    if (!put_in_order(self, row)) return 0;
    memset(row->is_turned, 0, (size_t)self->n_angles / 4);
    for (int i = 0; i < self->n_parts; i++) {
        int part = row->order[i];
        row->root_at[part] = -1;
        for (int s = self->part_starts[part]; s < self->part_starts[part + 1]; s++) {
            const PoseStep *step = &self->steps[s];
            if (job->is_needed && !job->is_needed[step->slot]) continue;
            *to = (PlannedStep){step->op, step->parent, step->slot, step->constant, step->argument,
                                step->terms, -1, 0};
            if (step->slot < self->n_frames && !job->is_late) to->out = job->out_at[step->slot];
            if (step->parent <= ATTACHED) {
                to->parent = row->planned_for[part - 1];
                row->root_at[part] = (npy_int32)(to - row->plan);
            }
            if (step->op == TURN_POSE) row->is_turned[step->argument / 8] = 1;
            to++;
        }
    }
    *row->n_planned = (npy_int32)(to - row->plan);
    return 1;
}

/* Make the plan fit a row: mostly the order stays, and only parents change. */
static int keep_plan(const PoseJob *job, Rows *row)
{
    const Poses *self = job->poses;
    size_t bytes = (size_t)self->n_attachable * sizeof(npy_int32);
    if (*row->n_planned == 0) return make_plan(job, row);
    if (job->parent_step == 0 || memcmp(row->parents, row->planned_for, bytes) == 0) return 1;
    memcpy(row->planned_for, row->parents, bytes);
    for (int part = 1; part < self->n_parts; part++) {
        npy_int32 parent = row->planned_for[part - 1];
        if (parent < 0 || parent >= self->n_frames
            || row->position[self->part_of[parent]] >= row->position[part])
            return make_plan(job, row);
        if (row->root_at[part] >= 0) row->plan[row->root_at[part]].parent = parent;
    }
    return 1;
}

static void turned(const double *m, const double *v, double *to)
{
    for (int i = 0; i < 3; i++) to[i] = m[4 * i] * v[0] + m[4 * i + 1] * v[1] + m[4 * i + 2] * v[2];
}

static void turned_back(const double *m, const double *v, double *to)
{
    for (int i = 0; i < 3; i++) to[i] = m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2];
}

/* (6, nv) Jacobian of each wanted frame, at its origin and along the axes of the reference frame. */
static void write_jacobians(const PoseJob *job, const Rows *row)
{
    const double *base = row->world + 12 * job->reference;
    memset(row->out, 0, (size_t)job->row_size * sizeof(double));
    for (npy_intp k = 0; k < job->n_columns; k++) {
        const PoseColumn *column = &job->columns[k];
        const double *axes = row->world + 12 * (npy_intp)column->axes;
        const double *origin = row->world + 12 * (npy_intp)column->origin;
        const double *target = row->world + 12 * (npy_intp)job->wanted[column->target];
        double v[3], w[3], arm[3], along[3], about[3];
        turned(axes, job->twists + 6 * k, v);
        turned(axes, job->twists + 6 * k + 3, w);
        for (int i = 0; i < 3; i++) arm[i] = target[4 * i + 3] - origin[4 * i + 3];
        v[0] += w[1] * arm[2] - w[2] * arm[1];
        v[1] += w[2] * arm[0] - w[0] * arm[2];
        v[2] += w[0] * arm[1] - w[1] * arm[0];
        turned_back(base, v, along);
        turned_back(base, w, about);
        double *to = row->out + (npy_intp)column->target * 6 * job->nv + column->column;
        for (int i = 0; i < 3; i++) {
            to[i * job->nv] += along[i];
            to[(3 + i) * job->nv] += about[i];
        }
    }
}

#define POSE(name) plain_pose_##name
#include "_pose_rows.h"
#if HAS_WIDE_POSES
#define POSE(name) wide_pose_##name
#define WIDE
#include "_pose_rows.h"
#endif

static int has_wide_registers;  /* set when the module is imported */

static void look_at_processor(void)
{
#if HAS_WIDE_POSES
    __builtin_cpu_init();
    has_wide_registers = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

static int pose_chunk(const PoseJob *job, npy_intp start, npy_intp rows, char *block)
{
#if HAS_WIDE_POSES
    if (has_wide_registers) return wide_pose_chunk(job, start, rows, block);
#endif
    return plain_pose_chunk(job, start, rows, block);
}

static int pose_work(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state)
{
    (void)state;
    return pose_chunk((const PoseJob *)job, start, rows, block);
}

/* Mark what some frames need in states of one tree; 0 if parents are out of range. */
static int mark_needed(const PoseJob *job, char *is_needed)
{
    const Poses *self = job->poses;
    const npy_int32 *parents = (const npy_int32 *)job->parents;
    npy_intp n = job->n_out, m = job->n_columns;
    memset(is_needed, 0, (size_t)self->n_slots);
    for (npy_intp k = 0; k <= n + 2 * m; k++) {
        npy_int32 slot = k < n ? job->wanted[k] : k == n ? (npy_int32)job->reference
            : k <= n + m ? job->columns[k - n - 1].axes : job->columns[k - n - m - 1].origin;
        while (slot >= 0 && !is_needed[slot]) {
            is_needed[slot] = 1;
            slot = self->steps[self->step_of[slot]].parent;
            if (slot > ATTACHED) continue;
            slot = parents[ATTACHED - slot];
            if (slot < 0 || slot >= self->n_frames) return 0;
        }
    }
    return 1;
}

/* Rows of an array (..., size) with at most MOST_AXES batch axes: their number, and the bytes from one to
   the next; 0 if it does not fit. */
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

/* Whether rows of parents are one for each row of values, or one for all. */
static int parents_fit(npy_intp rows, npy_intp parent_rows, npy_intp parent_step)
{
    return parent_rows == rows || (parent_rows == 1 && parent_step == 0);
}

/* The array to write to, (..., n, height, width) with the batch axes of values that `read_pose_rows` has
   checked: new, or a new reference to the one that is given; NULL, maybe without an error, if not. */
static PyArrayObject *pose_output(PyObject *given, PyArrayObject *values, npy_intp n, npy_intp height,
                                  npy_intp width)
{
    npy_intp shape[MOST_AXES + 3];
    int axes = PyArray_NDIM(values) - 1;
    for (int i = 0; i < axes; i++) shape[i] = PyArray_DIM(values, i);
    shape[axes] = n;
    shape[axes + 1] = height;
    shape[axes + 2] = width;
    if (given == Py_None) return (PyArrayObject *)new_array(axes + 3, shape, NPY_DOUBLE);
    PyArrayObject *out = (PyArrayObject *)given;
    if (!PyArray_Check(given) || PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)
        || PyArray_NDIM(out) != axes + 3)
        return NULL;
    for (int i = 0; i < axes + 3; i++)
        if (PyArray_DIM(out, i) != shape[i]) return NULL;
    return (PyArrayObject *)Py_NewRef(given);
}

static int run_poses(PoseJob *job, npy_intp rows, int threads)
{
    Code code = {.width = 1, .chunk = POSE_CHUNK};  /* of chunks; there is no machine code */
    size_t bytes = job->poses->block_bytes;
    Block block = take_block(bytes);
    if (!block.start) return NO_MEMORY;
    int status;
    if (rows == 1) {
        status = pose_chunk(job, 0, 1, block.start);
    } else if (rows <= POSE_CHUNK) {
        PyThreadState *state = PyEval_SaveThread();
        status = pose_chunk(job, 0, rows, block.start);
        PyEval_RestoreThread(state);
    } else {
        Job *own = &job->job;
        own->code = &code;
        own->rows = rows;
        own->threads = threads;
        own->chunk = own->fitting = POSE_CHUNK;
        own->bytes = bytes;
        own->work = pose_work;
        run_job(own, block.start);
        status = own->status;
    }
    give_block(block);
    return status;
}

/* The frames that are wanted, each once, or NULL for all; 0 if they do not fit. */
static int read_wanted(const Poses *self, PyObject *value, PoseJob *job, npy_int32 *out_at)
{
    PyArrayObject *array = (PyArrayObject *)value;
    job->n_out = self->n_frames;
    for (int k = 0; k < self->n_frames; k++) out_at[k] = k;
    if (value == Py_None) return 1;
    if (!PyArray_Check(value) || PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_INT32
        || !PyArray_ISCARRAY_RO(array))
        return 0;
    job->n_out = PyArray_DIM(array, 0);
    job->wanted = PyArray_DATA(array);
    for (int k = 0; k < self->n_frames; k++) out_at[k] = -1;
    for (npy_intp k = 0; k < job->n_out; k++) {
        npy_int32 frame = job->wanted[k];
        if (frame < 0 || frame >= self->n_frames || out_at[frame] >= 0) return 0;
        out_at[frame] = (npy_int32)k;
    }
    return 1;
}

static PyObject *refused_poses(void)
{
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "run: arguments that do not fit the frames");
    return NULL;
}

/* run(values, parents, wanted, reference, out, threads): poses of all frames, or of those wanted, in
   the world (-1) or a reference frame. */
static PyObject *poses_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const Poses *self = (Poses *)object;
    PoseJob job = {.poses = self};
    npy_intp rows = 0, parent_rows = 0;
    if (count != 6 || !self->memory) return refused_poses();
    int threads = read_threads(args[5]);
    job.reference = PyLong_Check(args[3]) ? PyLong_AsSsize_t(args[3]) : -2;
    if (PyErr_Occurred()) return NULL;  /* more than fits */
    if (threads < 0 || job.reference < -1 || job.reference >= self->n_frames
        || (job.reference >= 0 && args[2] == Py_None)
        || !read_pose_rows(args[0], NPY_DOUBLE, self->n_values, &rows, &job.value_step)
        || !read_pose_rows(args[1], NPY_INT32, self->n_attachable, &parent_rows, &job.parent_step)
        || !parents_fit(rows, parent_rows, job.parent_step))
        return refused_poses();
    job.values = PyArray_BYTES((PyArrayObject *)args[0]);
    job.parents = PyArray_BYTES((PyArrayObject *)args[1]);
    Block room = take_block((size_t)self->n_frames * sizeof(npy_int32) + (size_t)self->n_slots);
    if (!room.start) return PyErr_NoMemory();
    npy_int32 *out_at = (npy_int32 *)room.start;
    char *is_needed = (char *)(out_at + self->n_frames);
    PyArrayObject *out = NULL;
    if (read_wanted(self, args[2], &job, out_at))
        out = pose_output(args[4], (PyArrayObject *)args[0], job.n_out, 4, 4);
    int status = out ? DONE : BAD_PARENTS;
    if (out && rows > 0) {
        job.out = PyArray_DATA(out);
        job.row_size = 16 * job.n_out;
        job.out_at = out_at;
        if (has_wide_registers && (size_t)PyArray_NBYTES(out) > STREAMED_BYTES)
            job.streamed = (uintptr_t)job.out % 32 == 0 ? 32 : (uintptr_t)job.out % 16 == 0 ? 16 : 0;
        /* stores across poses need those that follow each other */
        job.is_late = job.reference >= 0 || job.streamed == 16;
        if (job.wanted && (rows == 1 || job.parent_step == 0)) {
            if (!mark_needed(&job, is_needed)) status = BAD_PARENTS;
            job.is_needed = is_needed;
        }
        if (status == DONE) status = run_poses(&job, rows, threads);
    }
    give_block(room);
    if (status == DONE) return (PyObject *)out;
    Py_XDECREF(out);
    if (status == NO_MEMORY) return PyErr_NoMemory();
    return status == INTERRUPTED ? NULL : refused_poses();
}

/* Whether a value is an array of this type, in C order, of shape (n,), or (n, width) if a width is given. */
static int is_pose_array(PyObject *value, int type, npy_intp width)
{
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_Check(value) && PyArray_TYPE(array) == type && PyArray_ISCARRAY_RO(array)
        && PyArray_NDIM(array) == (width ? 2 : 1) && (!width || PyArray_DIM(array, 1) == width);
}

/* jacobians(values, parents, base, wanted, columns, twists, nv, threads): (..., n, 6, nv), for one row of
   parents that all rows share. */
static PyObject *poses_jacobians(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    const Poses *self = (Poses *)object;
    PoseJob job = {.poses = self};
    npy_intp rows = 0, parent_rows = 0;
    if (count != 8 || !self->memory) return refused_poses();
    int threads = read_threads(args[7]);
    job.reference = PyLong_Check(args[2]) ? PyLong_AsSsize_t(args[2]) : -1;
    job.nv = PyLong_Check(args[6]) ? PyLong_AsSsize_t(args[6]) : -1;
    if (PyErr_Occurred()) return NULL;  /* more than fits */
    if (threads < 0 || job.reference < 0 || job.reference >= self->n_frames || job.nv < 0
        || job.nv > NPY_MAX_INT
        || !read_pose_rows(args[0], NPY_DOUBLE, self->n_values, &rows, &job.value_step)
        || !read_pose_rows(args[1], NPY_INT32, self->n_attachable, &parent_rows, &job.parent_step)
        || job.parent_step || parent_rows != 1 || !is_pose_array(args[3], NPY_INT32, 0)
        || !is_pose_array(args[4], NPY_INT32, 4) || !is_pose_array(args[5], NPY_DOUBLE, 6)
        || PyArray_DIM((PyArrayObject *)args[4], 0) != PyArray_DIM((PyArrayObject *)args[5], 0))
        return refused_poses();
    job.values = PyArray_BYTES((PyArrayObject *)args[0]);
    job.parents = PyArray_BYTES((PyArrayObject *)args[1]);
    job.wanted = PyArray_DATA((PyArrayObject *)args[3]);
    job.n_out = PyArray_DIM((PyArrayObject *)args[3], 0);
    job.columns = PyArray_DATA((PyArrayObject *)args[4]);
    job.n_columns = PyArray_DIM((PyArrayObject *)args[4], 0);
    job.twists = PyArray_DATA((PyArrayObject *)args[5]);
    job.is_late = 1;
    for (npy_intp k = 0; k < job.n_out; k++)
        if (job.wanted[k] < 0 || job.wanted[k] >= self->n_frames) return refused_poses();
    for (npy_intp k = 0; k < job.n_columns; k++) {
        const PoseColumn *column = &job.columns[k];
        if (column->target < 0 || column->target >= job.n_out || column->axes < 0
            || column->axes >= self->n_frames || column->origin < 0
            || column->origin >= self->n_frames || column->column < 0 || column->column >= job.nv)
            return refused_poses();
    }
    PyArrayObject *out = pose_output(Py_None, (PyArrayObject *)args[0], job.n_out, 6, job.nv);
    if (!out) return NULL;
    Block room = take_block((size_t)self->n_slots);
    if (!room.start) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    job.is_needed = room.start;
    job.out = PyArray_DATA(out);
    int status = mark_needed(&job, room.start) ? DONE : BAD_PARENTS;
    if (status == DONE && rows > 0) {
        job.row_size = PyArray_SIZE(out) / rows;
        status = run_poses(&job, rows, threads);
    }
    give_block(room);
    if (status == DONE) return (PyObject *)out;
    Py_DECREF(out);
    if (status == NO_MEMORY) return PyErr_NoMemory();
    return status == INTERRUPTED ? NULL : refused_poses();
}

/* Copy a one-dimensional array; 0 if it is not one of this type. */
static int copied(PyObject *value, int type, void *to, npy_intp count)
{
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_TYPE(array) != type || PyArray_SIZE(array) != count
        || !PyArray_ISCARRAY_RO(array))
        return 0;
    memcpy(to, PyArray_DATA(array), (size_t)PyArray_NBYTES(array));
    return 1;
}

/* Whether all steps stay within their arrays, and each comes after that of its parent in its part. */
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
                : step->op == TURN_POSE ? 3 : 0;
            npy_intp numbers = step->op == LINEAR_POSE ? step->terms
                : step->op == FREE_POSE ? 7 : step->op == SPIN_POSE ? 4 : 0;
            if (step->op < 0 || step->op > SPIN_POSE || step->terms < 0 || step->constant < 0
                || step->argument < 0 || step->constant + 12 * poses > n_constants
                || (numbers && step->argument + numbers > self->n_values)
                || (step->op == TURN_POSE
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
    if (self->memory || kwargs) {  /* checked now: `__index__` of arguments runs any code */
        PyErr_SetString(PyExc_RuntimeError, "Poses are made once, of arrays in order");
        return -1;
    }
    npy_intp n_steps = PyArray_SIZE((PyArrayObject *)steps) / 6;
    npy_intp n_angles = PyArray_SIZE((PyArrayObject *)angle_at);
    npy_intp n_constants = PyArray_SIZE((PyArrayObject *)constants);
    if (n_frames < 1 || n_slots < n_frames || n_values < 0 || n_attachable < 0
        || n_attachable >= n_frames || n_angles % 4 || n_steps > NPY_MAX_INT / 8
        || n_angles > NPY_MAX_INT / 8 || n_constants > NPY_MAX_INT)
        goto refused;
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
    if (!copied(steps, NPY_INT32, self->steps, 6 * n_steps)
        || !copied(starts, NPY_INT32, self->part_starts, self->n_parts + 1)
        || !copied(part_of, NPY_INT32, self->part_of, self->n_frames)
        || !copied(angle_at, NPY_INT32, self->angle_at, n_angles)
        || !copied(angles, NPY_DOUBLE, self->factors, 2 * n_angles)
        || !copied(constants, NPY_DOUBLE, self->constants, n_constants)
        || !steps_fit(self, n_constants)) {
        free(memory);
        goto refused;
    }
    self->memory = memory;
    return 0;
refused:
    PyErr_SetString(PyExc_ValueError, "steps that do not fit each other");
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
     "run(values, parents, wanted, reference, out, threads): poses of frames, (..., n, 4, 4)."},
    {"jacobians", (PyCFunction)(void (*)(void))poses_jacobians, METH_FASTCALL,
     "jacobians(values, parents, base, wanted, columns, twists, nv, threads): (..., n, 6, nv)."},
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
    .name = "linkwork.engine.kernel._call.Poses",
    .basicsize = sizeof(Poses),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = poses_slots,
};

#endif
