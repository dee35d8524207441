/* Rows of a `Poses`: the order of the steps of a row, poses, and Jacobians.
 * The code for poses is compiled for two kinds of processors.
 */
#include "poses.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_WIDE_POSES 1
#else
#define HAS_WIDE_POSES 0
#endif

#define LARGE_ANGLE 1e5    /* [rad]; sines and cosines of larger angles are from the C library */

typedef struct {              /* a step, with the offsets of its parent and its result */
    npy_int32 op, parent, slot, constant, argument, terms, out, unused;
} PlannedStep;

typedef struct {              /* the working memory of a thread */
    const double *values;
    const npy_int32 *parents;
    double *world, *cos_sin, *out;
    PlannedStep *plan;        /* the steps of all parts, in an order that the attachments allow */
    npy_int32 *n_planned;     /* their number; 0 before the first row */
    npy_int32 *planned_for;   /* parents of the plan: a copy that cannot change after the check */
    npy_int32 *order;         /* the parts in the order of the plan, WORLD first */
    npy_int32 *position;      /* index of each part in that order */
    npy_int32 *root_at;       /* index of the step that attaches each part; -1 if it is not needed */
    char *angle_is_needed;    /* by group of four angles */
} Rows;

size_t rows_bytes(const Poses *self)
{
    size_t n_parts = (size_t)self->n_parts, n_angles = (size_t)self->n_angles;
    return round_up((12 * (size_t)self->n_slots + 2 * n_angles) * sizeof(double)
                    + (size_t)self->n_steps * sizeof(PlannedStep)
                    + (1 + 4 * n_parts) * sizeof(npy_int32) + n_angles / 4);
}

/* Partition the memory of a thread. */
static Rows rows_in(const Poses *self, char *block)
{
    Rows row = {0};
    row.world = (double *)block;
    row.cos_sin = row.world + 12 * (npy_intp)self->n_slots;
    row.plan = (PlannedStep *)(row.cos_sin + 2 * (npy_intp)self->n_angles);
    row.n_planned = (npy_int32 *)(row.plan + self->n_steps);
    row.planned_for = row.n_planned + 1;
    row.order = row.planned_for + self->n_parts;
    row.position = row.order + self->n_parts;
    row.root_at = row.position + self->n_parts;
    row.angle_is_needed = (char *)(row.root_at + self->n_parts);
    *row.n_planned = 0;
    for (int k = 0; k < self->n_parts; k++) row.order[k] = k;
    return row;
}

/* Sort the parts, each after the one that it is attached to; 0 if there is an attachment cycle. */
static int order_parts(const Poses *self, Rows *row)
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
        if (j == self->n_parts) return 0;  /* attachment cycle */
        npy_int32 part = row->order[j];
        row->order[j] = row->order[i];
        row->order[i] = part;
        row->position[part] = i;
    }
    return 1;
}

/* Plan the steps that a row needs; 0 if there is an attachment cycle. */
static int make_plan(const PoseJob *job, Rows *row)
{
    const Poses *self = job->poses;
    PlannedStep *to = row->plan;
    memcpy(row->planned_for, row->parents, (size_t)self->n_attachable * sizeof(npy_int32));
    if (!order_parts(self, row)) return 0;
    memset(row->angle_is_needed, 0, (size_t)self->n_angles / 4);
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
            if (step->op == ROTATION_POSE) row->angle_is_needed[step->argument / 8] = 1;
            to++;
        }
    }
    *row->n_planned = (npy_int32)(to - row->plan);
    return 1;
}

/* Update the plan for a row; in most cases, only parents change, not the order. */
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

/* Mark the slots that some frames depend on, for equal attachments; 0 if parents are out of range. */
int mark_needed(const PoseJob *job, char *is_needed)
{
    const Poses *self = job->poses;
    const npy_int32 *parents = (const npy_int32 *)job->parents;
    npy_intp n = job->n_out, m = job->n_columns;
    memset(is_needed, 0, (size_t)self->n_slots);
    for (npy_intp k = 0; k <= n + 2 * m; k++) {
        npy_int32 slot = k < n ? job->frames[k] : k == n ? (npy_int32)job->reference
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

static void rotate(const double *m, const double *v, double *to)
{
    for (int i = 0; i < 3; i++) to[i] = m[4 * i] * v[0] + m[4 * i + 1] * v[1] + m[4 * i + 2] * v[2];
}

static void rotate_back(const double *m, const double *v, double *to)
{
    for (int i = 0; i < 3; i++) to[i] = m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2];
}

/* (6, nv) Jacobian of each requested frame, at its origin and in the axes of the reference frame. */
static void write_jacobians(const PoseJob *job, const Rows *row)
{
    const double *base = row->world + 12 * job->reference;
    memset(row->out, 0, (size_t)job->row_size * sizeof(double));
    for (npy_intp k = 0; k < job->n_columns; k++) {
        const PoseColumn *column = &job->columns[k];
        const double *axes = row->world + 12 * (npy_intp)column->axes;
        const double *origin = row->world + 12 * (npy_intp)column->origin;
        const double *target = row->world + 12 * (npy_intp)job->frames[column->target];
        double v[3], w[3], arm[3], along[3], about[3];
        rotate(axes, job->twists + 6 * k, v);
        rotate(axes, job->twists + 6 * k + 3, w);
        for (int i = 0; i < 3; i++) arm[i] = target[4 * i + 3] - origin[4 * i + 3];
        v[0] += w[1] * arm[2] - w[2] * arm[1];
        v[1] += w[2] * arm[0] - w[0] * arm[2];
        v[2] += w[0] * arm[1] - w[1] * arm[0];
        rotate_back(base, v, along);
        rotate_back(base, w, about);
        double *to = row->out + (npy_intp)column->target * 6 * job->nv + column->column;
        for (int i = 0; i < 3; i++) {
            to[i * job->nv] += along[i];
            to[(3 + i) * job->nv] += about[i];
        }
    }
}

#define POSE(name) plain_pose_##name
#include "pose_rows_template.h"
#if HAS_WIDE_POSES
#define POSE(name) wide_pose_##name
#define WIDE
#include "pose_rows_template.h"
#endif

int has_wide_registers;

void detect_processor(void)
{
#if HAS_WIDE_POSES
    __builtin_cpu_init();
    has_wide_registers = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

int pose_chunk(void *context, npy_intp start, npy_intp rows, char *block)
{
#if HAS_WIDE_POSES
    if (has_wide_registers) return wide_pose_chunk(context, start, rows, block);
#endif
    return plain_pose_chunk(context, start, rows, block);
}
