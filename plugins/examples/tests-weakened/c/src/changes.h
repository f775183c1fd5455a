// What a command line does to files: which changes delete, move or empty one.
#ifndef CHANGES_H
#define CHANGES_H

#include "tests_of.h"

// A change of a path.
typedef struct {
    uint8_t kind;
    const portcullis_path_t *path;
    // The command that makes it; NULL where none does.
    const portcullis_command_t *command;
} change_t;

typedef struct {
    change_t *ptr;
    size_t len;
} changes_t;

// The changes that a command line makes, in order.
changes_t changes_by(const portcullis_shell_t *shell, const portcullis_facts_t *facts);

bool deletes(const change_t *change, const changes_t *all, const project_t *project);

// It moves a test to where it is none.
bool moves(const change_t *change, const changes_t *all, const project_t *project);

bool empties(const change_t *change, const changes_t *all, const project_t *project);

#endif
