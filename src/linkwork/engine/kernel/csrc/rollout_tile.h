/* Tiles of a rollout: their states at one time, read, normalized, stepped on, and written. */
#ifndef LINKWORK_ROLLOUT_TILE_H
#define LINKWORK_ROLLOUT_TILE_H

#include "chunks.h"

typedef struct {           /* where an array of rows, steps, numbers lies */
    char *data;            /* NULL if it is not given */
    npy_intp row, time;    /* bytes from one row to the next, and from one step to the next */
} Track;

typedef struct {           /* a rollout; its tiles are the chunks of `job` */
    Job job;               /* the first member: what the threads know; `call` is the step */
    Job back;              /* `call` and `code` of the vjp; NULL for rollouts forwards */
    npy_intp steps;
    int n_states;
    int is_large;          /* whether results use non-temporal stores */
    int is_final;          /* whether only the last states are results */
    Track *starts, *others, *results;                  /* of states, other inputs, states */
    Track *states, *cotangents, *finals, *gradients;   /* backwards; the last are of each output */
    char *sums;            /* for each gradient: whether it is the sum over all steps */
    size_t *state_at;      /* where each state is in a frame */
    size_t *gradient_at;   /* where each output of the vjp after the states is in a buffer */
    size_t frame, gradient_bytes;
    npy_intp staged;       /* frames that are written together */
    npy_intp segment, segments;  /* steps of a segment, and their number */
} Roll;

typedef struct {           /* a tile, as the thread that works on it sees it */
    Roll *roll;
    npy_intp start, rows;
    char *workspace, *frames;
    void **in, **out;
    npy_int64 *strides;
    PyThreadState **state; /* of the calling thread; NULL in a helper */
    npy_intp unwatched;    /* rows times steps since the last look at the clock */
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

/* A tile, with the layout of memory that `plan_roll` has chosen. */
Tile make_tile(Job *job, npy_intp start, npy_intp rows, char *block, PyThreadState **state);

/* After a step: the status with which to go on or to end. The calling thread handles signals. */
int check_progress(Tile *tile);

/* Copy a frame from arrays, and to arrays. */
void read_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame);
void write_frame(const Tile *tile, const Track *tracks, npy_intp time, const char *frame);

/* Add rows of numbers to others; steps are in bytes. */
void add_strided(const Call *self, char *to, npy_intp to_step, const char *from, npy_intp from_step,
                 npy_intp size, npy_intp rows);

/* Add cotangents that the caller gives to those in a frame. */
void add_to_frame(const Tile *tile, const Track *tracks, npy_intp time, char *frame);

/* Divide the unit-norm parts of a frame by their norms in another, or in the same one. */
void divide_frame(const Tile *tile, const char *given, char *divided);

/* The frame itself, or a copy with unit norms if they have drifted. */
char *normalized_frame(const Tile *tile, char *frame, char *copy);

/* Where a function finds its inputs: states in a frame, then the other inputs at this time. */
void point_inputs(const Tile *tile, npy_intp time, char *frame);

/* One step of a tile, from a frame with unit norms to the next one. */
void step_frame(const Tile *tile, npy_intp time, char *from, char *to);

/* Write frames of several steps to the results. */
void write_states(const Tile *tile, npy_intp time, npy_intp steps, const char *frames);

/* Write the products of several steps to the gradients that have a value for each step. */
void write_products(const Tile *tile, npy_intp time, npy_intp steps, const char *products);

#endif
