/* The type `Poses`: its steps, what a call computes, and the functions that compute rows. */
#ifndef LINKWORK_POSES_H
#define LINKWORK_POSES_H

#include "c_api.h"

#define ROOTED (-1)        /* parent of a step whose pose is in the world already */
#define ATTACHED (-2)      /* and below: of the root of an attachable part, by its column */
#define BAD_PARENTS 100    /* status: attachments that do not form a tree */

enum { LINEAR_POSE, ROTATION_POSE, FREE_POSE, QUATERNION_POSE };

typedef struct {              /* the pose of one frame on its parent; poses.c explains `op` */
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

typedef struct {              /* one call: what it reads, and what it writes */
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

/* The bytes of memory that a thread needs. */
size_t rows_bytes(const Poses *self);

/* Mark what some frames need in states of one tree; 0 if parents are out of range. */
int mark_needed(const PoseJob *job, char *is_needed);

/* Whether the processor has vectors of four numbers; known when the module is imported. */
extern int has_wide_registers;

/* Set `has_wide_registers`. */
void detect_processor(void);

/* Compute some rows; returns the status. `context` is a PoseJob. */
int pose_chunk(void *context, npy_intp start, npy_intp rows, char *block);

#endif
