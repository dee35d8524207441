/* Tiles of a rollout: reading, normalizing, stepping and writing their states at one time. */
#ifndef LINKWORK_ROLLOUT_TILE_H
#define LINKWORK_ROLLOUT_TILE_H

#include "chunks.h"

typedef struct {           /* an array (rows, steps, size) of the caller */
    char *data;            /* NULL if it is missing */
    npy_intp row, time;    /* bytes from one row to the next, and from one step to the next */
} Track;

typedef struct {           /* a rollout; its tiles are the chunks of `job` */
    Job job;               /* the first member: threads receive a pointer to it; `call` is the step */
    Job back;              /* `call` and `code` of the vjp; NULL for forward rollouts */
    npy_intp steps;
    int n_states;
    int is_large;          /* whether results use non-temporal stores */
    int is_final;          /* whether only the last states are results */
    Track *starts, *others, *results;                  /* of states, of other inputs, of states */
    Track *states, *cotangents, *finals, *gradients;   /* backwards; `gradients` of each vjp output */
    char *sums;            /* for each gradient: whether it is the sum over all steps */
    size_t *state_offset;      /* offset of each state in a frame */
    size_t *gradient_offset;   /* offset in a buffer of each vjp output after the states */
    size_t frame, gradient_bytes;  /* bytes of a frame, and of the gradients of one step */
    npy_intp staged;       /* number of frames that are written together */
    npy_intp segment, segments;  /* steps of a segment, and number of segments */
} Roll;

typedef struct {           /* a tile, and the memory of the thread that computes it */
    Roll *roll;
    npy_intp start, rows;
    char *workspace, *frames;
    void **in, **out;
    npy_int64 *strides;
    PyThreadState **state; /* of the calling thread; NULL in a helper */
    npy_intp unwatched;    /* rows times steps since the clock was last read */
} Tile;

/* The bytes of one row of a port. */
static inline npy_intp bytes_of(const Call *self, const Port *port)
{
    return port->size * (npy_intp)self->item;
}

/* The rows of a tile in an array, at one time. */
static inline char *rows_at(const Tile *tile, const Track *track, npy_intp time)
{
    return track->data + tile->start * track->row + time * track->time;
}

/* Create a tile, with the memory layout set by `plan_roll`. */
Tile make_tile(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state);

/* Return the status after a step: DONE to continue. The calling thread handles signals. */
int check_progress(Tile *tile);

/* Copy a frame from arrays, and to arrays. */
void read_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame);
void write_frame(const Tile *tile, const Track *tracks, npy_intp time, const char *frame);

/* Add rows to other rows; steps are in bytes. */
void add_strided(const Call *self, char *to, npy_intp to_step, const char *from, npy_intp from_step,
                 npy_intp size, npy_intp rows);

/* Add cotangents of the caller to those in a frame. */
void add_to_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame);

/* Divide the unit-norm parts of a frame by the norms of the same parts of `reference`. */
void divide_frame(const Tile *tile, const char *reference, char *divided);

/* Return the frame itself, or a copy with unit norms if they have drifted. */
char *normalized_frame(const Tile *tile, char *frame, char *copy);

/* Set the pointers to the inputs of a function: states in a frame, then the other inputs at this time. */
void point_inputs(const Tile *tile, npy_intp time, char *frame);

/* Compute one step of a tile, from a frame with unit norms to the next frame. */
void step_frame(const Tile *tile, npy_intp time, char *from, char *to);

/* Write frames of several steps to the results. */
void write_states(const Tile *tile, npy_intp time, npy_intp steps, const char *frames);

/* Write the products of several steps to the gradients that have a value for each step. */
void write_products(const Tile *tile, npy_intp time, npy_intp steps, const char *products);

#endif
