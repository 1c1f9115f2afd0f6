/* nagare_spank.so: Nagare for the tasks of srun. It puts libnagare.so first into the LD_PRELOAD of each, before what is
   there; not of Prolog, Epilog, TaskEpilog, batch scripts, interactive shells and the daemons of other launchers.
   Slurm starts every task as its user; all here happens in that process (slurm_spank_task_init) or parses options.
   Only TaskProlog, which Slurm runs later and with the task's environment, has the library as well.

   A line of plugstack.conf, on every host that runs srun, sbatch, salloc or slurmd (docs/administrators.md):

       optional /opt/nagare/0.1.0/lib/nagare/nagare_spank.so default=on only=/home/?*

       default=on|off             without srun --nagare (off)
       mpi=openmpi|mpich          which build of the library, where neither the program says so, by the MPI library that
                                  it is linked to, nor srun --nagare=openmpi|mpich
       only=PATTERN[:PATTERN...]  with default=on: programs whose path one of these fits, as for a shell's `case`
       never=PATTERN[:...]        with default=on: not those
       libraries=DIRECTORY        where openmpi/libnagare.so and mpich/libnagare.so are (where this file is) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

SPANK_PLUGIN(nagare, 1)

/* More than any LD_PRELOAD that makes sense; a longer one is left alone. */
enum { LONGEST = 1 << 16 };

enum answer { UNASKED, OFF, ON };

/* What the site says. */
static enum answer site = OFF;
static char mpi[16], libraries[PATH_MAX], only[PATH_MAX], never[PATH_MAX];

/* What the user says. */
static enum answer user = UNASKED;
static char user_mpi[16], report[PATH_MAX];

/* Copies the words after `name=`; 0 where `word` is no such one, -1 where they do not fit. */
static int valued(const char *word, const char *name, char *value, size_t size)
{
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0 || word[length] != '=')
        return 0;
    return snprintf(value, size, "%s", word + length + 1) < (int)size ? 1 : -1;
}

static int is_family(const char *name)
{
    return strcmp(name, "openmpi") == 0 || strcmp(name, "mpich") == 0;
}

/* srun --nagare[=WORD] */
static int asked(int number, const char *word, int remote)
{
    (void)number, (void)remote;
    /* On the hosts Slurm hands in an empty word where srun got none. */
    if (word == NULL || word[0] == '\0' || strcmp(word, "(null)") == 0 || strcmp(word, "on") == 0)
        user = ON;
    else if (strcmp(word, "off") == 0)
        user = OFF;
    else if (is_family(word))
        user = ON, snprintf(user_mpi, sizeof user_mpi, "%s", word);
    else if (strcmp(word, "report") == 0)
        user = ON, snprintf(report, sizeof report, "stderr");
    else if (valued(word, "report", report, sizeof report) == 1 && report[0] != '\0')
        user = ON;
    else {
        slurm_error("--nagare=%s: expected on, off, openmpi, mpich, report or report=FILE", word);
        return ESPANK_BAD_ARG;
    }
    return ESPANK_SUCCESS;
}

static char name[] = "nagare", words_of_it[] = "[off|openmpi|mpich|report[=FILE]]",
            usage[] = "run MPI collectives on Nagare, with openmpi's or mpich's build of it, and a report of what ran";
static struct spank_option option = { name, words_of_it, usage, 2, 0, asked };

/* The directory of this file. */
static void find_libraries(void)
{
    Dl_info info;
    char *slash;
    if (dladdr(&option, &info) == 0 || info.dli_fname == NULL ||
        snprintf(libraries, sizeof libraries, "%s", info.dli_fname) >= (int)sizeof libraries ||
        (slash = strrchr(libraries, '/')) == NULL)
        libraries[0] = '\0';
    else
        *slash = '\0';
}

int slurm_spank_init(spank_t spank, int count, char *words[])
{
    /* For srun, sbatch, salloc and the tasks alike; a table `spank_options` would be srun's only. */
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
        slurm_error("nagare: Slurm does not take the option --nagare");
    find_libraries();
    for (int i = 0; i < count; i++) {
        char value[16] = "";
        int is_good = 1;
        if (valued(words[i], "default", value, sizeof value))
            is_good = strcmp(value, "on") == 0 || strcmp(value, "off") == 0,
            site = strcmp(value, "on") == 0 ? ON : OFF;
        else if (valued(words[i], "mpi", value, sizeof value)) {
            if ((is_good = is_family(value)))
                strcpy(mpi, value);
        } else
            is_good = valued(words[i], "only", only, sizeof only) == 1 ||
                      valued(words[i], "never", never, sizeof never) == 1 ||
                      valued(words[i], "libraries", libraries, sizeof libraries) == 1;
        if (!is_good) {
            slurm_error("nagare: plugstack.conf: '%s': expected default=on|off, mpi=openmpi|mpich, only=PATTERN, "
                        "never=PATTERN or libraries=DIRECTORY; Nagare is off unless asked for", words[i]);
            site = OFF;
        }
    }
    return ESPANK_SUCCESS;
}

/* Whether one of the patterns, which colons divide, fits the path. */
static int fits(const char *patterns, const char *path)
{
    char copy[PATH_MAX], *rest = copy, *pattern;
    snprintf(copy, sizeof copy, "%s", patterns);
    while ((pattern = strsep(&rest, ":")) != NULL)
        if (*pattern != '\0' && fnmatch(pattern, path, 0) == 0)
            return 1;
    return 0;
}

/* mpirun and mpiexec start these by srun, on some hosts only: ranks below them would have what others have not. */
static int is_daemon(const char *path)
{
    static const char *const names[] = { "orted", "prted", "prte", "hydra_pmi_proxy", "hydra_bstrap_proxy", NULL };
    const char *slash = strrchr(path, '/');
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(slash == NULL ? path : slash + 1, names[i]) == 0)
            return 1;
    return 0;
}

/* A variable of the task; empty where it has none. */
static const char *variable(spank_t spank, const char *name, char *value, int size)
{
    if (spank_getenv(spank, name, value, size) != ESPANK_SUCCESS)
        value[0] = '\0';
    return value;
}

/* Whether the user wants none of it by default: a file `off` beside the profiles. */
static int has_opted_out(spank_t spank)
{
    char home[PATH_MAX], file[PATH_MAX + 32];
    if (*variable(spank, "XDG_CONFIG_HOME", home, sizeof home) == '/')
        snprintf(file, sizeof file, "%s/nagare/off", home);
    else if (*variable(spank, "HOME", home, sizeof home) == '/')
        snprintf(file, sizeof file, "%s/.config/nagare/off", home);
    else
        return 0;
    return access(file, F_OK) == 0;
}

/* Where the program is, as far as that can be told. */
static void find(spank_t spank, const char *program, char path[PATH_MAX])
{
    char directories[1 << 14], candidate[PATH_MAX], *rest = directories, *directory;
    if (strchr(program, '/') == NULL) {
        variable(spank, "PATH", directories, sizeof directories);
        while ((directory = strsep(&rest, ":")) != NULL)
            if (snprintf(candidate, sizeof candidate, "%s/%s", directory, program) < (int)sizeof candidate &&
                access(candidate, X_OK) == 0 && realpath(candidate, path) != NULL)
                return;
    } else if (realpath(program, path) != NULL)
        return;
    snprintf(path, PATH_MAX, "%s", program);
}

/* The family of a library that a program needs, by its file name: the C library or a language binding; or "". */
static const char *family_of(const char *needed)
{
    const char *version = strstr(needed, ".so.");
    if (strncmp(needed, "libmpi", 6) != 0 || version == NULL || strcspn(version += 4, ".") != 2)
        return "";
    return strncmp(version, "40", 2) == 0 ? "openmpi" : strncmp(version, "12", 2) == 0 ? "mpich" : "";
}

/* Whether it is a library of Open MPI before 3.0, for which there is no build. */
static int is_old(const char *needed)
{
    return strcmp(needed, "libmpi.so.0") == 0 || strcmp(needed, "libmpi.so.1") == 0 ||
           strcmp(needed, "libmpi.so.20") == 0;
}

static int reads(int file, void *bytes, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(file, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* This file's own header, which the linker names so. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* Of a program in ELF format: the family it is linked to, "" where it names none, NULL where there is no build for it.
   The file may say anything: all sizes have a limit. */
static const char *family_in(int file, const Elf64_Ehdr *header)
{
    Elf64_Phdr segments[64], dynamic = { 0 };
    static Elf64_Dyn entries[4096];
    /* Symbols of Open MPI's own: its last versions before 2.0 have the file name of MPICH. */
    static const char own[] = "ompi_mpi_";
    static char symbols[1 << 20];
    uint64_t names = 0, address = 0, size = 0;
    size_t count = 0;
    ssize_t got;
    if (header->e_phentsize != sizeof segments[0] || header->e_phnum > sizeof segments / sizeof segments[0] ||
        !reads(file, segments, header->e_phnum * sizeof segments[0], header->e_phoff))
        return "";
    for (int i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = segments[i];
    if (dynamic.p_filesz > sizeof entries || !reads(file, entries, dynamic.p_filesz, dynamic.p_offset))
        return "";
    while (count < dynamic.p_filesz / sizeof entries[0] && entries[count].d_tag != DT_NULL)
        if (entries[count].d_tag == DT_STRTAB)
            address = entries[count++].d_un.d_ptr;
        else if (entries[count].d_tag == DT_STRSZ)
            size = entries[count++].d_un.d_val;
        else
            count++;
    for (int i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && address - segments[i].p_vaddr < segments[i].p_filesz)
            names = address - segments[i].p_vaddr + segments[i].p_offset;
    for (size_t i = 0; names != 0 && i < count; i++) {
        char needed[64] = "";
        if (entries[i].d_tag != DT_NEEDED || names + entries[i].d_un.d_val > INT64_MAX ||
            pread(file, needed, sizeof needed - 1, (off_t)(names + entries[i].d_un.d_val)) < 1)
            continue;
        if (is_old(needed))
            return NULL;
        if (strcmp(needed, "libmpi.so.12") == 0 && names <= INT64_MAX &&
            (got = pread(file, symbols, size < sizeof symbols ? size : sizeof symbols, (off_t)names)) > 0 &&
            memmem(symbols, (size_t)got, own, sizeof own - 1) != NULL)
            return NULL;
        if (*family_of(needed) != '\0')
            return family_of(needed);
    }
    return "";
}

/* The family of the MPI library that the program's file names: "" where it names none, as a script, Python, or what
   opens its MPI later; NULL where no build fits: a program of 32 bits, or of an old Open MPI. */
static const char *family_named(const char *path)
{
    Elf64_Ehdr header;
    struct stat status;
    const char *family = "";
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && reads(file, &header, sizeof header, 0) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0) {
        int is_alike = memcmp(header.e_ident, __ehdr_start.e_ident, EI_VERSION) == 0 &&
                       header.e_machine == __ehdr_start.e_machine;
        family = is_alike ? family_in(file, &header) : NULL;
    }
    close(file);
    return family;
}

/* Whether the task is to have the library. */
static int is_wanted(spank_t spank, const char *path)
{
    if (user != UNASKED)
        return user == ON;
    return site == ON && !has_opted_out(spank) && (only[0] == '\0' || fits(only, path)) && !fits(never, path);
}

/* Which build the task is to have; "" for none. */
static const char *build_for(const char *path)
{
    const char *named = family_named(path);
    if (named == NULL || *named != '\0')
        return named == NULL ? "" : named;
    if (user == ON)
        return user_mpi[0] != '\0' ? user_mpi : mpi[0] != '\0' ? mpi : "openmpi";
    /* Unasked only what can pass on all calls of any MPI library; MPICH's build cannot (src/world/family.rs). */
    return strcmp(mpi, "openmpi") == 0 ? mpi : "";
}

/* Whether the path is that of a build of the library. */
static int is_library(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && strcmp(slash, "/libnagare.so") == 0;
}

/* Copies a list, which colons or blanks divide, without builds of the library; how many of these it has. */
static int without_library(const char *list, char *others)
{
    static char copy[LONGEST];
    char *rest = copy, *path;
    int count = 0;
    snprintf(copy, sizeof copy, "%s", list);
    others[0] = '\0';
    while ((path = strsep(&rest, ": ")) != NULL) {
        if (is_library(path))
            count++;
        else if (path[0] != '\0')
            strcat(strcat(others, others[0] == '\0' ? "" : ":"), path);
    }
    return count;
}

int slurm_spank_task_init(spank_t spank, int count, char *words[])
{
    static char before[LONGEST], others[LONGEST], list[LONGEST + PATH_MAX + 64];
    uint32_t step = 0;
    int arguments = 0, has_library;
    char **program = NULL, path[PATH_MAX], library[PATH_MAX + 64], value[8];
    const char *build;
    (void)count, (void)words;
    if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS || step >= SLURM_INTERACTIVE_STEP ||
        spank_get_item(spank, S_JOB_ARGV, &arguments, &program) != ESPANK_SUCCESS || arguments < 1)
        return ESPANK_SUCCESS;
    if (is_daemon(program[0]))
        return ESPANK_SUCCESS;
    if (spank_getenv(spank, "LD_PRELOAD", before, sizeof before) == ESPANK_NOSPACE) {
        slurm_error("nagare: LD_PRELOAD is longer than %d bytes; it is left as it is", LONGEST);
        return ESPANK_SUCCESS;
    }
    has_library = without_library(variable(spank, "LD_PRELOAD", before, sizeof before), others) > 0;
    if (user == OFF && has_library)
        spank_setenv(spank, "LD_PRELOAD", others, 1);
    find(spank, program[0], path);
    if (!is_wanted(spank, path) || strcmp(variable(spank, "NAGARE_ENABLE", value, sizeof value), "0") == 0 ||
        *(build = build_for(path)) == '\0')
        return ESPANK_SUCCESS;
    snprintf(library, sizeof library, "%s/%s/libnagare.so", libraries, build);
    if (access(library, R_OK) != 0) {
        slurm_error("nagare: cannot read %s on this host; the task runs without it", library);
        return ESPANK_SUCCESS;
    }
    /* One that is there already stays, unless the user says which. */
    if (!has_library || user_mpi[0] != '\0') {
        snprintf(list, sizeof list, "%s%s%s", library, others[0] == '\0' ? "" : ":", others);
        spank_setenv(spank, "LD_PRELOAD", list, 1);
    }
    if (report[0] != '\0')
        spank_setenv(spank, "NAGARE_REPORT", report, 1);
    return ESPANK_SUCCESS;
}
