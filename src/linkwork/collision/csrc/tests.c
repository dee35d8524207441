/* Tests of configurations and motions, a vector of configurations at a time.
 *
 * The configurations of a motion are distributed over the lanes, so that each vector covers all of it, and
 * the vectors are visited in an order that does too: a collision is found early. The tests of the lanes are
 * compiled for two kinds of processors.
 */
#include "motions.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_WIDE_VECTORS 1
#else
#define HAS_WIDE_VECTORS 0
#endif

#define ROUNDINGS 16.0     /* operations of a position that may round, */
#define ROUNDINGS_OF_JOINT 4.0  /* and for each joint on the way to it */

#define MOST_INTERVALS 1e9 /* motions with more are not tested, and not free */

static inline unsigned first_bit(unsigned bits)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctz(bits);
#else
    unsigned k = 0;
    while (!(bits >> k & 1)) k++;
    return k;
#endif
}

#define OF(name) plain_##name
#include "lanes_template.h"
#if HAS_WIDE_VECTORS
#define OF(name) wide_##name
#define WIDE
#include "lanes_template.h"
#endif

static int has_wide_vectors;

void detect_wide_vectors(void)
{
#if HAS_WIDE_VECTORS
    __builtin_cpu_init();
    has_wide_vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
}

static int has_columns(const Code *code)
{
    return code->many && code->width % 4 == 0 && code->width <= MOST_LANES;
}

int lanes_of(const Code *code) { return has_columns(code) ? (int)code->width : EMULATED_LANES; }

size_t bench_bytes(const Robot *robot, const Code *code)
{
    size_t nq = (size_t)robot->nq, n = 3 * (size_t)robot->n_points, lanes = (size_t)lanes_of(code);
    return round_up(nq * lanes * sizeof(float)) + round_up(n * lanes * sizeof(float))
        + round_up(nq * sizeof(float)) + round_up(n * sizeof(float)) + round_up(code->bytes);
}

Bench bench_in(const Robot *robot, const Code *code, char *block)
{
    size_t nq = (size_t)robot->nq, n = 3 * (size_t)robot->n_points;
    Bench bench = {.lanes = lanes_of(code)};
    size_t lanes = (size_t)bench.lanes;
    bench.workspace = block;
    block += round_up(code->bytes);
    bench.q = (float *)block;
    block += round_up(nq * lanes * sizeof(float));
    bench.points = (float *)block;
    block += round_up(n * lanes * sizeof(float));
    bench.row_q = (float *)block;
    bench.row_points = (float *)(block + round_up(nq * sizeof(float)));
    return bench;
}

/* The angles of all joints on the way to a sphere are rounded, each of which moves it by an angle times the
   reach; then each of some operations may round the position. */
double rounding_bound(const Robot *robot, double angles, double lengths)
{
    double roundings = ROUNDINGS + ROUNDINGS_OF_JOINT * robot->n_joints;
    return (double)FLT_EPSILON * ((roundings + angles) * (robot->reach + lengths) + lengths);
}

/* Compute the centers of all spheres in all lanes. */
static void place_spheres(const Scene *scene, const Bench *bench)
{
    const Robot *robot = scene->robot;
    const npy_int64 strides[2] = {robot->nq, 0};
    if (has_columns(scene->code)) {
        void *in[1] = {bench->q}, *out[1] = {bench->points};
        scene->code->many(in, out, strides, bench->lanes, bench->workspace);
        return;
    }
    void *in[1] = {bench->row_q}, *out[1] = {bench->row_points};
    for (int lane = 0; lane < bench->lanes; lane++) {
        for (int k = 0; k < robot->nq; k++) bench->row_q[k] = bench->q[k * bench->lanes + lane];
        scene->code->one(in, out, strides, 1, bench->workspace);
        for (int k = 0; k < 3 * robot->n_points; k++)
            bench->points[k * bench->lanes + lane] = bench->row_points[k];
    }
}

npy_uint64 test_lanes(const Scene *scene, const Bench *bench, Hit *hit)
{
    npy_uint64 found = 0;
    const int is_wide = has_wide_vectors && bench->lanes % 8 == 0, width = is_wide ? 8 : 4;
    place_spheres(scene, bench);
    for (int lane = 0; lane < bench->lanes; lane += width) {
        const float *points = bench->points + lane;
        unsigned bits;
#if HAS_WIDE_VECTORS
        if (is_wide) bits = wide_test(scene, points, bench->lanes, found ? NULL : hit);
        else
#endif
            bits = plain_test(scene, points, bench->lanes, found ? NULL : hit);
        found |= (npy_uint64)bits << lane;
        if (found && scene->stops) break;
    }
    return found;
}

int collides(const Scene *scene, const Bench *bench, const float *q, Hit *hit)
{
    for (int k = 0; k < scene->robot->nq; k++)
        for (int lane = 0; lane < bench->lanes; lane++) bench->q[k * bench->lanes + lane] = q[k];
    return test_lanes(scene, bench, hit) != 0;
}

static npy_intp common_divisor(npy_intp a, npy_intp b)
{
    while (b) {
        npy_intp rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int motion_is_free(const Scene *scene, const Bench *bench, const float *start, const float *end,
                   int tests_start)
{
    const int nq = scene->robot->nq, lanes = bench->lanes;
    double square = 0.0;
    for (int k = 0; k < nq; k++) {
        double d = (double)end[k] - (double)start[k];
        square += d * d;
    }
    double intervals = ceil(sqrt(square) / scene->resolution) + tests_start;
    if (!(intervals < MOST_INTERVALS)) return 0;
    npy_intp n = (npy_intp)ceil((intervals > 1.0 ? intervals : 1.0) / lanes);
    npy_intp stride = (npy_intp)(0.618 * (double)n) + 1;  /* the vectors are visited far apart */
    while (common_divisor(stride, n) != 1) stride++;
    const float per_interval = 1.0f / (float)(n * lanes - tests_start);
    npy_intp vector = 0;
    for (npy_intp i = 0; i < n; i++, vector = (vector + stride) % n) {
        float fractions[MOST_LANES];
        for (int lane = 0; lane < lanes; lane++)
            fractions[lane] = per_interval * (float)(lane * n + vector + !tests_start);
        fractions[lanes - 1] = fractions[lanes - 1] > 1.0f ? 1.0f : fractions[lanes - 1];
        for (int k = 0; k < nq; k++) {
            const float a = start[k], d = end[k] - a;
            float *to = bench->q + (npy_intp)k * lanes;
            for (int lane = 0; lane < lanes; lane++) to[lane] = a + d * fractions[lane];
        }
        if (test_lanes(scene, bench, NULL)) return 0;
    }
    return 1;
}

npy_intp nearest_node(const float *nodes, npy_intp n, int nq, const float *q, float *distance)
{
#if HAS_WIDE_VECTORS
    if (has_wide_vectors) return wide_nearest(nodes, n, nq, q, distance);
#endif
    return plain_nearest(nodes, n, nq, q, distance);
}
