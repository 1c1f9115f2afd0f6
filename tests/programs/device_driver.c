/* A driver of a device that is none: memory of the host that it calls the device's, or managed by it. */
#include <stdlib.h>

static char *memory;
static size_t size, used;
static int managed;

/* `bytes` of the device's memory; null if there is no more. */
void *device_allocate(size_t bytes, int is_managed)
{
    managed = is_managed;
    if (!memory)
        memory = malloc(size = 64 << 20);
    if (!memory || size - used < bytes)
        return NULL;
    used += bytes;
    return memory + used - bytes;
}

/* As CUDA's: 0 where it knows the address, 1 where not. */
int cuPointerGetAttribute(void *data, int attribute, unsigned long long address)
{
    const char *asked = (const char *)(size_t)address;
    if (!memory || asked < memory || asked >= memory + size)
        return 1;
    if (attribute == 2)
        *(unsigned *)data = 2;
    else if (attribute == 8)
        *(unsigned *)data = (unsigned)managed;
    else
        return 1;
    return 0;
}
