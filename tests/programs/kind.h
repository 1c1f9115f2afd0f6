/* The basic kinds of data: their MPI types, sizes and parts. */
#ifndef KIND_H
#define KIND_H

#include "check.h"

enum kind {
    K_INT, K_DOUBLE, K_BYTE, K_INT64, K_COMPLEX, K_DOUBLE_INT, K_2INT, K_MATRIX,
    K_INT8, K_INT16, K_UINT8, K_UINT16, K_UINT32, K_UINT64, K_FLOAT, K_LONG_DOUBLE, K_FLOAT_COMPLEX, K_BOOL, K_CHAR,
    K_FLOAT_INT, K_LONG_INT, K_SHORT_INT, K_LONG_DOUBLE_INT, K_STRUCT, K_F90_REAL, K_F90_INTEGER, K_F90_COMPLEX, KINDS
};

/* Which operations a kind has (MPI-4, section 6.9.2). */
enum category {
    C_SIGNED, C_UNSIGNED, C_BYTE, C_LOGICAL, C_CHARACTER, C_FLOATING, C_COMPLEX, C_PAIR, C_MATRIX, C_STRUCT
};

struct kind_facts {
    const char *name;
    enum category category;
    /* Bytes from one value to the next; of the number, of one part of a complex number, or of the first of a pair. */
    size_t size, part;
    /* Whether that number is a floating one. */
    int floating;
    /* Where the location of a pair is. */
    size_t location;
};

struct double_int { double number; int location; };
struct two_int { int number; int location; };
struct float_int { float number; int location; };
struct long_int { long number; int location; };
struct short_int { short number; int location; };
struct long_double_int { long double number; int location; };

/* Elements with gaps, made of different basic types. */
struct mixed { int number; char gap[12]; double other; char more[8]; char bytes[3]; };

#define PAIR(name, first, floating)                                                                                    \
    {#name, C_PAIR, sizeof(struct name), sizeof(first), floating, offsetof(struct name, location)}

static const struct kind_facts kind_facts[KINDS] = {
    [K_INT] = {"int", C_SIGNED, sizeof(int), sizeof(int), 0, 0},
    [K_DOUBLE] = {"double", C_FLOATING, sizeof(double), sizeof(double), 1, 0},
    [K_BYTE] = {"byte", C_BYTE, 1, 1, 0, 0},
    [K_INT64] = {"int64", C_SIGNED, 8, 8, 0, 0},
    [K_COMPLEX] = {"complex", C_COMPLEX, 2 * sizeof(double), sizeof(double), 1, 0},
    [K_DOUBLE_INT] = PAIR(double_int, double, 1),
    [K_2INT] = {"2int", C_PAIR, sizeof(struct two_int), sizeof(int), 0, offsetof(struct two_int, location)},
    [K_MATRIX] = {"matrix", C_MATRIX, 4 * sizeof(int), sizeof(int), 0, 0},
    [K_INT8] = {"int8", C_SIGNED, 1, 1, 0, 0},
    [K_INT16] = {"int16", C_SIGNED, 2, 2, 0, 0},
    [K_UINT8] = {"uint8", C_UNSIGNED, 1, 1, 0, 0},
    [K_UINT16] = {"uint16", C_UNSIGNED, 2, 2, 0, 0},
    [K_UINT32] = {"uint32", C_UNSIGNED, 4, 4, 0, 0},
    [K_UINT64] = {"uint64", C_UNSIGNED, 8, 8, 0, 0},
    [K_FLOAT] = {"float", C_FLOATING, sizeof(float), sizeof(float), 1, 0},
    [K_LONG_DOUBLE] = {"long_double", C_FLOATING, sizeof(long double), sizeof(long double), 1, 0},
    [K_FLOAT_COMPLEX] = {"float_complex", C_COMPLEX, 2 * sizeof(float), sizeof(float), 1, 0},
    [K_BOOL] = {"bool", C_LOGICAL, 1, 1, 0, 0},
    [K_CHAR] = {"char", C_CHARACTER, 1, 1, 0, 0},
    [K_FLOAT_INT] = PAIR(float_int, float, 1),
    [K_LONG_INT] = PAIR(long_int, long, 0),
    [K_SHORT_INT] = PAIR(short_int, short, 0),
    [K_LONG_DOUBLE_INT] = PAIR(long_double_int, long double, 1),
    [K_STRUCT] = {"struct", C_STRUCT, sizeof(struct mixed), sizeof(int), 0, 0},
    [K_F90_REAL] = {"f90_real", C_FLOATING, sizeof(double), sizeof(double), 1, 0},
    [K_F90_INTEGER] = {"f90_integer", C_SIGNED, sizeof(int), sizeof(int), 0, 0},
    [K_F90_COMPLEX] = {"f90_complex", C_COMPLEX, 2 * sizeof(double), sizeof(double), 1, 0},
};

/* The named type of a kind; none for matrices, structs and the kinds of Fortran. */
static inline MPI_Datatype kind_type(enum kind kind)
{
    const MPI_Datatype types[KINDS] = {
        [K_INT] = MPI_INT, [K_DOUBLE] = MPI_DOUBLE, [K_BYTE] = MPI_BYTE, [K_INT64] = MPI_INT64_T,
        [K_COMPLEX] = MPI_C_DOUBLE_COMPLEX, [K_DOUBLE_INT] = MPI_DOUBLE_INT, [K_2INT] = MPI_2INT,
        [K_MATRIX] = MPI_DATATYPE_NULL, [K_INT8] = MPI_INT8_T, [K_INT16] = MPI_INT16_T, [K_UINT8] = MPI_UINT8_T,
        [K_UINT16] = MPI_UINT16_T, [K_UINT32] = MPI_UINT32_T, [K_UINT64] = MPI_UINT64_T, [K_FLOAT] = MPI_FLOAT,
        [K_LONG_DOUBLE] = MPI_LONG_DOUBLE, [K_FLOAT_COMPLEX] = MPI_C_FLOAT_COMPLEX, [K_BOOL] = MPI_C_BOOL,
        [K_CHAR] = MPI_CHAR, [K_FLOAT_INT] = MPI_FLOAT_INT, [K_LONG_INT] = MPI_LONG_INT, [K_SHORT_INT] = MPI_SHORT_INT,
        [K_LONG_DOUBLE_INT] = MPI_LONG_DOUBLE_INT, [K_STRUCT] = MPI_DATATYPE_NULL, [K_F90_REAL] = MPI_DATATYPE_NULL,
        [K_F90_INTEGER] = MPI_DATATYPE_NULL, [K_F90_COMPLEX] = MPI_DATATYPE_NULL,
    };
    return types[kind];
}

static inline size_t kind_size(enum kind kind)
{
    return kind_facts[kind].size;
}

/* Bytes of a floating number that carry its value: x86's long double has 10 of them. */
static inline size_t number_bytes(size_t part)
{
#ifdef __x86_64__
    return part == sizeof(long double) ? 10 : part;
#else
    return part;
#endif
}

#endif
