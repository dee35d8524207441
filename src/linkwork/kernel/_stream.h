/* Large results on their way to memory, past the caches.
 *
 * A plain store reads the line it writes to from memory first. Results that no cache can hold are
 * therefore computed block by block into a small buffer, and copied from there with stores that write
 * whole lines without reading them.
 */
#ifndef LINKWORK_STREAM_H
#define LINKWORK_STREAM_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define STREAM_BYTES ((size_t)8 << 20) /* results larger than this are streamed */
#else
#define STREAM_BYTES SIZE_MAX           /* no such stores known: never */
#endif

#define STAGE_BYTES ((size_t)64 << 10)  /* of the buffer, if a few rows are not more */
#define LINE ((size_t)64)

static size_t whole_lines(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static void stream_copy(char *to, const char *from, size_t bytes)
{
#if defined(__SSE2__) || defined(_M_X64)
    size_t head = (size_t)(-(uintptr_t)to % LINE);
    if (head > bytes) head = bytes;
    memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    for (; bytes >= LINE; bytes -= LINE, to += LINE, from += LINE)
        for (size_t k = 0; k < LINE; k += 16)
            _mm_stream_si128((__m128i *)(to + k), _mm_loadu_si128((const __m128i *)(from + k)));
#endif
    memcpy(to, from, bytes);
}

static void stream_end(void)
{
#if defined(__SSE2__) || defined(_M_X64)
    _mm_sfence();
#endif
}

#endif
