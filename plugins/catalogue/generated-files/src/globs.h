// Patterns for paths, as `.gitignore` has them: `*`, `?`, `**`; with a `/` inside from the project's folder, else for
// any name on the path; with a `/` at the end for folders alone. What lies in a folder that fits, fits too.
#ifndef GLOBS_H
#define GLOBS_H

#include "texts.h"

// A pattern, taken apart once: a call compares a path with some hundred of them.
typedef struct {
    plugin_string_t text;
    // It begins at the project's folder.
    bool anchored;
    bool folders;
    // It holds a `*` or `?`.
    bool wild;
} pattern_t;
pattern_t read_pattern(plugin_string_t written);

enum { MOST_PARTS = 32 };

// A path to compare: from the project's folder, without a `/` at the beginning.
typedef struct {
    plugin_string_t text;
    // The path itself is a folder, and not only those that it lies in.
    bool folder;
    // Where its names end; those past the first `MOST_PARTS` are one.
    size_t parts;
    size_t ends[MOST_PARTS];
    // The first and last byte of each name: most patterns fit none of them.
    uint8_t firsts[MOST_PARTS];
    uint8_t lasts[MOST_PARTS];
} place_t;
place_t read_place(plugin_string_t path, bool folder);

// How many bytes of the place fit the pattern: up to the end of the folder or file that it names; 0 for none.
size_t match_place(const pattern_t *pattern, const place_t *place);

#endif
