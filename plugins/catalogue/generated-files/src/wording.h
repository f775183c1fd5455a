// What is said about a change: why it is no good, and what to do instead.
#ifndef WORDING_H
#define WORDING_H

#include "writers.h"

// An objection, without its verdict.
typedef struct {
    const char *rule;
    plugin_string_t reason;
    plugin_string_t instead;
} objection_t;

enum { MANY_RULES = 6 };

// A file that a program or somebody else writes is changed by hand.
objection_t word_change(file_t file, change_t change);

// A file loses the line that says that it is generated.
objection_t word_mark(plugin_string_t path);

// A file loses its licence, or the name of its owner.
objection_t word_licence(plugin_string_t path, bool licence);

// A path from the project's folder.
plugin_string_t shorten(plugin_string_t path, const plugin_list_string_t *roots);

// At most as much of a path as an answer may hold, whole characters alone.
plugin_string_t bounded(plugin_string_t path);

#endif
