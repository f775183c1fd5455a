#include "tests_of.h"
#include "texts.h"

static words_t NEVER = {"node_modules", "target", "build", "dist", "vendor", "venv", ".venv", ".tox", ".git",
                        ".pytest_cache", "__pycache__", "__snapshots__", "fixtures", "testdata", NULL};
static words_t ENDINGS = {"py", "rs", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "rb", "php",
                          "c", "cc", "cpp", "h", "cs", "swift", "scala", "ex", "exs", "sh", "lua", "dart", NULL};
static words_t STEM_ENDS = {"_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests", NULL};

bool place_of(const project_t *project, plugin_string_t path, plugin_string_t *place) {
    for (size_t at = 0; at < project->roots->len; at++) {
        plugin_string_t root = project->roots->ptr[at];
        if (path.len <= root.len + 1 || memcmp(path.ptr, root.ptr, root.len) != 0 || path.ptr[root.len] != '/') continue;
        *place = from(path, root.len + 1);
        return true;
    }
    return false;
}

// The folders that hold tests have that name among theirs.
static bool is_folder(const project_t *project, plugin_string_t name) {
    parts_t folders = parts(project->folders);
    // What follows the last line feed is not a folder.
    for (plugin_string_t folder; next(&folders, '\n', &folder) && !folders.ended;) {
        if (folder.len == name.len && memcmp(folder.ptr, name.ptr, name.len) == 0) return true;
    }
    return false;
}

// Where the last dot of a name stands; false where there is none.
static bool last_dot(plugin_string_t name, size_t *at) {
    for (*at = name.len; *at > 0;) {
        if (name.ptr[--*at] == '.') return true;
    }
    return false;
}

// It is in a folder of tests, and is a source.
static bool is_source_among_tests(const project_t *project, plugin_string_t place) {
    size_t dot;
    plugin_string_t name = name_of(place);
    if (!last_dot(name, &dot) || !is_one_of(from(name, dot + 1), ENDINGS)) return false;
    parts_t folders = parts(place);
    for (plugin_string_t folder; next(&folders, '/', &folder) && !folders.ended;) {
        if (is_folder(project, folder)) return true;
    }
    return false;
}

bool test_of(const project_t *project, plugin_string_t path, plugin_string_t *place) {
    if (!place_of(project, path, place) || is_never_one(*place)) return false;
    plugin_string_t name = name_of(*place);
    return is_named_as_test(name) || is_folder(project, name) || is_source_among_tests(project, *place);
}

bool is_never_one(plugin_string_t path) {
    parts_t all = parts(path);
    for (plugin_string_t part; next(&all, '/', &part);) {
        if (is_one_of(part, NEVER)) return true;
    }
    return false;
}

bool is_named_as_test(plugin_string_t name) {
    size_t dot;
    if (!last_dot(name, &dot)) return false;
    plugin_string_t stem = before(name, dot);
    for (size_t at = 0; STEM_ENDS[at]; at++) {
        if (ends(stem, STEM_ENDS[at])) return true;
    }
    return begins(stem, "test_") || (begins(stem, "Test") && stem.len > 4 && is_capital(stem.ptr[4]));
}

plugin_string_t name_of(plugin_string_t path) {
    plugin_string_t name = path;
    for (parts_t all = parts(path); next(&all, '/', &name);) {}
    return name;
}
