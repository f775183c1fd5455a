#include "wording.h"

// A reason is shown up to 400 bytes, and the sentence matters more than a long path.
enum { LONGEST_SHOWN = 120, LONGEST_VALUE = 1024 };

// How the versions of a lock file are changed.
static const struct {
    const char *name;
    const char *command;
} MANAGERS[] = {
    {"package-lock.json", "npm install NAME@VERSION"},
    {"npm-shrinkwrap.json", "npm install NAME@VERSION"},
    {"yarn.lock", "yarn up NAME"},
    {"pnpm-lock.yaml", "pnpm update NAME"},
    {"bun.lock", "bun update NAME"},
    {"bun.lockb", "bun update NAME"},
    {"deno.lock", "deno install"},
    {"Cargo.lock", "cargo update -p NAME"},
    {"poetry.lock", "poetry update NAME"},
    {"uv.lock", "uv lock --upgrade-package NAME"},
    {"pdm.lock", "pdm update NAME"},
    {"Pipfile.lock", "pipenv update NAME"},
    {"Gemfile.lock", "bundle update NAME"},
    {"composer.lock", "composer update NAME"},
    {"go.sum", "go get NAME@VERSION, then go mod tidy"},
    {"mix.lock", "mix deps.update NAME"},
    {"pubspec.lock", "dart pub upgrade NAME"},
    {"Podfile.lock", "pod update NAME"},
    {"flake.lock", "nix flake update NAME"},
    {".terraform.lock.hcl", "terraform init -upgrade"},
};

static plugin_string_t cut(plugin_string_t text, size_t most) {
    if (text.len <= most) return text;
    while (most > 0 && (text.ptr[most] & 0xC0) == 0x80) most--;
    return before(text, most);
}

plugin_string_t bounded(plugin_string_t path) {
    return cut(path, LONGEST_VALUE);
}

static plugin_string_t quoted(plugin_string_t path) {
    // The end of a path says more than its beginning.
    plugin_string_t shown = path;
    while (shown.len > LONGEST_SHOWN) {
        size_t slash = find(shown, "/");
        shown = slash == shown.len ? cut(shown, LONGEST_SHOWN) : from(shown, slash + 1);
    }
    return JOINED(constant("`"), shown, constant("`"));
}

plugin_string_t shorten(plugin_string_t path, const plugin_list_string_t *roots) {
    for (size_t at = 0; at < roots->len; at++) {
        plugin_string_t root = roots->ptr[at];
        bool inside = path.len > root.len + 1 && equals(before(path, root.len), root) && path.ptr[root.len] == '/';
        if (inside) return from(path, root.len + 1);
    }
    return path;
}

static plugin_string_t with_path(plugin_string_t path, const char *words) {
    return JOINED(quoted(path), constant(words));
}

static objection_t word_generated(plugin_string_t path, bool gone) {
    if (ends(path, ".snap")) {
        return (objection_t){"edit_generated_file",
                             with_path(path, " is a snapshot that the tests write: changed by hand, it proves nothing"),
                             text("run the tests with their update option, and look at what changes")};
    }
    const char *reason = gone ? " is written by a generator: take away what it is generated from, or the next run makes it again"
                              : " is written by a generator, and its next run overwrites what is changed by hand";
    return (objection_t){"edit_generated_file", with_path(path, reason),
                         text("change what it is generated from, and run the generator")};
}

static objection_t word_vendored(plugin_string_t path, bool gone) {
    if (gone) {
        return (objection_t){
            "edit_vendored_file",
            with_path(path, " is somebody else's code: taken out by hand, it comes back, or its package manager fails"),
            text("remove the dependency with its package manager")};
    }
    return (objection_t){"edit_vendored_file",
                         with_path(path, " is somebody else's code, and its next update drops what is changed here"),
                         text("change it where it comes from, or keep a patch that is applied after each update")};
}

static objection_t word_lock(plugin_string_t path, bool gone) {
    const char *command = NULL;
    plugin_string_t name = name_of(path);
    for (size_t at = 0; at < sizeof MANAGERS / sizeof *MANAGERS; at++) {
        if (is(&name, MANAGERS[at].name)) command = MANAGERS[at].command;
    }
    plugin_string_t instead = command ? JOINED(constant("let the package manager change it: `"), constant(command), constant("`"))
                                      : text("let the package manager change it");
    const char *reason = gone ? " holds the versions that were tested: without it every dependency moves to its newest version at once"
                              : " is the package manager's: changed by hand, it no longer agrees with what is installed";
    return (objection_t){"edit_lock_file", with_path(path, reason), instead};
}

objection_t word_change(file_t file, change_t change) {
    bool gone = change == DELETED || change == MOVED;
    switch (file.class) {
    case VENDORED: return word_vendored(file.shown, gone);
    case LOCK: return word_lock(file.shown, gone);
    case OUTPUT:
        return (objection_t){"edit_build_output",
                             with_path(file.shown, " is the output of a build, and the next build overwrites what is changed here"),
                             text("change the source, and build again")};
    default: return word_generated(file.shown, gone);
    }
}

objection_t word_mark(plugin_string_t path) {
    return (objection_t){
        "remove_generated_mark",
        with_path(path, " loses the line that says that a program wrote it, and people will edit it until it is overwritten"),
        text("keep the line, and change what the file is generated from")};
}

objection_t word_licence(plugin_string_t path, bool licence) {
    const char *reason = licence ? " loses the header that says under which licence it may be used"
                                 : " loses the header that says who holds its copyright";
    return (objection_t){"remove_licence_header", with_path(path, reason),
                         text("keep the header as it is; add a line of your own below it")};
}
