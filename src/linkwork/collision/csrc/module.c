/* The module `_motions`: the types `World` (obstacles) and `Motions` (a robot made of spheres).
 *
 * Python prepares all arrays; types and sizes are checked again here. `Motions` holds the machine code that
 * computes the centers of the spheres, as `Call` does (call.h): calls that run it hold a reference.
 */
#define LINKWORK_IMPORTS_NUMPY
#include "motions.h"

#define CHUNK_ROWS 64      /* motions between two checks for signals */
#define SLACK 1e-5         /* [rad or m] start and goals may exceed limits by what files round */

typedef struct {
    PyObject_HEAD
    Code *code;            /* NULL before code is installed */
    Robot robot;           /* its memory is NULL before __init__ */
} Motions;

static const CApi *api;
static PyTypeObject *world_type;

static PyObject *reject(const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s: unexpected type, shape or value", what);
    return NULL;
}

/* Whether a value is an array of this type in C order with `axes` axes; the last one of `width` if >= 0. */
static int is_array(PyObject *value, int type, int axes, npy_intp width)
{
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_Check(value) && PyArray_TYPE(array) == type && PyArray_ISCARRAY_RO(array)
        && PyArray_NDIM(array) == axes && (width < 0 || PyArray_DIM(array, axes - 1) == width);
}

#define ROWS(value) PyArray_DIM((PyArrayObject *)(value), 0)
#define DATA(value) PyArray_DATA((PyArrayObject *)(value))

/* World(kinds, rows, lower, upper): obstacles and the corners of their bounds. */
static int world_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    World *self = (World *)object;
    PyObject *kinds, *rows, *lower, *upper;
    if (!PyArg_ParseTuple(args, "OOOO", &kinds, &rows, &lower, &upper)) return -1;
    if (kwargs || self->obstacles || !is_array(kinds, NPY_INT32, 1, -1)
        || !is_array(rows, NPY_FLOAT, 2, 15) || !is_array(lower, NPY_FLOAT, 2, 3)
        || !is_array(upper, NPY_FLOAT, 2, 3) || ROWS(rows) != ROWS(kinds) || ROWS(lower) != ROWS(kinds)
        || ROWS(upper) != ROWS(kinds)) {
        reject("World");
        return -1;
    }
    npy_intp n = ROWS(kinds), n_blocks = (n + 7) / 8;
    for (npy_intp k = 0; k < n; k++) {
        npy_int32 kind = ((npy_int32 *)DATA(kinds))[k];
        if (kind < 0 || kind >= N_KINDS) {
            reject("World");
            return -1;
        }
    }
    Obstacle *obstacles = calloc((size_t)n + 1, sizeof(Obstacle));
    float *bounds = malloc((size_t)(n_blocks + 1) * 48 * sizeof(float));
    if (!obstacles || !bounds) {
        free(obstacles);
        free(bounds);
        PyErr_NoMemory();
        return -1;
    }
    for (npy_intp k = 0; k < 48 * n_blocks; k++) bounds[k] = k % 48 < 24 ? INFINITY : -INFINITY;
    for (npy_intp k = 0; k < n; k++) {
        obstacles[k].kind = ((npy_int32 *)DATA(kinds))[k];
        memcpy(obstacles[k].c, (float *)DATA(rows) + 15 * k, 15 * sizeof(float));
        for (int axis = 0; axis < 3; axis++) {
            float *to = bounds + 48 * (k / 8) + 8 * axis + k % 8;
            to[0] = ((float *)DATA(lower))[3 * k + axis];
            to[24] = ((float *)DATA(upper))[3 * k + axis];
        }
    }
    self->n = n;
    self->n_blocks = n_blocks;
    self->obstacles = obstacles;
    self->bounds = bounds;
    return 0;
}

static void world_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    free(((World *)object)->obstacles);
    free(((World *)object)->bounds);
    type->tp_free(object);
    Py_DECREF(type);
}

/* Whether all indices of a robot are in range. */
static int robot_fits(const Robot *robot)
{
    for (int k = 0; k < robot->n_links; k++) {
        const LinkSpheres *link = &robot->links[k];
        if (link->bound < 0 || link->bound >= robot->n_points || link->first < 0 || link->count < 1
            || link->first > robot->n_points - link->count)
            return 0;
    }
    for (int k = 0; k < robot->n_pairs; k++)
        if (robot->pairs[k].first < 0 || robot->pairs[k].first >= robot->n_links
            || robot->pairs[k].second < 0 || robot->pairs[k].second >= robot->n_links)
            return 0;
    return 1;
}

/* Motions(n_joints, reach, angles, lengths, links, pairs, radii) */
static int motions_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    Motions *self = (Motions *)object;
    Robot robot = {0};
    PyObject *angles, *lengths, *links, *pairs, *radii;
    if (!PyArg_ParseTuple(args, "idOOOOO", &robot.n_joints, &robot.reach, &angles, &lengths, &links,
                          &pairs, &radii))
        return -1;
    if (kwargs || self->robot.memory || !is_array(angles, NPY_DOUBLE, 1, -1)
        || !is_array(lengths, NPY_DOUBLE, 1, ROWS(angles)) || !is_array(links, NPY_INT32, 2, 4)
        || !is_array(pairs, NPY_INT32, 2, 2) || !is_array(radii, NPY_FLOAT, 1, -1)
        || robot.n_joints < 0 || !(robot.reach >= 0.0) || ROWS(angles) < 1
        || ROWS(angles) > NPY_MAX_INT / 1024 || ROWS(links) > NPY_MAX_INT / 64
        || ROWS(pairs) > NPY_MAX_INT / 64 || ROWS(radii) > NPY_MAX_INT / 1024)
        goto rejected;
    robot.nq = (int)ROWS(angles);
    robot.n_links = (int)ROWS(links);
    robot.n_pairs = (int)ROWS(pairs);
    robot.n_points = (int)ROWS(radii);
    PyObject *const arrays[5] = {angles, lengths, links, pairs, radii};
    void *parts[5];
    size_t bytes = 0;
    for (int k = 0; k < 5; k++) bytes += round_up((size_t)PyArray_NBYTES((PyArrayObject *)arrays[k]));
    char *memory = malloc(bytes), *next = memory;
    if (!memory) {
        PyErr_NoMemory();
        return -1;
    }
    for (int k = 0; k < 5; k++) {
        size_t size = (size_t)PyArray_NBYTES((PyArrayObject *)arrays[k]);
        memcpy(next, DATA(arrays[k]), size);
        parts[k] = next;
        next += round_up(size);
    }
    robot.memory = memory;
    robot.angles = parts[0];
    robot.lengths = parts[1];
    robot.links = parts[2];
    robot.pairs = parts[3];
    robot.radii = parts[4];
    if (!robot_fits(&robot)) {
        free(memory);
        goto rejected;
    }
    self->robot = robot;
    return 0;
rejected:
    reject("Motions");
    return -1;
}

/* _use(one, many, width, operations, keep): use the functions at these addresses in later calls. */
static PyObject *motions_use(PyObject *object, PyObject *args)
{
    Motions *self = (Motions *)object;
    unsigned long long one, many;
    Py_ssize_t width, operations;
    PyObject *keep;
    if (!PyArg_ParseTuple(args, "KKnnO", &one, &many, &width, &operations, &keep)) return NULL;
    if (width < 1 || operations < 0) return reject("_use");
    Code *code = NULL;
    if (one) {
        code = new_code(one, many, width, keep);
        if (!code) return NULL;
        code->cost = (double)operations;
    }
    Code *old = self->code;
    self->code = code;
    release_code(old);
    Py_RETURN_NONE;
}

typedef struct { double angles, lengths; } Extent;  /* see `rounding_bound`; infinite if not finite */

static int is_finite_row(const double *q, int nq)
{
    double zero = 0.0;
    for (int k = 0; k < nq; k++) zero += 0.0 * q[k];  /* NaN if an entry is not finite */
    return zero == 0.0;
}

/* The extent of rows of coordinates, each of which is at most the larger one of two arrays. */
static Extent extent_of(const Robot *robot, const double *first, const double *second, npy_intp rows,
                        int skips)  /* whether rows that are not finite are skipped */
{
    Extent extent = {0.0, 0.0};
    for (npy_intp row = 0; row < rows; row++, first += robot->nq, second += robot->nq) {
        double angles = 0.0, lengths = 0.0;
        if (!is_finite_row(first, robot->nq) || !is_finite_row(second, robot->nq)) {
            if (skips) continue;
            angles = INFINITY;
        }
        for (int k = 0; k < robot->nq; k++) {
            double a = fabs(first[k]), b = fabs(second[k]), size = a > b ? a : b;
            angles += robot->angles[k] * size;
            lengths += robot->lengths[k] * size;
        }
        if (angles != angles) angles = INFINITY;
        if (angles > extent.angles) extent.angles = angles;
        if (lengths > extent.lengths) extent.lengths = lengths;
    }
    return extent;
}

/* Prepare a scene for some coordinates; 0 with an error if that is not possible. */
static int set_scene(Motions *self, Scene *scene, PyObject *world, double resolution, double margin,
                     Extent extent)
{
    if (!self->robot.memory || !self->code) {
        PyErr_SetString(PyExc_RuntimeError, "there is no machine code");
        return 0;
    }
    if ((world != Py_None && (Py_TYPE(world) != world_type || !((World *)world)->obstacles))
        || !(resolution > 0.0) || !(fabs(margin) < 1e6)
        || !(extent.angles + extent.lengths < INFINITY)) {
        reject("world, resolution, margin or coordinates");
        return 0;
    }
    double pad = rounding_bound(&self->robot, extent.angles, extent.lengths);
    if (!(pad <= MOST_PAD)) {
        char text[64];
        PyOS_snprintf(text, sizeof text, "%.1g m", pad);
        PyErr_SetString(PyExc_OverflowError, text);
        return 0;
    }
    *scene = (Scene){.robot = &self->robot, .world = world == Py_None ? NULL : (World *)world,
                     .code = self->code, .resolution = resolution,
                     .to_obstacle = (float)(margin + pad), .to_link = (float)(margin + 2.0 * pad)};
    return 1;
}

typedef struct {           /* one call of `free` or `test` */
    Scene scene;
    const double *starts, *ends;
    npy_bool *out;
    int lanes;
} MotionJob;

static void to_single(const double *from, npy_intp n, float *to)
{
    for (npy_intp k = 0; k < n; k++) to[k] = (float)from[k];
}

static int motion_rows(void *context, npy_intp start, npy_intp rows, char *memory)
{
    const MotionJob *job = context;
    const Robot *robot = job->scene.robot;
    const npy_intp nq = robot->nq;
    float *a = (float *)memory, *b = a + nq;
    Bench bench = bench_in(robot, job->scene.code, memory + round_up(2 * (size_t)nq * sizeof(float)));
    for (npy_intp row = start; row < start + rows; row++) {
        to_single(job->starts + row * nq, nq, a);
        to_single(job->ends + row * nq, nq, b);
        job->out[row] = (npy_bool)motion_is_free(&job->scene, &bench, a, b, 1);
    }
    return DONE;
}

/* Rows are vectors of configurations here. */
static int configuration_rows(void *context, npy_intp start, npy_intp rows, char *memory)
{
    const MotionJob *job = context;
    const Robot *robot = job->scene.robot;
    const npy_intp nq = robot->nq;
    Bench bench = bench_in(robot, job->scene.code, memory + round_up(2 * (size_t)nq * sizeof(float)));
    const npy_intp n = (npy_intp)(job->ends - job->starts) / nq;
    for (npy_intp row = start; row < start + rows; row++) {
        npy_intp first = row * bench.lanes, left = n - first;
        npy_uint64 bits = 0;
        for (int lane = 0; lane < bench.lanes; lane++) {
            const double *q = job->starts + (first + (lane < left ? lane : left - 1)) * nq;
            int is_finite = is_finite_row(q, robot->nq);
            bits |= (npy_uint64)!is_finite << lane;
            for (npy_intp k = 0; k < nq; k++)
                bench.q[k * bench.lanes + lane] = is_finite ? (float)q[k] : 0.0f;
        }
        bits |= test_lanes(&job->scene, &bench, NULL);
        for (int lane = 0; lane < bench.lanes && lane < left; lane++)
            job->out[first + lane] = (npy_bool)(bits >> lane & 1);
    }
    return DONE;
}

static PyObject *finish(Code *code, int status)
{
    release_code(code);
    if (status == NO_MEMORY) return PyErr_NoMemory();
    if (status != DONE) return NULL;  /* a signal handler has raised */
    Py_RETURN_NONE;
}

/* free(starts, ends, world, resolution, margin, out, threads, skips_static): whether straight motions are
   free, perhaps of obstacles to links that move only. */
static PyObject *motions_free(PyObject *object, PyObject *args)
{
    Motions *self = (Motions *)object;
    PyObject *starts, *ends, *world, *out, *workers;
    double resolution, margin;
    int skips_static;
    if (!PyArg_ParseTuple(args, "OOOddOOp", &starts, &ends, &world, &resolution, &margin, &out, &workers,
                          &skips_static))
        return NULL;
    int threads = api->read_threads(workers);
    if (threads < 0 || !is_array(starts, NPY_DOUBLE, 2, self->robot.nq)
        || !is_array(ends, NPY_DOUBLE, 2, self->robot.nq) || !is_array(out, NPY_BOOL, 1, -1)
        || ROWS(starts) != ROWS(ends) || ROWS(out) != ROWS(ends)
        || !PyArray_ISWRITEABLE((PyArrayObject *)out))
        return reject("free");
    MotionJob job = {.starts = DATA(starts), .ends = DATA(ends), .out = DATA(out)};
    Extent extent = extent_of(&self->robot, job.starts, job.ends, ROWS(starts), 0);
    if (!set_scene(self, &job.scene, world, resolution, margin, extent)) return NULL;
    npy_intp rows = ROWS(starts);
    if (rows == 0) Py_RETURN_NONE;
    Code *code = hold_code(self->code);
    size_t bytes = round_up(2 * (size_t)self->robot.nq * sizeof(float)) + bench_bytes(&self->robot, code);
    job.scene.stops = 1;
    job.scene.skips_static = skips_static;
    int status = api->run_rows(motion_rows, &job, rows, CHUNK_ROWS, 2.0 * code->cost, bytes, threads);
    return finish(code, status);
}

/* test(q, world, margin, out, threads): whether configurations collide, or are not finite. With a negative
   margin of more than twice the rounding errors, those that are reported collide with certainty. */
static PyObject *motions_test(PyObject *object, PyObject *args)
{
    Motions *self = (Motions *)object;
    PyObject *q, *world, *out, *workers;
    double margin;
    if (!PyArg_ParseTuple(args, "OOdOO", &q, &world, &margin, &out, &workers)) return NULL;
    int threads = api->read_threads(workers);
    if (threads < 0 || !is_array(q, NPY_DOUBLE, 2, self->robot.nq) || !is_array(out, NPY_BOOL, 1, -1)
        || ROWS(out) != ROWS(q) || !PyArray_ISWRITEABLE((PyArrayObject *)out))
        return reject("test");
    MotionJob job = {.starts = DATA(q), .out = DATA(out)};
    Extent extent = extent_of(&self->robot, job.starts, job.starts, ROWS(q), 1);
    if (!set_scene(self, &job.scene, world, 1.0, margin, extent)) return NULL;
    npy_intp rows = ROWS(q);
    if (rows == 0) Py_RETURN_NONE;
    job.ends = job.starts + rows * self->robot.nq;
    Code *code = hold_code(self->code);
    npy_intp lanes = lanes_of(code);
    size_t bytes = round_up(2 * (size_t)self->robot.nq * sizeof(float)) + bench_bytes(&self->robot, code);
    int status = api->run_rows(configuration_rows, &job, (rows + lanes - 1) / lanes, CHUNK_ROWS,
                               2.0 * code->cost, bytes, threads);
    return finish(code, status);
}

/* Run Python's signal handlers; returns whether one of them has raised. */
static int handle_signals(void *context)
{
    PyThreadState **state = context;
    PyEval_RestoreThread(*state);
    int raised = PyErr_CheckSignals();
    *state = PyEval_SaveThread();
    return raised;
}

typedef struct {           /* arguments of `plan` in double precision */
    const double *start, *goals, *lower, *upper;
} Ends;

/* Index of the first coordinate outside of the limits; -1 if there is none. */
static int first_outside(const Ends *ends, const double *q, npy_intp nq)
{
    for (npy_intp k = 0; k < nq; k++)
        if (!(q[k] >= ends->lower[k] - SLACK && q[k] <= ends->upper[k] + SLACK)) return (int)k;
    return -1;
}

/* Search without the GIL; returns the status. Goals outside of the limits are left out. */
static int search(Problem *problem, const Ends *ends, char *memory)
{
    const Robot *robot = problem->scene->robot;
    const npy_intp nq = robot->nq, n_goals = problem->n_goals;
    float *start = (float *)memory, *lower = start + nq, *upper = lower + nq, *goals = upper + nq;
    to_single(ends->start, nq, start);
    to_single(ends->lower, nq, lower);
    to_single(ends->upper, nq, upper);
    problem->hit.link = first_outside(ends, ends->start, nq);
    if (problem->hit.link >= 0) return START_OUTSIDE;
    problem->n_goals = 0;
    int outside = -1;
    for (npy_intp k = n_goals - 1; k >= 0; k--) {  /* backwards, so that the first one is reported */
        int index = first_outside(ends, ends->goals + k * nq, nq);
        if (index >= 0) outside = index;
    }
    for (npy_intp k = 0; k < n_goals; k++)
        if (first_outside(ends, ends->goals + k * nq, nq) < 0)
            to_single(ends->goals + k * nq, nq, goals + problem->n_goals++ * nq);
    if (!problem->n_goals) {
        problem->hit.link = outside;
        return GOAL_OUTSIDE;
    }
    problem->start = start;
    problem->goals = goals;
    problem->lower = lower;
    problem->upper = upper;
    size_t offset = round_up((size_t)((3 + n_goals) * nq) * sizeof(float));
    Bench bench = bench_in(robot, problem->scene->code, memory + offset);
    PyThreadState *state = PyEval_SaveThread();
    problem->handle_signals = handle_signals;
    problem->context = &state;
    int status = find_path(problem, &bench);
    PyEval_RestoreThread(state);
    return status;
}

/* The path in double precision, within the limits, with the exact ends; NULL with an error. */
static PyObject *path_array(const Problem *problem, const Ends *ends, npy_intp n_goals, npy_intp nq)
{
    npy_intp shape[2] = {problem->n_path, nq};
    PyObject *path = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (!path) return NULL;
    double *rows = DATA(path), *last = rows + (problem->n_path - 1) * nq;
    for (npy_intp k = 0; k < problem->n_path * nq; k++) {
        double x = (double)problem->path[k], lower = ends->lower[k % nq], upper = ends->upper[k % nq];
        rows[k] = x < lower ? lower : x > upper ? upper : x;
    }
    const float *end = problem->path + (problem->n_path - 1) * nq;
    for (npy_intp g = 0; g < n_goals; g++) {
        const double *goal = ends->goals + g * nq;
        npy_intp k = 0;
        while (k < nq && (float)goal[k] == end[k]) k++;
        if (k < nq || first_outside(ends, goal, nq) >= 0) continue;
        memcpy(last, goal, (size_t)nq * sizeof(double));
        break;
    }
    memcpy(rows, ends->start, (size_t)nq * sizeof(double));
    return path;
}

/* plan(start, goals, lower, upper, world, (resolution, margin, step), (max_iterations, shortcuts, seed,
   skips_static)): (status, link or coordinate, other link, obstacle, iterations, nodes, path or None). */
static PyObject *motions_plan(PyObject *object, PyObject *args)
{
    Motions *self = (Motions *)object;
    PyObject *arrays[4], *world;
    double resolution, margin;
    Problem problem = {.hit = {-1, -1, -1}};
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "OOOOO(ddd)(nnKp)", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &world,
                          &resolution, &margin, &problem.step, &problem.max_iterations,
                          &problem.shortcuts, &seed, &problem.skips_static))
        return NULL;
    for (int k = 0; k < 4; k++)
        if (!is_array(arrays[k], NPY_DOUBLE, k == 1 ? 2 : 1, self->robot.nq)) return reject("plan");
    Scene scene;
    Ends ends = {DATA(arrays[0]), DATA(arrays[1]), DATA(arrays[2]), DATA(arrays[3])};
    npy_intp nq = self->robot.nq, n_goals = ROWS(arrays[1]);
    if (n_goals < 1 || n_goals > NPY_MAX_INT / 64 || !(problem.step > 0.0) || problem.max_iterations < 0
        || problem.shortcuts < 0)
        return reject("plan");
    /* the start and the goals are within the limits, up to the slack */
    Extent extent = extent_of(&self->robot, ends.lower, ends.upper, 1, 0);
    if (!set_scene(self, &scene, world, resolution, margin, extent)) return NULL;
    problem.scene = &scene;
    problem.seed = seed;
    problem.n_goals = n_goals;
    Code *code = hold_code(self->code);
    size_t bytes = round_up((size_t)((3 + n_goals) * nq) * sizeof(float)) + bench_bytes(&self->robot, code);
    char *memory = malloc(bytes + CACHE_LINE);
    int status = NO_MEMORY;
    if (memory) status = search(&problem, &ends, (char *)round_up((uintptr_t)memory));
    free(memory);
    release_code(code);
    if (status == INTERRUPTED) return NULL;
    if (status == NO_MEMORY) return PyErr_NoMemory();
    PyObject *path = problem.path ? path_array(&problem, &ends, n_goals, nq) : Py_NewRef(Py_None);
    free(problem.path);
    if (!path) return NULL;
    return Py_BuildValue("iiinnnN", status, problem.hit.link, problem.hit.other_link,
                         (Py_ssize_t)problem.hit.obstacle, (Py_ssize_t)problem.iterations,
                         (Py_ssize_t)problem.n_nodes, path);
}

static int motions_traverse(PyObject *object, visitproc visit, void *arg)
{
    Motions *self = (Motions *)object;
    Py_VISIT(Py_TYPE(object));
    if (self->code && self->code->users == 1) Py_VISIT(self->code->keep);
    return 0;
}

static int motions_clear(PyObject *object)
{
    Motions *self = (Motions *)object;
    Code *code = self->code;
    self->code = NULL;
    release_code(code);
    return 0;
}

static void motions_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    motions_clear(object);
    free(((Motions *)object)->robot.memory);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyType_Slot world_slots[] = {
    {Py_tp_doc, "World(kinds, rows, lower, upper): obstacles, and the corners of their bounds."},
    {Py_tp_init, world_init},
    {Py_tp_dealloc, world_dealloc},
    {0, NULL},
};

static PyType_Spec world_spec = {
    .name = "linkwork.collision._motions.World",
    .basicsize = sizeof(World),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = world_slots,
};

static PyMethodDef motions_methods[] = {
    {"_use", motions_use, METH_VARARGS,
     "_use(one, many, width, operations, keep): use the functions at these addresses in later calls."},
    {"free", motions_free, METH_VARARGS,
     "free(starts, ends, world, resolution, margin, out, threads, skips_static): whether straight motions are"
     " free."},
    {"test", motions_test, METH_VARARGS,
     "test(q, world, margin, out, threads): whether configurations collide."},
    {"plan", motions_plan, METH_VARARGS,
     "plan(start, goals, lower, upper, world, (resolution, margin, step), (max_iterations, shortcuts,"
     " seed)): (status, link, other link, obstacle, iterations, nodes, path or None)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot motions_slots[] = {
    {Py_tp_doc, "Motions(n_joints, reach, angles, lengths, links, pairs, radii): a robot of spheres."},
    {Py_tp_init, motions_init},
    {Py_tp_dealloc, motions_dealloc},
    {Py_tp_traverse, motions_traverse},
    {Py_tp_clear, motions_clear},
    {Py_tp_methods, motions_methods},
    {0, NULL},
};

static PyType_Spec motions_spec = {
    .name = "linkwork.collision._motions.Motions",
    .basicsize = sizeof(Motions),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = motions_slots,
};

static int execute(PyObject *module)
{
    import_array1(-1);
    api = import_c_api();
    if (!api) return -1;
    detect_wide_vectors();
    static const struct { const char *name; long value; } constants[] = {
        {"SPHERE", SPHERE}, {"CAPSULE", CAPSULE}, {"BOX", BOX}, {"ALIGNED_BOX", ALIGNED_BOX},
        {"HALF_SPACE", HALF_SPACE}, {"FOUND", FOUND}, {"START_COLLIDES", START_COLLIDES},
        {"GOAL_COLLIDES", GOAL_COLLIDES}, {"START_OUTSIDE", START_OUTSIDE},
        {"GOAL_OUTSIDE", GOAL_OUTSIDE}, {"NOT_FOUND", NOT_FOUND},
    };
    for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++)
        if (PyModule_AddIntConstant(module, constants[k].name, constants[k].value) < 0) return -1;
    PyObject *world = PyType_FromModuleAndSpec(module, &world_spec, NULL);
    if (!world || PyModule_AddObjectRef(module, "World", world) < 0) {
        Py_XDECREF(world);
        return -1;
    }
    Py_XSETREF(world_type, (PyTypeObject *)world);  /* keeps the reference */
    PyObject *motions = PyType_FromModuleAndSpec(module, &motions_spec, NULL);
    int status = motions ? PyModule_AddObjectRef(module, "Motions", motions) : -1;
    Py_XDECREF(motions);
    return status;
}

#define MODULE_NAME _motions
#define MODULE_DOC "Collisions of robots made of spheres: configurations, straight motions, planning."
#define MODULE_METHODS NULL
#include "module_template.h"
