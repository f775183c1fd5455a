// The newest test run that failed: the plugin's own state.
#ifndef MEMORY_H
#define MEMORY_H

#include "portcullis.h"

// A test run that failed.
typedef struct {
    uint64_t step;
    // What it showed.
    plugin_string_t shown;
} memory_t;

// What the state tells of it; false where there was none.
bool recall(const plugin_list_u8_t *state, memory_t *failed);

// The state that tells of it.
plugin_list_u8_t remember(uint64_t step, plugin_string_t error, plugin_string_t output);

#endif
