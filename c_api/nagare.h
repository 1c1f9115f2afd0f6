// Nagare's C interface. Generated from src/c_api.rs; do not edit (the test `header` checks that it is current).
//
// A program need not be linked to Nagare: look the functions up with dlsym(RTLD_DEFAULT, "nagare_…") and do without
// them where they are not found. See c_api/example.c.

#ifndef NAGARE_H
#define NAGARE_H

#include <stddef.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Version of Nagare, such as "0.1.0"; never null.
const char *nagare_version(void);

// 1 if Nagare handles the collectives of this process, 0 if it forwards all of them: before `MPI_Init` and after
// `MPI_Finalize`, switched off, built for another MPI family, or with a configuration that differs between ranks.
int nagare_active(void);

// Describes what Nagare found in this process: MPI library, functions, configuration, problems.
//
// Writes at most `length` bytes with the final zero to `buffer` and returns the length of the whole text without the
// zero, as `snprintf` does; `buffer` may be null if `length` is 0.
//
// # Safety
// `buffer` must have room for `length` bytes.
size_t nagare_diagnose(char *buffer,
                       size_t length);

// Describes a communicator as Nagare sees it: its ranks, nodes and levels, the plans made so far, and in JSON what
// runs by size where calls are not measured. Local. `format` is "text" or "json". Writes and returns like
// `nagare_diagnose`.
//
// # Safety
// `comm` must be a valid communicator, `format` a C string, and `buffer` have room for `length` bytes.
size_t nagare_describe(MPI_Comm comm,
                       const char *format,
                       char *buffer,
                       size_t length);

// Sets the algorithms of one communicator from now on, in the syntax of `NAGARE_ALGORITHM`; null returns to the
// settings of the environment. Collective over the communicator: all ranks must pass the same text. Returns 0, or -1
// if the text is not understood, Nagare is not active, or Nagare can carry out no call of the process (with
// `MPI_THREAD_MULTIPLE`, if all ranks are on one node and `NAGARE_ALGORITHM` named no algorithm in `MPI_Init_thread`);
// then nothing has changed.
//
// # Safety
// `comm` must be a valid communicator and `rules` a C string or null.
int nagare_set_algorithm(MPI_Comm comm,
                         const char *rules);

// The calls of this process counted so far. `format` is "text" or "json"; writes and returns like `nagare_diagnose`.
//
// # Safety
// `format` must be a C string, and `buffer` have room for `length` bytes.
size_t nagare_report(const char *format,
                     char *buffer,
                     size_t length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NAGARE_H */
