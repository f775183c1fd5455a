#include "files.h"

// What follows a root and a `/`; false where the path lies in none of them.
static bool place_in(plugin_string_t path, const plugin_list_string_t *roots, plugin_string_t *place) {
    for (size_t at = 0; at < roots->len; at++) {
        plugin_string_t root = roots->ptr[at];
        bool inside = path.len > root.len + 1 && equals(before(path, root.len), root) && path.ptr[root.len] == '/';
        if (inside) *place = from(path, root.len + 1);
        if (inside) return true;
    }
    return false;
}

static class_t class_of(char letter) {
    switch (letter) {
    case LOCKS: return LOCK;
    case GENERATED_NAMES: return GENERATED;
    case OUTPUTS: return OUTPUT;
    case VENDORED_FOLDERS: return VENDORED;
    default: return NOTHING;
    }
}

// The first list that names the place. `NOTHING` is an exception's, and of a place that nothing names.
static file_t compare(const place_t *place, const settings_t *settings, bool vendored_alone) {
    file_t file = {NOTHING, false, false, place->text};
    plugin_string_t items = settings->items;
    char list;
    for (pattern_t item; next_item(&items, &list, &item);) {
        if (vendored_alone && list != VENDORED_FOLDERS && list != EXCEPT) continue;
        size_t end = match_place(&item, place);
        if (end == 0) continue;
        file.class = class_of(list);
        file.whole = end == place->text.len;
        file.hidden = end + 1 < place->text.len && place->text.ptr[end + 1] == '.';
        return file;
    }
    return file;
}

// Package managers' caches are scratch to the host too, and still not to be edited.
static bool is_temporary(plugin_string_t path) {
    return begins(path, "/tmp/") || begins(path, "/var/tmp/") || begins(path, "/var/folders/") || begins(path, "/private/");
}

file_t file_of(const portcullis_path_t *path, bool recursive, const plugin_list_string_t *roots, const settings_t *settings) {
    bool folder = recursive || path->entry == PORTCULLIS_ENTRY_FOLDER;
    plugin_string_t inside;
    if (place_in(path->text, roots, &inside)) {
        place_t place = read_place(inside, folder);
        return compare(&place, settings, false);
    }
    if (is_temporary(path->text)) return (file_t){NOTHING, false, false, path->text};
    // Outside the project, the packages of this machine are somebody else's code all the same.
    place_t place = read_place(begins(path->text, "/") ? from(path->text, 1) : path->text, folder);
    file_t file = compare(&place, settings, roots->len > 0);
    file.shown = path->text;
    return file;
}

bool is_excepted(plugin_string_t path, const plugin_list_string_t *roots, const settings_t *settings) {
    plugin_string_t inside;
    if (!place_in(path, roots, &inside)) inside = begins(path, "/") ? from(path, 1) : path;
    place_t place = read_place(inside, false);
    plugin_string_t items = settings->items;
    char list;
    for (pattern_t item; next_item(&items, &list, &item);) {
        if (list == EXCEPT && match_place(&item, &place) > 0) return true;
    }
    return false;
}
