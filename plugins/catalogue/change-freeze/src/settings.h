// The settings: checked and put together once by `prepare`, and read back by each call.
#ifndef SETTINGS_H
#define SETTINGS_H

#include "globs.h"
#include "windows.h"

// What can be frozen, as bits.
enum { DEPLOY = 1, PUSH = 2, PUBLISH = 4, REMOTE = 8, DATABASE = 16, SYSTEM = 32, ANYTHING = 64, MANY_KINDS = 7 };
typedef uint8_t kinds_t;

// A window that holds now.
typedef struct {
    // As the operator wrote it.
    plugin_string_t label;
    // The local minute at which it ends.
    int64_t end;
    int32_t offset;
} freeze_t;

typedef struct {
    bool blocks;
    kinds_t frozen;
    // What the operator adds to each objection; may be empty.
    plugin_string_t note;
    // The rest of what was prepared: exceptions, then windows.
    plugin_string_t exceptions;
    plugin_string_t windows;
    int32_t offset;
    summer_t summer;
} settings_t;

// Checks the operator's settings. Without a window it prepares nothing at all.
bool prepare_settings(const exports_assessor_list_setting_t *given, plugin_list_u8_t *prepared, portcullis_error_t *error);

// Reads what `prepare_settings` wrote; false where it is something else.
bool read_settings(const plugin_list_u8_t *prepared, settings_t *settings);

// The window that holds a time, and ends last.
bool find_freeze(const settings_t *settings, uint64_t now, freeze_t *freeze);

// Whether the folder in which an action runs is an exception.
bool is_free_folder(const settings_t *settings, plugin_string_t folder, const plugin_list_string_t *roots);

// Whether a path is.
bool is_free_path(const settings_t *settings, plugin_string_t path, bool folder, const plugin_list_string_t *roots);

#endif
