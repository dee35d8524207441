/* Tests of the lanes of one vector. Included once for each kind of processor, with
 *
 *   OF(name)   the name of a function or type of this kind
 *   WIDE       defined if there are 256-bit vectors and fused multiply-adds
 *
 * Comparisons are written so that a lane with NaN collides.
 */

#ifdef WIDE

#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
typedef __m256 OF(vector);
#define V OF(vector)
#define LOAD(p) _mm256_loadu_ps(p)
#define SPLAT(x) _mm256_set1_ps(x)
#define ADD(a, b) _mm256_add_ps(a, b)
#define SUB(a, b) _mm256_sub_ps(a, b)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MIN(a, b) _mm256_min_ps(a, b)
#define MAX(a, b) _mm256_max_ps(a, b)
#define NOT_ABOVE(a, b) ((unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NGE_UQ)))  /* !(a >= b) */

TARGET static inline float OF(smallest)(V a)
{
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}

TARGET static inline float OF(largest)(V a)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}

#else

#define LANES 4
#define TARGET
typedef struct { float x[LANES]; } OF(vector);
#define V OF(vector)
#define EACH(expression)                                                                    \
    V r;                                                                                    \
    for (int l = 0; l < LANES; l++) r.x[l] = (expression);                                  \
    return r;
static inline V OF(load)(const float *p) { EACH(p[l]) }
static inline V OF(splat)(float x) { EACH(x) }
static inline V OF(add)(V a, V b) { EACH(a.x[l] + b.x[l]) }
static inline V OF(sub)(V a, V b) { EACH(a.x[l] - b.x[l]) }
static inline V OF(mul)(V a, V b) { EACH(a.x[l] * b.x[l]) }
static inline V OF(fma)(V a, V b, V c) { EACH(a.x[l] * b.x[l] + c.x[l]) }
static inline V OF(min)(V a, V b) { EACH(a.x[l] < b.x[l] ? a.x[l] : b.x[l]) }
static inline V OF(max)(V a, V b) { EACH(a.x[l] > b.x[l] ? a.x[l] : b.x[l]) }
#undef EACH
#define LOAD(p) OF(load)(p)
#define SPLAT(x) OF(splat)(x)
#define ADD(a, b) OF(add)(a, b)
#define SUB(a, b) OF(sub)(a, b)
#define MUL(a, b) OF(mul)(a, b)
#define FMA(a, b, c) OF(fma)(a, b, c)
#define MIN(a, b) OF(min)(a, b)
#define MAX(a, b) OF(max)(a, b)
#define NOT_ABOVE(a, b) OF(not_above)(a, b)

static inline unsigned OF(not_above)(V a, V b)
{
    unsigned bits = 0;
    for (int l = 0; l < LANES; l++) bits |= (unsigned)!(a.x[l] >= b.x[l]) << l;
    return bits;
}

static inline float OF(smallest)(V a)
{
    float m = a.x[0];
    for (int l = 1; l < LANES; l++) m = a.x[l] < m ? a.x[l] : m;
    return m;
}

static inline float OF(largest)(V a)
{
    float m = a.x[0];
    for (int l = 1; l < LANES; l++) m = a.x[l] > m ? a.x[l] : m;
    return m;
}

#endif

#define ALL_LANES ((1u << LANES) - 1)
#define DOT(a, b, c, x, y, z) FMA(SPLAT(a), x, FMA(SPLAT(b), y, MUL(SPLAT(c), z)))
#define SQUARES(x, y, z) FMA(x, x, FMA(y, y, MUL(z, z)))

/* Lanes in which a sphere overlaps an obstacle. */
TARGET static inline unsigned OF(overlaps)(const Obstacle *obstacle, V x, V y, V z, float radius)
{
    const float *c = obstacle->c;
    const V zero = SPLAT(0.0f);
    if (obstacle->kind == HALF_SPACE)
        return NOT_ABOVE(DOT(c[0], c[1], c[2], x, y, z), SPLAT(c[3] + radius));
    if (obstacle->kind == ALIGNED_BOX) {
        x = MAX(MAX(SUB(SPLAT(c[0]), x), SUB(x, SPLAT(c[3]))), zero);
        y = MAX(MAX(SUB(SPLAT(c[1]), y), SUB(y, SPLAT(c[4]))), zero);
        z = MAX(MAX(SUB(SPLAT(c[2]), z), SUB(z, SPLAT(c[5]))), zero);
    } else if (obstacle->kind == BOX) {
        V u = SUB(DOT(c[0], c[1], c[2], x, y, z), SPLAT(c[9]));
        V v = SUB(DOT(c[3], c[4], c[5], x, y, z), SPLAT(c[10]));
        V w = SUB(DOT(c[6], c[7], c[8], x, y, z), SPLAT(c[11]));
        x = MAX(SUB(MAX(u, SUB(zero, u)), SPLAT(c[12])), zero);
        y = MAX(SUB(MAX(v, SUB(zero, v)), SPLAT(c[13])), zero);
        z = MAX(SUB(MAX(w, SUB(zero, w)), SPLAT(c[14])), zero);
    } else {
        x = SUB(x, SPLAT(c[0]));
        y = SUB(y, SPLAT(c[1]));
        z = SUB(z, SPLAT(c[2]));
        radius += obstacle->kind == CAPSULE ? c[7] : c[3];
        if (obstacle->kind == CAPSULE) {
            V t = MUL(DOT(c[3], c[4], c[5], x, y, z), SPLAT(c[6]));
            t = MIN(MAX(t, zero), SPLAT(1.0f));
            x = SUB(x, MUL(t, SPLAT(c[3])));
            y = SUB(y, MUL(t, SPLAT(c[4])));
            z = SUB(z, MUL(t, SPLAT(c[5])));
        }
    }
    return NOT_ABOVE(SQUARES(x, y, z), SPLAT(radius * fabsf(radius)));  /* never if it is negative */
}

/* Obstacles of a block of eight whose bounds overlap those of a sphere in all lanes. */
TARGET static inline unsigned OF(candidates)(const float *bounds, const float *lower,
                                             const float *upper)
{
    unsigned apart = 0;
    for (int start = 0; start < 8; start += LANES) {
        unsigned bits = 0;
        for (int axis = 0; axis < 3; axis++) {
            bits |= NOT_ABOVE(SPLAT(upper[axis]), LOAD(bounds + 8 * axis + start));
            bits |= NOT_ABOVE(LOAD(bounds + 24 + 8 * axis + start), SPLAT(lower[axis]));
        }
        apart |= bits << start;
    }
    return ~apart & 0xFF;
}

#define POINT(k) const float *p = points + 3 * (npy_intp)(k) * stride;
#define CENTER V x = LOAD(p), y = LOAD(p + stride), z = LOAD(p + 2 * stride);

/* Lanes in which a link overlaps an obstacle, if the sphere around it does. */
TARGET static inline unsigned OF(link_overlaps)(const Scene *scene, const LinkSpheres *link,
                                                const Obstacle *obstacle, const float *points,
                                                npy_intp stride)
{
    unsigned bits = 0;
    for (int k = link->first; k < link->first + link->count && bits != ALL_LANES; k++) {
        POINT(k) CENTER
        bits |= OF(overlaps)(obstacle, x, y, z, scene->robot->radii[k] + scene->to_obstacle);
        if (bits && scene->stops) break;
    }
    return bits;
}

/* Lanes in which a link is closer to obstacles than allowed. */
TARGET static inline unsigned OF(link_to_world)(const Scene *scene, int index, const float *points,
                                                npy_intp stride, Hit *hit)
{
    const World *world = scene->world;
    const LinkSpheres *link = &scene->robot->links[index];
    const float radius = scene->robot->radii[link->bound] + scene->to_obstacle;
    POINT(link->bound) CENTER
    const float lower[3] = {OF(smallest)(x) - radius, OF(smallest)(y) - radius,
                            OF(smallest)(z) - radius};
    const float upper[3] = {OF(largest)(x) + radius, OF(largest)(y) + radius,
                            OF(largest)(z) + radius};
    unsigned found = 0;
    for (npy_intp block = 0; block < world->n_blocks; block++) {
        unsigned near = OF(candidates)(world->bounds + 48 * block, lower, upper);
        for (; near; near &= near - 1) {
            npy_intp k = 8 * block + first_bit(near);
            const Obstacle *obstacle = &world->obstacles[k];
            unsigned bits = OF(overlaps)(obstacle, x, y, z, radius);
            if (bits && link->count > 1)
                bits = OF(link_overlaps)(scene, link, obstacle, points, stride);
            if (!bits) continue;
            if (!found && hit) *hit = (Hit){index, -1, k};
            found |= bits;
            if (scene->stops || found == ALL_LANES) return found;
        }
    }
    return found;
}

/* Lanes in which two spheres of the robot are closer than allowed. */
TARGET static inline unsigned OF(near)(const float *p, const float *q, npy_intp stride, float reach)
{
    V x = SUB(LOAD(p), LOAD(q)), y = SUB(LOAD(p + stride), LOAD(q + stride));
    V z = SUB(LOAD(p + 2 * stride), LOAD(q + 2 * stride));
    return NOT_ABOVE(SQUARES(x, y, z), SPLAT(reach * fabsf(reach)));
}

/* Lanes in which two links are closer than allowed. */
TARGET static inline unsigned OF(link_to_link)(const Scene *scene, const LinkPair *pair,
                                               const float *points, npy_intp stride)
{
    const float *radii = scene->robot->radii;
    const LinkSpheres *a = &scene->robot->links[pair->first], *b = &scene->robot->links[pair->second];
    const float *around = points + 3 * (npy_intp)b->bound * stride;
    const float to_bound = radii[b->bound] + scene->to_link;
    unsigned found = 0;
    if (!OF(near)(points + 3 * (npy_intp)a->bound * stride, around, stride, radii[a->bound] + to_bound))
        return 0;
    for (int i = a->first; i < a->first + a->count; i++) {
        POINT(i)
        if (b->count > 1 && !OF(near)(p, around, stride, radii[i] + to_bound)) continue;
        for (int j = b->first; j < b->first + b->count; j++) {
            const float *q = points + 3 * (npy_intp)j * stride;
            found |= OF(near)(p, q, stride, radii[i] + radii[j] + scene->to_link);
        }
        if (found && (scene->stops || found == ALL_LANES)) return found;
    }
    return found;
}

/* Lanes in collision, of the lanes of one vector; `stride` is the number of lanes of the points. */
TARGET static unsigned OF(test)(const Scene *scene, const float *points, npy_intp stride, Hit *hit)
{
    const Robot *robot = scene->robot;
    unsigned found = 0;
    for (int k = 0; scene->world && k < robot->n_links; k++) {
        if (robot->links[k].is_static && scene->skips_static) continue;
        found |= OF(link_to_world)(scene, k, points, stride, found ? NULL : hit);
        if (found && (scene->stops || found == ALL_LANES)) return found;
    }
    for (int k = 0; k < robot->n_pairs; k++) {
        unsigned bits = OF(link_to_link)(scene, &robot->pairs[k], points, stride);
        if (!bits) continue;
        if (!found && hit) *hit = (Hit){robot->pairs[k].first, robot->pairs[k].second, -1};
        found |= bits;
        if (scene->stops || found == ALL_LANES) return found;
    }
    return found;
}

/* The nearest node: the smallest squared distance in each lane and its block, then the best lane. */
TARGET static npy_intp OF(nearest)(const float *nodes, npy_intp n, int nq, const float *q,
                                   float *distance)
{
    float best = INFINITY;
    npy_intp index = 0;
    for (npy_intp start = 0; start < n; start += NODE_BLOCK, nodes += NODE_BLOCK * (npy_intp)nq) {
        for (int part = 0; part < NODE_BLOCK; part += LANES) {
            V sum = SPLAT(0.0f);
            for (int k = 0; k < nq; k++) {
                V d = SUB(LOAD(nodes + NODE_BLOCK * k + part), SPLAT(q[k]));
                sum = FMA(d, d, sum);
            }
            unsigned closer = NOT_ABOVE(sum, SPLAT(best));
            if (!closer) continue;
            float squares[LANES];
            memcpy(squares, &sum, sizeof squares);
            for (; closer; closer &= closer - 1) {
                unsigned lane = first_bit(closer);
                if (squares[lane] < best) {
                    best = squares[lane];
                    index = start + part + (npy_intp)lane;
                }
            }
        }
    }
    *distance = best;
    return index;
}

#undef LANES
#undef TARGET
#undef V
#undef LOAD
#undef SPLAT
#undef ADD
#undef SUB
#undef MUL
#undef FMA
#undef MIN
#undef MAX
#undef NOT_ABOVE
#undef ALL_LANES
#undef DOT
#undef SQUARES
#undef POINT
#undef CENTER
#undef OF
#undef WIDE
