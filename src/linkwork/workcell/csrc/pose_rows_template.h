/* The steps of a `Poses` for some rows. Included once for each kind of processor, with
 *
 *   POSE(name)   the name of a function of this kind
 *   WIDE         defined if there are 256-bit vectors and fused multiply-adds
 *
 * A pose is stored as three rows of four doubles. So each row of  a_H_c = a_H_b b_H_c  is the sum of
 * three products of a scalar with a row of b_H_c, and a position. All lanes are used, and the rows of a
 * batch may have different attachments.
 */

#ifdef WIDE

typedef __m256d POSE(row);
#define ROW POSE(row)
#define ROW_AT(p) _mm256_loadu_pd(p)
#define SPLAT(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define ROW_OF(a, b, c, d) _mm256_setr_pd(a, b, c, d)
#define ONLY_LAST(r) _mm256_blend_pd(_mm256_setzero_pd(), r, 8)
#define STORE(p, r) _mm256_storeu_pd(p, r)
#define STREAM(p, r) _mm256_stream_pd(p, r)
#define TARGET __attribute__((target("avx2,fma")))

#else

typedef struct { double x[4]; } POSE(row);
#define ROW POSE(row)
#define TARGET
static inline ROW POSE(load)(const double *p) { ROW r; memcpy(&r, p, sizeof r); return r; }
static inline ROW POSE(splat)(double x) { ROW r = {{x, x, x, x}}; return r; }
static inline ROW POSE(last)(ROW a) { ROW r = {{0, 0, 0, a.x[3]}}; return r; }
static inline ROW POSE(row_of)(double a, double b, double c, double d)
{
    ROW r = {{a, b, c, d}};
    return r;
}
static inline ROW POSE(fma)(ROW a, ROW b, ROW c)
{
    for (int k = 0; k < 4; k++) c.x[k] += a.x[k] * b.x[k];
    return c;
}
#define ROW_AT(p) POSE(load)(p)
#define SPLAT(x) POSE(splat)(x)
#define FMA(a, b, c) POSE(fma)(a, b, c)
#define ROW_OF(a, b, c, d) POSE(row_of)(a, b, c, d)
#define ONLY_LAST(r) POSE(last)(r)
#define STORE(p, r) memcpy(p, (r).x, 4 * sizeof(double))
#define STREAM(p, r) STORE(p, r)

#endif

#ifdef WIDE

/* Sine and cosine of four angles, as in codegen/llvm/sincos.py: reduction by a multiple of pi/2 in three
   parts, then one polynomial each. */
TARGET static inline void POSE(sincos4)(__m256d x, double *to)
{
    const __m256d magic = SPLAT(6755399441055744.0), one = SPLAT(1.0);
    __m256d shifted = FMA(x, SPLAT(0.6366197723675814), magic);
    __m256d n = _mm256_sub_pd(shifted, magic);
    __m256d r = _mm256_fnmadd_pd(n, SPLAT(1.5707963267948966), x);
    r = _mm256_fnmadd_pd(n, SPLAT(6.123233995736766e-17), r);
    r = _mm256_fnmadd_pd(n, SPLAT(-1.4973849048591698e-33), r);
    __m256d t = _mm256_mul_pd(r, r), s, c;
    s = FMA(SPLAT(1.589543329303455e-10), t, SPLAT(-2.5050734389281736e-08));
    c = FMA(SPLAT(-1.1358310483383956e-11), t, SPLAT(2.087569657250541e-09));
    s = FMA(s, t, SPLAT(2.7557313538514264e-06));
    c = FMA(c, t, SPLAT(-2.755731414862346e-07));
    s = FMA(s, t, SPLAT(-0.00019841269829358528));
    c = FMA(c, t, SPLAT(2.480158728874819e-05));
    s = FMA(s, t, SPLAT(0.00833333333332184));
    c = FMA(c, t, SPLAT(-0.0013888888888872895));
    s = FMA(s, t, SPLAT(-0.1666666666666663));
    c = FMA(c, t, SPLAT(0.04166666666666659));
    s = FMA(s, _mm256_mul_pd(r, t), r);
    c = FMA(c, _mm256_mul_pd(t, t), FMA(t, SPLAT(-0.5), one));
    /* n modulo 4 selects between them and their signs */
    __m256i bits = _mm256_castpd_si256(shifted);
    __m256d is_odd = _mm256_castsi256_pd(_mm256_slli_epi64(bits, 63));
    __m256d sine = _mm256_blendv_pd(s, c, is_odd), cosine = _mm256_blendv_pd(c, s, is_odd);
    const __m256i two = _mm256_set1_epi64x(2), unit = _mm256_set1_epi64x(1);
    __m256i sign = _mm256_slli_epi64(_mm256_and_si256(bits, two), 62);
    sine = _mm256_xor_pd(sine, _mm256_castsi256_pd(sign));
    sign = _mm256_slli_epi64(_mm256_and_si256(_mm256_add_epi64(bits, unit), two), 62);
    cosine = _mm256_xor_pd(cosine, _mm256_castsi256_pd(sign));
    STORE(to, cosine);
    STORE(to + 4, sine);
}

#endif

/* Cosines and sines of the angles of a row, in blocks of four cosines and their four sines. */
TARGET static inline void POSE(cos_sin)(const Poses *self, const Rows *row)
{
    for (int k = 0; k < self->n_angles; k += 4) {
        const npy_int32 *at = self->angle_at + k;
        const double *values = row->values;
        double *to = row->cos_sin + 2 * k;
        if (!row->angle_is_needed[k / 4]) continue;
#ifdef WIDE
        ROW x = ROW_OF(values[at[0]], values[at[1]], values[at[2]], values[at[3]]);
        x = FMA(x, ROW_AT(self->factors + k), ROW_AT(self->offsets + k));
        ROW size = _mm256_andnot_pd(SPLAT(-0.0), x);
        if (_mm256_movemask_pd(_mm256_cmp_pd(size, SPLAT(LARGE_ANGLE), _CMP_LT_OQ)) == 15) {
            POSE(sincos4)(x, to);
            continue;
        }
#endif
        for (int i = 0; i < 4; i++) {
            double angle = values[at[i]] * self->factors[k + i] + self->offsets[k + i];
            to[i] = cos(angle);
            to[4 + i] = sin(angle);
        }
    }
}

/* Multiply a pose, given by its three rows, by another one from the left. */
TARGET static inline void POSE(compose)(const double *m, ROW *a, ROW *b, ROW *d)
{
    ROW p = ONLY_LAST(ROW_AT(m)), q = ONLY_LAST(ROW_AT(m + 4)), r = ONLY_LAST(ROW_AT(m + 8));
    p = FMA(SPLAT(m[0]), *a, FMA(SPLAT(m[1]), *b, FMA(SPLAT(m[2]), *d, p)));
    q = FMA(SPLAT(m[4]), *a, FMA(SPLAT(m[5]), *b, FMA(SPLAT(m[6]), *d, q)));
    r = FMA(SPLAT(m[8]), *a, FMA(SPLAT(m[9]), *b, FMA(SPLAT(m[10]), *d, r)));
    *a = p;
    *b = q;
    *d = r;
}

/* Write a pose as (4, 4). */
TARGET static inline void POSE(write)(const PoseJob *job, double *out, ROW a, ROW b, ROW d)
{
    const ROW bottom = ROW_OF(0.0, 0.0, 0.0, 1.0);
    if (job->streamed == 32) {
        STREAM(out, a);
        STREAM(out + 4, b);
        STREAM(out + 8, d);
        STREAM(out + 12, bottom);
    } else {
        STORE(out, a);
        STORE(out + 4, b);
        STORE(out + 8, d);
        STORE(out + 12, bottom);
    }
}

/* All steps of one row, in the order of its plan. */
TARGET static inline void POSE(steps)(const PoseJob *job, const Rows *row)
{
    const Poses *self = job->poses;
    const PlannedStep *stop = row->plan + *row->n_planned;
    for (const PlannedStep *step = row->plan; step < stop; step++) {
        const double *c = self->constants + step->constant;
        ROW a, b, d;
        if (step->op == FREE_POSE || step->op == QUATERNION_POSE) {
            const double *v = row->values + step->argument;
            double px = 0, py = 0, pz = 0;
            if (step->op == FREE_POSE) {
                px = v[0], py = v[1], pz = v[2];
                v += 3;
            }
            double w = step->terms ? -v[0] : v[0];  /* -w instead of w: the inverse */
            double x = v[1], y = v[2], z = v[3], x2 = x + x, y2 = y + y, z2 = z + z;
            double xx = x * x2, yy = y * y2, zz = z * z2, xy = x * y2, xz = x * z2, yz = y * z2;
            double wx = w * x2, wy = w * y2, wz = w * z2;
            a = ROW_OF(1.0 - (yy + zz), xy - wz, xz + wy, px);
            b = ROW_OF(xy + wz, 1.0 - (xx + zz), yz - wx, py);
            d = ROW_OF(xz - wy, yz + wx, 1.0 - (xx + yy), pz);
        } else {
            a = ROW_AT(c);
            b = ROW_AT(c + 4);
            d = ROW_AT(c + 8);
            if (step->op == ROTATION_POSE) {
                const double *cos_sin = row->cos_sin + step->argument;
                ROW cosine = SPLAT(cos_sin[0]), sine = SPLAT(cos_sin[4]);
                a = FMA(sine, ROW_AT(c + 24), FMA(cosine, ROW_AT(c + 12), a));
                b = FMA(sine, ROW_AT(c + 28), FMA(cosine, ROW_AT(c + 16), b));
                d = FMA(sine, ROW_AT(c + 32), FMA(cosine, ROW_AT(c + 20), d));
            } else {
                for (int k = 0; k < step->terms; k++) {
                    ROW value = SPLAT(row->values[step->argument + k]);
                    c += 12;
                    a = FMA(value, ROW_AT(c), a);
                    b = FMA(value, ROW_AT(c + 4), b);
                    d = FMA(value, ROW_AT(c + 8), d);
                }
            }
        }
        if (step->parent > 0)
            POSE(compose)(row->world + 12 * (npy_intp)step->parent, &a, &b, &d);
        double *world = row->world + 12 * (npy_intp)step->slot;
        STORE(world, a);
        STORE(world + 4, b);
        STORE(world + 8, d);
        if (step->out < 0) continue;
        POSE(write)(job, row->out + 16 * (npy_intp)step->out, a, b, d);
    }
}

/* Write the poses of the requested frames, relative to the world or the reference frame.

   Non-temporal stores of 32 bytes need addresses that are multiples of 32. If the output is only aligned
   to 16 bytes, each store writes the end of one row of a pose and the start of the next. */
TARGET static inline void POSE(write_all)(const PoseJob *job, const Rows *row)
{
    double inverse[12];
#ifdef WIDE
    const ROW bottom = ROW_OF(0.0, 0.0, 0.0, 1.0);
    int is_shifted = job->streamed == 16;
#endif
    if (job->reference >= 0) {
        const double *m = row->world + 12 * job->reference;
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) inverse[4 * i + j] = m[4 * j + i];
            inverse[4 * i + 3] = -(m[i] * m[3] + m[4 + i] * m[7] + m[8 + i] * m[11]);
        }
    }
    for (npy_intp k = 0; k < job->n_out; k++) {
        const double *world = row->world + 12 * (job->frames ? (npy_intp)job->frames[k] : k);
        ROW a = ROW_AT(world), b = ROW_AT(world + 4), d = ROW_AT(world + 8);
        double *out = row->out + 16 * k;
        if (job->reference >= 0) POSE(compose)(inverse, &a, &b, &d);
#ifdef WIDE
        if (is_shifted) {
            if (k == 0) _mm_stream_pd(out, _mm256_castpd256_pd128(a));
            else STREAM(out - 2, _mm256_permute2f128_pd(bottom, a, 0x21));
            STREAM(out + 2, _mm256_permute2f128_pd(a, b, 0x21));
            STREAM(out + 6, _mm256_permute2f128_pd(b, d, 0x21));
            STREAM(out + 10, _mm256_permute2f128_pd(d, bottom, 0x21));
            continue;
        }
#endif
        POSE(write)(job, out, a, b, d);
    }
#ifdef WIDE
    if (is_shifted && job->n_out)
        _mm_stream_pd(row->out + 16 * job->n_out - 2, _mm256_extractf128_pd(bottom, 1));
#endif
}

TARGET static int POSE(chunk)(const PoseJob *job, npy_intp start, npy_intp rows, char *block)
{
    const Poses *self = job->poses;
    Rows row = rows_in(self, block);
    for (npy_intp k = start; k < start + rows; k++) {
        row.values = (const double *)(job->values + k * job->value_step);
        row.parents = (const npy_int32 *)(job->parents + k * job->parent_step);
        row.out = job->out + k * job->row_size;
        if (!keep_plan(job, &row)) return BAD_PARENTS;
        POSE(cos_sin)(self, &row);
        POSE(steps)(job, &row);
        if (job->columns) write_jacobians(job, &row);
        else if (job->is_late) POSE(write_all)(job, &row);
    }
    if (job->streamed) end_of_stream();
    return DONE;
}

#undef ROW
#undef ROW_AT
#undef SPLAT
#undef FMA
#undef ROW_OF
#undef ONLY_LAST
#undef STORE
#undef STREAM
#undef TARGET
#undef POSE
#undef WIDE
