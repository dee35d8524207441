/* A kernel in the form that CasADi's `external` loads: C functions with fixed names.
 *
 * One loaded copy of this library serves one kernel. CasADi finds a function NAME by the symbols
 * NAME, NAME_n_in, NAME_sparsity_in and so on, and its derivatives as fwd1_NAME, adj1_NAME and
 * jac_NAME. Each of them is a slot here, filled from Python when CasADi first requests it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#include <intrin.h>
#define IS_SET(flag) (_InterlockedCompareExchange(&(flag), 0, 0) != 0)
#define SET(flag) ((void)_InterlockedExchange(&(flag), 1))
#else
#define IS_SET(flag) (__atomic_load_n(&(flag), __ATOMIC_ACQUIRE) != 0)
#define SET(flag) __atomic_store_n(&(flag), 1, __ATOMIC_RELEASE)
#endif
#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

#define ALIGNMENT 64 /* of the workspace of kernels, in bytes */

typedef long long int integer; /* CasADi's casadi_int */
/* The code of one row, see codegen/llvm/emit.py. */
typedef int64_t (*code_t)(void *const *in, void *const *out, const int64_t *strides, int64_t rows,
                          void *workspace);

typedef struct {          /* an input or output of the kernel */
    int64_t index;        /* of its argument or result in the CasADi function */
    int64_t size;         /* number of elements */
    const int64_t *order; /* index of each element in CasADi's matrix; NULL if the same */
} Port;

typedef struct {
    int64_t n_arg, n_res; /* of the CasADi function */
    const char *const *arg_names, *const *res_names;
    const integer *const *arg_sparsity, *const *res_sparsity;
    int64_t n_in, n_out;  /* of the kernel */
    const Port *in, *out;
    int64_t n_zero;       /* results that are always zero */
    const Port *zero;
    code_t code;
    int64_t workspace;    /* bytes that the code needs */
} Slot;

enum { SLOTS = 8 };
static Slot slots[SLOTS];
static long is_filled[SLOTS];    /* CasADi may call from several threads */
static int (*fill)(int, Slot *); /* Python callback that compiles the kernel of a slot; 0 if done */

PUBLIC void linkwork_set_fill(int (*callback)(int, Slot *)) { fill = callback; }

static const Slot *filled(int k)
{
    if (!IS_SET(is_filled[k])) {
        if (!fill || fill(k, &slots[k])) return NULL;
        SET(is_filled[k]);
    }
    return &slots[k];
}

/* Length of the work vector: copies of inputs and outputs, and the workspace. */
static int64_t work_size(const Slot *slot)
{
    int64_t size = (slot->workspace + ALIGNMENT) / (int64_t)sizeof(double) + 1;
    for (int64_t k = 0; k < slot->n_in; k++) size += slot->in[k].size;
    for (int64_t k = 0; k < slot->n_out; k++) size += slot->out[k].size;
    return size + slot->n_in + slot->n_out + slot->n_in + 1; /* pointers and strides */
}

static int run(int which, const double **arg, double **res, double *work)
{
    const Slot *slot = filled(which);
    if (!slot) return 1;
    for (int64_t k = 0; k < slot->n_zero; k++) {
        double *result = res[slot->zero[k].index];
        if (result) memset(result, 0, sizeof(double) * (size_t)slot->zero[k].size);
    }
    void **in = (void **)work, **out = in + slot->n_in;
    int64_t *strides = (int64_t *)(out + slot->n_out);
    memset(strides, 0, sizeof(int64_t) * (size_t)(slot->n_in + 1));
    double *next = work + slot->n_in + slot->n_out + slot->n_in + 1;
    for (int64_t k = 0; k < slot->n_in; k++) {
        const Port *port = &slot->in[k];
        const double *argument = arg[port->index];
        if (argument && !port->order) {
            in[k] = (void *)argument;
            continue;
        }
        for (int64_t i = 0; i < port->size; i++) /* no argument means zeros */
            next[i] = argument ? argument[port->order[i]] : 0.0;
        in[k] = next;
        next += port->size;
    }
    for (int64_t k = 0; k < slot->n_out; k++) {
        const Port *port = &slot->out[k];
        const int is_direct = res[port->index] && !port->order;
        out[k] = is_direct ? res[port->index] : next;
        next += is_direct ? 0 : port->size;
    }
    uintptr_t workspace = ((uintptr_t)next + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    slot->code(in, out, strides, 1, (void *)workspace);
    for (int64_t k = 0; k < slot->n_out; k++) {
        const Port *port = &slot->out[k];
        if (!res[port->index] || !port->order) continue;
        for (int64_t i = 0; i < port->size; i++)
            res[port->index][port->order[i]] = ((const double *)out[k])[i];
    }
    return 0;
}

static int work_of(int which, integer *n_arg, integer *n_res, integer *n_int, integer *n_real)
{
    const Slot *slot = filled(which);
    if (!slot) return 1;
    if (n_arg) *n_arg = slot->n_arg;
    if (n_res) *n_res = slot->n_res;
    if (n_int) *n_int = 0;
    if (n_real) *n_real = work_size(slot);
    return 0;
}

#define OF(which, field, otherwise) (filled(which) ? filled(which)->field : (otherwise))
#define SLOT(which, name)                                                                          \
    PUBLIC int name(const double **arg, double **res, integer *iw, double *w, int mem)            \
    {                                                                                              \
        (void)iw, (void)mem;                                                                       \
        return run(which, arg, res, w);                                                            \
    }                                                                                              \
    PUBLIC integer name##_n_in(void) { return OF(which, n_arg, 0); }                              \
    PUBLIC integer name##_n_out(void) { return OF(which, n_res, 0); }                             \
    PUBLIC const char *name##_name_in(integer i) { return OF(which, arg_names[i], NULL); }        \
    PUBLIC const char *name##_name_out(integer i) { return OF(which, res_names[i], NULL); }       \
    PUBLIC const integer *name##_sparsity_in(integer i) { return OF(which, arg_sparsity[i], NULL); } \
    PUBLIC const integer *name##_sparsity_out(integer i) { return OF(which, res_sparsity[i], NULL); } \
    PUBLIC int name##_work(integer *a, integer *r, integer *i, integer *w)                        \
    {                                                                                              \
        return work_of(which, a, r, i, w);                                                         \
    }

SLOT(0, linkwork_kernel)
SLOT(1, fwd1_linkwork_kernel)
SLOT(2, adj1_linkwork_kernel)
SLOT(3, fwd1_fwd1_linkwork_kernel)
SLOT(4, adj1_fwd1_linkwork_kernel)
SLOT(5, fwd1_adj1_linkwork_kernel)
SLOT(6, adj1_adj1_linkwork_kernel)
SLOT(7, jac_linkwork_kernel)

/* Python imports this module only to find its file. */
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_casadi", .m_size = -1};
PyMODINIT_FUNC PyInit__casadi(void) { return PyModule_Create(&module); }
