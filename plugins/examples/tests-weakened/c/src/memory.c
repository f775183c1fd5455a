#include "memory.h"
#include "texts.h"

// How much is kept of what it showed.
enum { MOST_SHOWN = 2048 };

bool recall(const plugin_list_u8_t *state, memory_t *failed) {
    plugin_string_t text = {state->ptr, state->len};
    if (!begins(text, "1 ")) return false;
    plugin_string_t rest = from(text, 2);
    size_t end = find(rest, "\n");
    if (end == 0 || end == rest.len) return false;
    failed->step = 0;
    for (size_t at = 0; at < end; at++) {
        if (rest.ptr[at] < '0' || rest.ptr[at] > '9') return false;
        failed->step = failed->step * 10 + (rest.ptr[at] - '0');
    }
    failed->shown = from(rest, end + 1);
    return true;
}

plugin_list_u8_t remember(uint64_t step, plugin_string_t error, plugin_string_t output) {
    plugin_string_t shown = before(JOINED(error, text("\n"), output), MOST_SHOWN);
    plugin_string_t state = JOINED(text("1 "), decimal(step), text("\n"), shown);
    return (plugin_list_u8_t){state.ptr, state.len};
}
