/* The floating-point mode of a thread. Other libraries change it: they round in another direction, flush
   subnormal numbers to zero, or enable exceptions. So the default mode is set while rows are computed. */
#include "common.h"

#if defined(__SSE2__) || defined(_M_X64)
#define USUAL_MODE 0x1F80u       /* the initial value of MXCSR; its six lowest bits are not modes */
#define MODE_OF(value) ((value) & 0xFFC0u)
static uint64_t read_mode(void) { return _mm_getcsr(); }
static void write_mode(uint64_t mode) { _mm_setcsr((unsigned int)mode); }
#else
#define USUAL_MODE 0u            /* the initial value of FPCR */
#define MODE_OF(value) (value)
#if defined(__aarch64__) && defined(__GNUC__)
static uint64_t read_mode(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
static void write_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory"); }
#else
static uint64_t read_mode(void) { return USUAL_MODE; }
static void write_mode(uint64_t mode) { (void)mode; }
#endif
#endif

uint64_t enter_usual_mode(void)
{
    uint64_t before = read_mode();
    if (MODE_OF(before) != USUAL_MODE) write_mode(USUAL_MODE);
    return before;
}

void leave_usual_mode(uint64_t before)
{
    if (MODE_OF(before) != USUAL_MODE) write_mode(before);
}
