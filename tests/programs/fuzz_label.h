/* What a program keeps on its communicators: an attribute, a name. Both stay until the communicator is freed, then the
   attribute's delete function is called once; a duplicate has neither. */
#ifndef FUZZ_LABEL_H
#define FUZZ_LABEL_H

#include "fuzz_case.h"

static int label_key;
/* By number of the communicator in the case: above 0 while it is there, below 0 when it is deleted. */
static long labels_made[MAX_COMMS_OF_CASE];

/* What the program does with a communicator whose attribute is being deleted. */
static void (*label_last)(MPI_Comm comm, int id);

static inline int label_deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)extra;
    if (*(long *)value <= 0)
        fail("the attribute of communicator %ld is deleted twice", -*(long *)value - 1);
    *(long *)value = -*(long *)value;
    label_last(comm, (int)(-*(long *)value - 1));
    return MPI_SUCCESS;
}

static inline void labels_create(void)
{
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, label_deleted, &label_key, NULL);
}

static inline void labels_free(void)
{
    MPI_Comm_free_keyval(&label_key);
}

static inline void label(MPI_Comm comm, int id)
{
    int found;
    void *value;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_get_attr(comm, label_key, &value, &found);
    if (found)
        fail("the new communicator has an attribute of another");
    labels_made[id] = id + 1;
    MPI_Comm_set_attr(comm, label_key, &labels_made[id]);
    snprintf(name, sizeof name, "communicator %d", id);
    MPI_Comm_set_name(comm, name);
}

static inline void free_labelled(MPI_Comm *comm, int id, int disconnect)
{
    int found, length;
    void *value;
    char name[MPI_MAX_OBJECT_NAME], want[64];
    MPI_Comm_get_attr(*comm, label_key, &value, &found);
    if (!found || value != &labels_made[id] || labels_made[id] != id + 1)
        fail("the attribute of communicator %d is %s", id, found ? "another" : "gone");
    MPI_Comm_get_name(*comm, name, &length);
    snprintf(want, sizeof want, "communicator %d", id);
    if (strcmp(name, want) != 0)
        fail("communicator %d is named \"%s\"", id, name);
    if (disconnect)
        MPI_Comm_disconnect(comm);
    else
        MPI_Comm_free(comm);
}

/* At the end of a case: a library may keep a communicator until what is under way on it has ended. */
static inline void labels_expect_deleted(void)
{
    for (int id = 0; id < MAX_COMMS_OF_CASE; id++) {
        if (labels_made[id] > 0)
            fail("the attribute of communicator %d was not deleted", id);
        labels_made[id] = 0;
    }
}

#endif
