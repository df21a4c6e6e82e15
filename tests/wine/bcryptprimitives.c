/* The one function of this Windows library that Rust's standard library calls. Wine before 9 has no
 * such library, and every Rust program ends at once, with status 53 and without a word. */
#include <windows.h>

/* RtlGenRandom, under the only name that it is exported by. */
BOOLEAN NTAPI SystemFunction036(void *to, ULONG bytes);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *to, SIZE_T bytes) {
    while (bytes > 0) {
        const ULONG part = bytes < 0x10000000 ? (ULONG)bytes : 0x10000000;
        if (!SystemFunction036(to, part)) return FALSE;
        to += part;
        bytes -= part;
    }
    return TRUE;
}
