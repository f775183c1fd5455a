// The texts that an action puts in place of others.
#ifndef EDITS_H
#define EDITS_H

#include "writers.h"

// A change of a text, as far as the action shows it.
typedef struct {
    plugin_string_t path;
    // What was there; `known` where the action tells.
    bool known;
    plugin_string_t old;
    plugin_string_t new;
    // Both texts are the same patch, with signs before its lines.
    bool patch;
} edit_t;

// The change that a file tool, an MCP tool or a patch makes; false for none.
bool read_edit(const scene_t *scene, const portcullis_context_t *context, edit_t *edit);

// Takes the next path off a patch, as it stands there.
bool next_patched(plugin_string_t *rest, plugin_string_t *path);

// The patch that a command applies, where it stands on the command line.
bool patch_of(const portcullis_command_t *command, plugin_string_t *patch);

// A path of a command line as an absolute one.
plugin_string_t absolute(plugin_string_t path, const portcullis_context_t *context);

// The text that a command writes from a heredoc.
bool heredoc_of(const portcullis_command_t *command, plugin_string_t *text);

#endif
