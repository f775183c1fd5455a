// What a path is: generated, a build's output, somebody else's code, a lock file, or nothing of the kind.
#ifndef FILES_H
#define FILES_H

#include "settings.h"

// A path of the kind.
typedef struct {
    class_t class;
    // It is the outermost folder of its kind, `node_modules` itself.
    bool whole;
    // It is a hidden file or folder right below that one, `node_modules/.cache`: a tool's own.
    bool hidden;
    // The path as people write it: from the project's folder.
    plugin_string_t shown;
} file_t;

// Finds out what a path is. `recursive`: it stands for all that lies in it.
file_t file_of(const portcullis_path_t *path, bool recursive, const plugin_list_string_t *roots, const settings_t *settings);

// The path is named by an exception.
bool is_excepted(plugin_string_t path, const plugin_list_string_t *roots, const settings_t *settings);

#endif
