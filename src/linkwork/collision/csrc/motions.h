/* Robots made of spheres, obstacles, and the tests of configurations and straight motions.
 *
 * Compiled code computes the centers of all spheres for several configurations at once, one per lane
 * (`Lanes.columns` of codegen/lanes.py). They are tested here in single precision. The radii are enlarged
 * by a bound of the rounding errors, so that a configuration that is reported as free is free.
 */
#ifndef LINKWORK_MOTIONS_H
#define LINKWORK_MOTIONS_H

#include "c_api.h"

#include <float.h>

#define MOST_PAD 1e-3      /* [m] coordinates that need a larger allowance for rounding are rejected */
#define EMULATED_LANES 4   /* configurations at a time, with code of one row */
#define MOST_LANES 64

enum { SPHERE, CAPSULE, BOX, ALIGNED_BOX, HALF_SPACE, N_KINDS };

/* An obstacle. `c` is, by kind: center, radius; an end, the vector to the other one, 1 / length^2, radius;
   axes (3 x 3), center in these axes, half edges; lower and upper corner; unit normal, offset. */
typedef struct { npy_int32 kind; float c[15]; } Obstacle;

typedef struct {
    PyObject_HEAD
    npy_intp n, n_blocks;
    Obstacle *obstacles;
    float *bounds;         /* lower x, y, z and upper x, y, z of eight obstacles after each other */
} World;

typedef struct {           /* the spheres of a link: a sphere around all of them, and a range */
    npy_int32 bound, first, count, is_static;
} LinkSpheres;

typedef struct { npy_int32 first, second; } LinkPair;

typedef struct {
    int nq, n_points, n_links, n_pairs, n_joints;
    double reach;          /* distance of a point of the robot from the origin, without translations */
    double *angles, *lengths;  /* (nq,) angles and lengths that a unit of a coordinate adds on a path */
    LinkSpheres *links;
    LinkPair *pairs;       /* links that are tested against each other */
    float *radii;          /* by point: centers of spheres, and of spheres around links */
    void *memory;
} Robot;

typedef struct { int link, other_link; npy_intp obstacle; } Hit;  /* what collides; -1 for none */

typedef struct {           /* what configurations are tested for */
    const Robot *robot;
    const World *world;    /* NULL without obstacles */
    const Code *code;
    double resolution;     /* largest distance of two configurations that are tested on a motion */
    float to_obstacle, to_link;  /* added to the radius of a sphere, and to the sum of two radii */
    int skips_static;      /* whether links that do not move are known to be free of obstacles */
    int stops;             /* whether one configuration in collision decides */
} Scene;

typedef struct {           /* the memory of a thread */
    int lanes;
    float *q, *points;     /* (nq, lanes) and (3 n_points, lanes) */
    float *row_q, *row_points;  /* of one row, with code of one row */
    void *workspace;
} Bench;

/* Configurations that are tested at a time. */
int lanes_of(const Code *code);

/* The memory that a thread needs [bytes], and its division. */
size_t bench_bytes(const Robot *robot, const Code *code);
Bench bench_in(const Robot *robot, const Code *code, char *block);

/* A bound of the rounding errors of the positions of spheres [m], for angles and lengths that are the sums
   over all coordinates. */
double rounding_bound(const Robot *robot, double angles, double lengths);

/* Test the configurations in `bench->q`; returns bits of the lanes in collision. `hit` may be NULL. */
npy_uint64 test_lanes(const Scene *scene, const Bench *bench, Hit *hit);

/* Write one configuration to all lanes and test it; returns whether it collides. */
int collides(const Scene *scene, const Bench *bench, const float *q, Hit *hit);

/* Whether all tested configurations of a straight motion are free. The start is tested on request. */
int motion_is_free(const Scene *scene, const Bench *bench, const float *start, const float *end,
                   int tests_start);

/* Nodes of a tree in blocks: (n, nq, NODE_BLOCK); lanes without a node are infinite. */
#define NODE_BLOCK 8

/* Index of the node nearest to a configuration; the squared distance is written. There is a node. */
npy_intp nearest_node(const float *nodes, npy_intp n, int nq, const float *q, float *distance);

/* Use wide vectors where the processor has them; when the module is imported. */
void detect_wide_vectors(void);

typedef struct {           /* a problem of the planner, and its result */
    const Scene *scene;
    const float *start, *goals, *lower, *upper;  /* (nq,), (n_goals, nq), (nq,), (nq,) */
    npy_intp n_goals, max_iterations, shortcuts;
    int skips_static;      /* whether links that do not move are known to be free of obstacles */
    double step;           /* length of the edges of the trees */
    npy_uint64 seed;
    int (*handle_signals)(void *context);  /* called now and then; not 0 stops the search */
    void *context;
    npy_intp iterations, n_nodes, n_path;
    float *path;           /* (n_path, nq), to be freed by the caller; NULL if there is none */
    Hit hit;
} Problem;

enum { FOUND = 200, START_COLLIDES, GOAL_COLLIDES, START_OUTSIDE, GOAL_OUTSIDE, NOT_FOUND };  /* no status codes of common.h */

/* Search a path with RRT-Connect, and shorten it; returns the status. */
int find_path(Problem *problem, const Bench *bench);

#endif
