// What a test is.
#ifndef TESTS_OF_H
#define TESTS_OF_H

#include "portcullis.h"

// Where tests lie.
typedef struct {
    const plugin_list_string_t *roots;
    // What is prepared: names of folders that hold tests, each followed by a line feed.
    plugin_string_t folders;
} project_t;

// Where a path is in the project; false outside of it.
bool place_of(const project_t *project, plugin_string_t path, plugin_string_t *place);

// The place of a path that is a test.
bool test_of(const project_t *project, plugin_string_t path, plugin_string_t *place);

// One of its parts holds no tests, whatever is there.
bool is_never_one(plugin_string_t path);

// The name is that of a test.
bool is_named_as_test(plugin_string_t name);

// The last part of a path.
plugin_string_t name_of(plugin_string_t path);

#endif
