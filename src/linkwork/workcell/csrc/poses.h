/* The type `Poses`: its steps, the description of a call, and the functions that compute rows. */
#ifndef LINKWORK_POSES_H
#define LINKWORK_POSES_H

#include "c_api.h"

#define ROOTED (-1)        /* parent of a step whose pose is relative to the world */
#define ATTACHED (-2)      /* and below: parent of the root of an attachable part, by its column */
#define BAD_PARENTS 100    /* status: attachments that do not form a tree */

enum { LINEAR_POSE, ROTATION_POSE, FREE_POSE, QUATERNION_POSE };

typedef struct {              /* the pose of one frame in its parent; poses.c explains `op` */
    npy_int32 op, parent, slot, constant, argument, terms;
} PoseStep;

typedef struct {
    PyObject_HEAD
    int n_frames, n_slots, n_values, n_attachable, n_angles, n_steps, n_parts;
    PoseStep *steps;
    npy_int32 *part_starts;   /* first step of each part, and the end */
    npy_int32 *part_of;       /* part of each frame */
    npy_int32 *step_of;       /* step of each slot */
    npy_int32 *angle_at;      /* index of the state value of each angle; padded to a multiple of 4 */
    double *factors, *offsets, *constants;
    void *memory;             /* of all of them */
    size_t block_bytes;       /* memory that a thread needs */
} Poses;

typedef struct {              /* one joint coordinate in the Jacobian of one frame */
    npy_int32 target;         /* index of the frame in `frames` */
    npy_int32 axes, origin;   /* frames: of the axes of v and w, and of the point that v refers to */
    npy_int32 column;         /* of the Jacobian; coordinates that share a column are added */
} PoseColumn;

typedef struct {              /* one call: its inputs and outputs */
    const Poses *poses;
    const char *values, *parents;
    npy_intp value_step, parent_step;  /* bytes from row to row; 0 if all rows are the same */
    double *out;
    npy_intp n_out;           /* frames that are written */
    npy_intp row_size;        /* doubles that are written for each row */
    const PoseColumn *columns;  /* of Jacobians; NULL to compute poses */
    const double *twists;     /* v and w of each column */
    npy_intp n_columns, nv;
    const npy_int32 *out_at;  /* output index of the world pose of each frame; -1 for none */
    const npy_int32 *frames;  /* frames whose poses are requested */
    npy_intp reference;       /* frame that the poses are relative to; -1 for the world */
    const char *is_needed;    /* by slot; NULL if all are needed */
    int streamed;             /* alignment of non-temporal stores, 32 or 16; 0 without them */
    int is_late;              /* whether poses are written after the entire row is computed */
} PoseJob;

/* The memory that a thread needs [bytes]. */
size_t rows_bytes(const Poses *self);

/* Mark the slots that some frames depend on, for equal attachments; 0 if parents are out of range. */
int mark_needed(const PoseJob *job, char *is_needed);

/* Whether the processor has 256-bit vectors; set when the module is imported. */
extern int has_wide_registers;

/* Set `has_wide_registers`. */
void detect_processor(void);

/* Compute some rows; returns the status. `context` is a PoseJob. */
int pose_chunk(void *context, npy_intp start, npy_intp rows, char *block);

#endif
