/* A driver of a device that is none: memory of the host that it calls the device's, managed by it, or pinned. It
   answers as CUDA's, or with ROCM=5 or 6 as that version of ROCm's. */
#include <stdlib.h>

enum kind { DEVICE, MANAGED, PINNED };

static char *memory;
static size_t size, used;
static enum kind kind;

/* `bytes` of the device's memory; null if there is no more. */
void *device_allocate(size_t bytes, int of_kind)
{
    kind = (enum kind)of_kind;
    if (!memory)
        memory = malloc(size = 64 << 20);
    if (!memory || size - used < bytes)
        return NULL;
    used += bytes;
    return memory + used - bytes;
}

/* Memory types, and the answer about an address that is not known. */
#if defined(ROCM) && ROCM == 5
enum { HOST = 0, OF_DEVICE = 1, UNKNOWN = 1 };
#else
enum { HOST = 1, OF_DEVICE = 2, UNKNOWN = 1 };
#endif

static int answer(void *data, int attribute, const char *asked)
{
    if (!memory || asked < memory || asked >= memory + size)
        return UNKNOWN;
    if (attribute == 2)
        *(unsigned *)data = kind == PINNED ? HOST : OF_DEVICE;
    else if (attribute == 8)
        *(unsigned *)data = kind == MANAGED;
    else
        return UNKNOWN;
    return 0;
}

#ifndef ROCM
int cuPointerGetAttribute(void *data, int attribute, unsigned long long address)
{
    return answer(data, attribute, (const char *)(size_t)address);
}
#else
int hipPointerGetAttribute(void *data, int attribute, void *address)
{
    return answer(data, attribute, address);
}

int hipRuntimeGetVersion(int *version)
{
    *version = ROCM * 10000000 + 123;
    return 0;
}
#endif
