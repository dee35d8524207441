/* RRT-Connect: two trees, from the start and from the goals, that grow toward each other.
 *
 * In each iteration, the smaller tree grows by an edge toward a random configuration, and the other one
 * toward the new node until it reaches it or is blocked. A node whose edges are blocked is extended only
 * toward samples that are close to it (dynamic domain). If a tree has not grown for a while, it is in a narrow
 * passage: then every second iteration adds a short edge to a random node. The path is then shortened: nodes are skipped where
 * a straight motion is free, and so are random parts of the path.
 */
#include "motions.h"

#define FIRST_NODES 256    /* capacity of a new tree */
#define MOST_NODES 4000000 /* of both trees, after which the search ends */
#define CLOSE_STEPS 4.0f   /* radius of the domain of a node after its first blocked edge, in steps */
#define CLOSEST_STEPS 1.0f /* and the smallest one */
#define SHRINKAGE 1e-4f    /* of the domain with each blocked edge; it grows by as much with a free one */
#define PATIENCE 64        /* iterations without a new node, after which samples are near nodes */
#define LOCAL_SCALES 6.0f  /* these are at distances from 2^-6 steps to one step */
#define SIGNAL_TESTS 4096  /* motions between two calls of signal handlers, a few milliseconds */

typedef struct { npy_uint64 s[4]; } Random;  /* xoshiro256+ */

static npy_uint64 next_random(Random *random)
{
    npy_uint64 *s = random->s, result = s[0] + s[3], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

static Random random_of(npy_uint64 seed)
{
    Random random;
    for (int k = 0; k < 4; k++) {  /* splitmix64 */
        npy_uint64 z = seed += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        random.s[k] = z ^ z >> 31;
    }
    return random;
}

static float uniform(Random *random)  /* in [0, 1) */
{
    return (float)(next_random(random) >> 40) * (1.0f / 16777216.0f);
}

typedef struct {
    int nq;
    npy_intp n, capacity;  /* nodes; the capacity is a multiple of NODE_BLOCK */
    float *nodes;          /* see `nearest_node` */
    npy_intp *parents;     /* -1 for a root */
    float *domains;        /* only samples within this distance extend a node */
} Tree;

static void read_node(const Tree *tree, npy_intp index, float *q)
{
    const float *from = tree->nodes + index / NODE_BLOCK * NODE_BLOCK * tree->nq + index % NODE_BLOCK;
    for (int k = 0; k < tree->nq; k++) q[k] = from[NODE_BLOCK * k];
}

static int enlarge(Tree *tree)
{
    npy_intp capacity = tree->capacity ? 2 * tree->capacity : FIRST_NODES;
    float *nodes = realloc(tree->nodes, (size_t)(capacity * tree->nq) * sizeof(float));
    if (nodes) tree->nodes = nodes;
    npy_intp *parents = realloc(tree->parents, (size_t)capacity * sizeof(npy_intp));
    if (parents) tree->parents = parents;
    float *domains = realloc(tree->domains, (size_t)capacity * sizeof(float));
    if (domains) tree->domains = domains;
    if (!nodes || !parents || !domains) return 0;
    for (npy_intp k = tree->capacity * tree->nq; k < capacity * tree->nq; k++) nodes[k] = INFINITY;
    tree->capacity = capacity;
    return 1;
}

/* Add a node; returns its index, -1 if there is no memory. */
static npy_intp add_node(Tree *tree, const float *q, npy_intp parent)
{
    npy_intp index = tree->n;
    if (index == tree->capacity && !enlarge(tree)) return -1;
    float *to = tree->nodes + index / NODE_BLOCK * NODE_BLOCK * tree->nq + index % NODE_BLOCK;
    for (int k = 0; k < tree->nq; k++) to[NODE_BLOCK * k] = q[k];
    tree->parents[index] = parent;
    tree->domains[index] = INFINITY;
    tree->n++;
    return index;
}

static void free_tree(Tree *tree)
{
    free(tree->nodes);
    free(tree->parents);
    free(tree->domains);
}

typedef struct {           /* one search */
    Problem *problem;
    const Bench *bench;
    Random random;
    Tree trees[2];         /* from the start, and from the goals */
    float *sample, *from, *to;  /* (nq,) */
    npy_intp n_tests;
    int is_interrupted;    /* whether a signal handler has raised: the search ends */
} Search;

/* Whether a motion is free; its start is known to be. After an interruption, none is. */
static int is_free(Search *search, const float *start, const float *end)
{
    Problem *problem = search->problem;
    if (++search->n_tests % SIGNAL_TESTS == 0 && !search->is_interrupted)
        search->is_interrupted = problem->handle_signals(problem->context) != 0;
    return !search->is_interrupted && motion_is_free(problem->scene, search->bench, start, end, 0);
}

/* Set `to` to the configuration at most a step from `from` toward a target; returns whether that is the
   target. */
static int step_toward(const Search *search, const float *from, const float *target, float distance,
                       float *to)
{
    const int nq = search->trees[0].nq;
    const float fraction = (float)search->problem->step / distance;
    if (!(fraction < 1.0f)) {
        memcpy(to, target, (size_t)nq * sizeof(float));
        return 1;
    }
    for (int k = 0; k < nq; k++) to[k] = from[k] + fraction * (target[k] - from[k]);
    return 0;
}

/* Grow a tree by an edge toward a sample; returns the new node, which is also in `search->to`, -1 if there is
   none, or -2 without memory. */
static npy_intp grow(Search *search, Tree *tree)
{
    const float step = (float)search->problem->step;
    float square;
    npy_intp nearest = nearest_node(tree->nodes, tree->n, tree->nq, search->sample, &square);
    float distance = sqrtf(square), *domain = &tree->domains[nearest];
    if (distance > *domain || distance == 0.0f) return -1;
    read_node(tree, nearest, search->from);
    step_toward(search, search->from, search->sample, distance, search->to);
    if (!is_free(search, search->from, search->to)) {
        float smaller = *domain == INFINITY ? CLOSE_STEPS * step : *domain * (1.0f - SHRINKAGE);
        *domain = smaller > CLOSEST_STEPS * step ? smaller : CLOSEST_STEPS * step;
        return -1;
    }
    *domain *= 1.0f + SHRINKAGE;
    npy_intp added = add_node(tree, search->to, nearest);
    return added < 0 ? -2 : added;
}

/* Grow a tree by a short edge from a random node in a random direction; returns the same as `grow`. */
static npy_intp grow_locally(Search *search, Tree *tree)
{
    const Problem *problem = search->problem;
    const npy_intp node = (npy_intp)(next_random(&search->random) % (npy_uint64)tree->n);
    const float step = (float)problem->step * sqrtf(3.0f / (float)tree->nq);
    const float length = step * exp2f(-LOCAL_SCALES * uniform(&search->random));
    read_node(tree, node, search->from);
    for (int k = 0; k < tree->nq; k++) {
        float x = search->from[k] + length * (2.0f * uniform(&search->random) - 1.0f);
        x = x < problem->lower[k] ? problem->lower[k] : x;
        search->to[k] = x > problem->upper[k] ? problem->upper[k] : x;
    }
    if (!is_free(search, search->from, search->to)) return -1;
    npy_intp added = add_node(tree, search->to, node);
    return added < 0 ? -2 : added;
}

/* Grow a tree toward `search->to` in steps; returns the node that is there, -1 if it is blocked, or -2
   without memory. */
static npy_intp connect(Search *search, Tree *tree)
{
    float square, *next = search->sample;
    npy_intp node = nearest_node(tree->nodes, tree->n, tree->nq, search->to, &square);
    read_node(tree, node, search->from);
    if (square == 0.0f) return node;
    float distance = sqrtf(square);
    for (int is_there = 0; !is_there; distance -= (float)search->problem->step) {
        is_there = step_toward(search, search->from, search->to, distance, next);
        /* steps that single precision cannot represent lead nowhere */
        if (!memcmp(search->from, next, (size_t)tree->nq * sizeof(float)) || tree->n >= MOST_NODES) return -1;
        if (!is_free(search, search->from, next)) return -1;
        node = add_node(tree, next, node);
        if (node < 0) return -2;
        memcpy(search->from, next, (size_t)tree->nq * sizeof(float));
    }
    return node;
}

/* Write the path from the root of the first tree over two nodes to a root of the second; 0 without memory. */
static int write_path(Search *search, npy_intp in_first, npy_intp in_second)
{
    const Tree *first = &search->trees[0], *second = &search->trees[1];
    const int nq = first->nq;
    npy_intp before = 0, n = 0;
    for (npy_intp k = in_first; k >= 0; k = first->parents[k]) before++;
    for (npy_intp k = in_second; k >= 0; k = second->parents[k]) n++;
    float *path = malloc((size_t)((before + n) * nq) * sizeof(float));
    if (!path) return 0;
    n = before;
    for (npy_intp k = in_first; k >= 0; k = first->parents[k]) read_node(first, k, path + --before * nq);
    /* both nodes are the same configuration */
    for (npy_intp k = second->parents[in_second]; k >= 0; k = second->parents[k])
        read_node(second, k, path + n++ * nq);
    search->problem->path = path;
    search->problem->n_path = n;
    return 1;
}

/* Skip nodes of the path that a straight motion can leave out. */
static void skip_nodes(Search *search)
{
    Problem *problem = search->problem;
    const npy_intp nq = search->trees[0].nq;
    float *path = problem->path;
    for (npy_intp i = 0; i + 2 < problem->n_path; i++) {
        npy_intp j = problem->n_path - 1;
        while (j > i + 1 && !is_free(search, path + i * nq, path + j * nq)) j--;
        memmove(path + (i + 1) * nq, path + j * nq,
                (size_t)((problem->n_path - j) * nq) * sizeof(float));
        problem->n_path -= j - i - 1;
    }
}

static double length_of(const float *a, const float *b, npy_intp nq)
{
    double sum = 0.0;
    for (npy_intp k = 0; k < nq; k++) sum += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
    return sqrt(sum);
}

/* Replace a random part of the path by a straight motion, if that is free; the path has room for one more
   node. */
static void take_shortcut(Search *search)
{
    Problem *problem = search->problem;
    const npy_intp nq = search->trees[0].nq;
    float *path = problem->path, *points[2] = {search->from, search->to};
    double total = 0.0;
    npy_intp edges[2];
    for (npy_intp i = 0; i + 1 < problem->n_path; i++)
        total += length_of(path + i * nq, path + (i + 1) * nq, nq);
    double at[2] = {total * uniform(&search->random), total * uniform(&search->random)};
    if (at[0] > at[1]) {
        double swapped = at[0];
        at[0] = at[1];
        at[1] = swapped;
    }
    for (int end = 0; end < 2; end++) {
        npy_intp i = 0;
        double left = at[end], length = length_of(path, path + nq, nq);
        while (left > length && i + 2 < problem->n_path) {
            left -= length;
            i++;
            length = length_of(path + i * nq, path + (i + 1) * nq, nq);
        }
        double fraction = length > 0.0 ? left / length : 0.0;
        if (fraction > 1.0) fraction = 1.0;
        for (npy_intp k = 0; k < nq; k++) {
            float a = path[i * nq + k], b = path[(i + 1) * nq + k];
            points[end][k] = a + (float)fraction * (b - a);
        }
        edges[end] = i;
    }
    if (edges[0] == edges[1] || !is_free(search, points[0], points[1])) return;
    /* the parts of the cut edges that stay: tests of the whole edges are not tests of these parts */
    const float *first = path + edges[0] * nq, *last = path + (edges[1] + 1) * nq;
    if (!is_free(search, first, points[0]) || !is_free(search, points[1], last)) return;
    memmove(path + (edges[0] + 3) * nq, last, (size_t)((problem->n_path - edges[1] - 1) * nq) * sizeof(float));
    memcpy(path + (edges[0] + 1) * nq, points[0], (size_t)nq * sizeof(float));
    memcpy(path + (edges[0] + 2) * nq, points[1], (size_t)nq * sizeof(float));
    problem->n_path += edges[0] + 2 - edges[1];
}

/* Shorten the path; returns the status. */
static int shorten(Search *search)
{
    Problem *problem = search->problem;
    const npy_intp nq = search->trees[0].nq;
    skip_nodes(search);
    npy_intp done = 0;
    for (; done < problem->shortcuts && problem->n_path > 2 && !search->is_interrupted; done++) {
        float *path = realloc(problem->path, (size_t)((problem->n_path + 1) * nq) * sizeof(float));
        if (!path) return NO_MEMORY;
        problem->path = path;
        take_shortcut(search);
    }
    if (done) skip_nodes(search);
    return FOUND;
}

/* Grow both trees until they meet; returns the status. */
static int grow_trees(Search *search)
{
    Problem *problem = search->problem;
    Tree *trees = search->trees;
    npy_intp failures = 0;  /* iterations since an edge toward a random configuration was free */
    for (npy_intp i = 0; i < problem->max_iterations && !search->is_interrupted; i++) {
        if (trees[0].n + trees[1].n >= MOST_NODES) break;
        problem->iterations = i + 1;
        int which = trees[1].n < trees[0].n;
        for (int k = 0; k < trees[0].nq; k++) {
            float width = problem->upper[k] - problem->lower[k];
            search->sample[k] = problem->lower[k] + width * uniform(&search->random);
        }
        const int is_stuck = failures > PATIENCE && failures % 2;
        npy_intp added = is_stuck ? grow_locally(search, &trees[which]) : grow(search, &trees[which]);
        if (added < 0 || is_stuck) failures++;
        else failures = 0;
        npy_intp reached = added < 0 ? added : connect(search, &trees[!which]);
        if (added == -2 || reached == -2) return NO_MEMORY;
        if (reached >= 0)
            return write_path(search, which ? reached : added, which ? added : reached) ? FOUND
                                                                                         : NO_MEMORY;
    }
    return NOT_FOUND;
}

/* Plant the roots of both trees; returns the status, FOUND if a straight motion is a path. */
static int plant(Search *search, Scene *scene)
{
    Problem *problem = search->problem;
    const npy_intp nq = search->trees[0].nq;
    Hit hit;
    if (collides(scene, search->bench, problem->start, &problem->hit)) return START_COLLIDES;
    scene->skips_static = 1;
    if (add_node(&search->trees[0], problem->start, -1) < 0) return NO_MEMORY;
    for (npy_intp k = 0; k < problem->n_goals; k++) {
        const float *goal = problem->goals + k * nq;
        if (collides(scene, search->bench, goal, &hit)) {
            if (k == 0) problem->hit = hit;
            continue;
        }
        npy_intp node = add_node(&search->trees[1], goal, -1);
        if (node < 0) return NO_MEMORY;
        if (is_free(search, problem->start, goal)) {
            problem->path = malloc((size_t)(2 * nq) * sizeof(float));
            if (!problem->path) return NO_MEMORY;
            memcpy(problem->path, problem->start, (size_t)nq * sizeof(float));
            memcpy(problem->path + nq, goal, (size_t)nq * sizeof(float));
            problem->n_path = 2;
            return FOUND;
        }
    }
    return search->trees[1].n ? DONE : GOAL_COLLIDES;
}

int find_path(Problem *problem, const Bench *bench)
{
    Scene scene = *problem->scene;
    Search search = {.problem = problem, .bench = bench, .random = random_of(problem->seed)};
    const size_t nq = (size_t)scene.robot->nq;
    search.trees[0].nq = search.trees[1].nq = (int)nq;
    search.sample = malloc(3 * nq * sizeof(float));
    if (!search.sample) return NO_MEMORY;
    search.from = search.sample + nq;
    search.to = search.from + nq;
    problem->scene = &scene;
    scene.stops = 1;
    scene.skips_static = problem->skips_static;
    int status = plant(&search, &scene);
    if (status == DONE) {
        status = grow_trees(&search);
        if (status == FOUND) status = shorten(&search);
    }
    if (search.is_interrupted) status = INTERRUPTED;
    problem->n_nodes = search.trees[0].n + search.trees[1].n;
    free_tree(&search.trees[0]);
    free_tree(&search.trees[1]);
    free(search.sample);
    if (status != FOUND) {
        free(problem->path);
        problem->path = NULL;
    }
    return status;
}
