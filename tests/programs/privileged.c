/* Says whether the loader runs this program in secure-execution mode, and whether libnagare.so is in the process. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

int main(void)
{
    char line[4096];
    int loaded = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        loaded |= strstr(line, "libnagare.so") != NULL;
    printf("secure=%d loaded=%d\n", getauxval(AT_SECURE) != 0, loaded);
    return maps ? 0 : 1;
}
