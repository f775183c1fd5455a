// The settings: checked and put together once by `prepare`, and read back by each call.
#ifndef SETTINGS_H
#define SETTINGS_H

#include "globs.h"

// What a file is.
typedef enum {
    NOTHING,
    // Written by a program from another file.
    GENERATED,
    // A build's output.
    OUTPUT,
    // Somebody else's code.
    VENDORED,
    // The versions that a package manager chose.
    LOCK,
} class_t;

typedef struct {
    bool asks;
    bool guards_licences;
    // The lists of patterns, item after item, and that of generators.
    plugin_string_t items;
    plugin_string_t generators;
} settings_t;

// Checks the operator's settings and fills in the defaults.
bool prepare_settings(const exports_assessor_list_setting_t *given, plugin_list_u8_t *prepared, portcullis_error_t *error);

// Reads what `prepare_settings` wrote; false where it is something else.
bool read_settings(const plugin_list_u8_t *prepared, settings_t *settings);

// Takes the next item off the lists, with the letter of its list.
bool next_item(plugin_string_t *items, char *list, pattern_t *item);

// The program may write these files.
bool is_generator(const settings_t *settings, plugin_string_t program);

// The letters of the lists, in the order in which a place is compared with them.
enum { EXCEPT = 'X', LOCKS = 'L', GENERATED_NAMES = 'G', OUTPUTS = 'O', VENDORED_FOLDERS = 'V', GENERATORS = 'P' };

#endif
