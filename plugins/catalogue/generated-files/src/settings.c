#include "settings.h"

// Bounds of a list, so that what is prepared stays far below what the host keeps, and a call cheap.
enum { MOST_ITEMS = 256, LONGEST_ITEM = 255 };

static words_t LOCK_NAMES = {
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
    "Cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "pixi.lock", "conda-lock.yml", "Gemfile.lock",
    "composer.lock", "go.sum", "go.work.sum", "mix.lock", "pubspec.lock", "Podfile.lock", "Cartfile.resolved",
    "Package.resolved", "flake.lock", "packages.lock.json", "gradle.lockfile", ".terraform.lock.hcl", "MODULE.bazel.lock",
    "Chart.lock", NULL};
static words_t NAMES = {
    "*.pb.go", "*.pb.gw.go", "*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb.js", "*_pb.ts", "*_pb.d.ts", "*.pb.h", "*.pb.cc",
    "*.pbobjc.h", "*.pbobjc.m", "*.pb.dart", "*.pb.swift", "*.g.dart", "*.freezed.dart", "*.mocks.dart", "*.gen.go", "*.gen.ts",
    "*_generated.go", "zz_generated.*", "*.generated.*", "*.g.cs", "*.Designer.cs", "*.designer.cs", "*.min.js", "*.min.css",
    "*.min.mjs", "*.js.map", "*.css.map", "*.snap", "*.tsbuildinfo", "generated/", "__generated__/", NULL};
static words_t OUTPUT_FOLDERS = {"dist/", ".next/", ".nuxt/", ".svelte-kit/", ".docusaurus/", "__pycache__/", NULL};
static words_t VENDORED_NAMES = {
    "vendor/", "third_party/", "third-party/", "node_modules/", "bower_components/", "site-packages/", "dist-packages/", "Pods/",
    "Carthage/", "**/go/pkg/mod/", "**/.cargo/registry/src/", NULL};
static words_t EXCEPTIONS = {
    "testdata/", "fixtures/", "templates/", "*.tmpl", "*.tpl", "*.template", "*.in", "*.j2", "*.hbs", "*.mustache", "*.ejs",
    "*.erb", "app/**/vendor/", "resources/**/vendor/", NULL};
static words_t MAKERS = {
    "npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "deno", "cargo", "go", "protoc", "buf", "make", "gmake", "cmake",
    "ninja", "meson", "just", "task", "pip", "pip3", "pipenv", "poetry", "uv", "pdm", "pixi", "conda", "composer", "bundle",
    "bundler", "rake", "mix", "pod", "carthage", "swift", "flutter", "dart", "jest", "vitest", "gradle", "gradlew", "mvn",
    "mvnw", "dotnet", "bazel", "bazelisk", "nix", "terraform", "tofu", "helm", "tsc", "webpack", "vite", "rollup", "esbuild",
    "turbo", "nx", NULL};

// The lists, in the order in which a place is compared with them.
static const struct {
    const char *key;
    char letter;
    const char *const *usual;
    // The operator's items come on top of the usual ones.
    bool adds;
} LISTS[] = {
    {"except", EXCEPT, EXCEPTIONS, true},        {"vendored", VENDORED_FOLDERS, VENDORED_NAMES, false},
    {"outputs", OUTPUTS, OUTPUT_FOLDERS, false}, {"lock_files", LOCKS, LOCK_NAMES, false},
    {"also", GENERATED_NAMES, NULL, true},       {"generated", GENERATED_NAMES, NAMES, false},
    {"generators", GENERATORS, MAKERS, true},
};

enum { MANY_LISTS = sizeof LISTS / sizeof *LISTS };

static const char UNKNOWN[] = "unknown; this plugin knows `verdict`, `licences`, `generated`, `also`, `outputs`, `vendored`, "
                              "`lock_files`, `except` and `generators`";

// What is wrong with a list; NULL for nothing.
static const char *fault_of(const portcullis_setting_value_t *value) {
    if (value->tag != PORTCULLIS_SETTING_VALUE_TEXTS) return "should be a list of texts, for example [\"gen/\", \"*.pb.go\"]";
    if (value->val.texts.len > MOST_ITEMS) return "should have at most 256 items";
    for (size_t at = 0; at < value->val.texts.len; at++) {
        plugin_string_t item = value->val.texts.ptr[at];
        if (item.len == 0 || item.len > LONGEST_ITEM) return "each item should have 1 to 255 bytes";
        if (holds(item, "\n")) return "an item should be on one line";
        if (begins(item, "!")) return "no item should begin with `!`: exceptions belong to `except`";
        if (is(&item, "/") || begins(item, "~") || begins(item, "./")) {
            return "an item should be a name or a path from the project's folder, for example `src/gen/`";
        }
    }
    return NULL;
}

static const portcullis_setting_t *setting_of(const exports_assessor_list_setting_t *given, const char *key) {
    for (size_t at = 0; at < given->len; at++) {
        if (is(&given->ptr[at].key, key)) return &given->ptr[at];
    }
    return NULL;
}

static bool is_list(plugin_string_t key) {
    for (size_t at = 0; at < MANY_LISTS; at++) {
        if (is(&key, LISTS[at].key)) return true;
    }
    return false;
}

static const char *check_setting(const portcullis_setting_t *setting) {
    const portcullis_setting_value_t *value = &setting->value;
    if (is_list(setting->key)) return fault_of(value);
    if (is(&setting->key, "verdict")) {
        bool known = value->tag == PORTCULLIS_SETTING_VALUE_TEXT && is_one_of(value->val.text, (words_t){"warn", "ask", NULL});
        return known ? NULL : "should be `warn` or `ask`";
    }
    if (is(&setting->key, "licences")) return value->tag == PORTCULLIS_SETTING_VALUE_FLAG ? NULL : "should be `true` or `false`";
    return UNKNOWN;
}

// An item is four bytes and its text: the letter of its list, what its pattern is, how long the text is, and a zero.
enum { HEAD = 4, ANCHORED = 1, FOLDERS = 2, WILD = 4, START = sizeof(uint32_t) };

static void append_item(plugin_string_t *to, char letter, plugin_string_t written) {
    pattern_t item = read_pattern(written);
    uint8_t kind = (item.anchored ? ANCHORED : 0) | (item.folders ? FOLDERS : 0) | (item.wild ? WILD : 0);
    uint8_t head[HEAD] = {(uint8_t)letter, kind, (uint8_t)item.text.len, 0};
    append_text(to, &(plugin_string_t){head, HEAD});
    append_text(to, &item.text);
}

bool next_item(plugin_string_t *items, char *list, pattern_t *item) {
    if (items->len < HEAD || items->len < (size_t)HEAD + items->ptr[2]) return false;
    uint8_t kind = items->ptr[1];
    *list = (char)items->ptr[0];
    *item = (pattern_t){{items->ptr + HEAD, items->ptr[2]}, kind & ANCHORED, kind & FOLDERS, kind & WILD};
    *items = from(*items, (size_t)HEAD + items->ptr[2]);
    return true;
}

static void append_list(plugin_string_t *to, size_t list, const portcullis_setting_t *setting) {
    if (LISTS[list].usual && (!setting || LISTS[list].adds)) {
        for (size_t at = 0; LISTS[list].usual[at]; at++) append_item(to, LISTS[list].letter, constant(LISTS[list].usual[at]));
    }
    if (!setting) return;
    const plugin_list_string_t *items = &setting->value.val.texts;
    for (size_t at = 0; at < items->len; at++) append_item(to, LISTS[list].letter, items->ptr[at]);
}

bool prepare_settings(const exports_assessor_list_setting_t *given, plugin_list_u8_t *prepared, portcullis_error_t *error) {
    for (size_t at = 0; at < given->len; at++) {
        const char *fault = check_setting(&given->ptr[at]);
        if (fault) return refused(error, &given->ptr[at].key, fault);
    }
    const portcullis_setting_t *verdict = setting_of(given, "verdict"), *licences = setting_of(given, "licences");
    plugin_string_t bytes = {NULL, 0};
    append(&bytes, verdict && is(&verdict->value.val.text, "ask") ? "1a" : "1w");
    append(&bytes, licences && !licences->value.val.flag ? "-\n" : "+\n");
    // Where the last list begins, which has no patterns.
    size_t start = bytes.len;
    append_text(&bytes, &(plugin_string_t){(uint8_t[]){0, 0, 0, 0}, START});
    for (size_t list = 0; list < MANY_LISTS; list++) {
        uint32_t items = (uint32_t)(bytes.len - start - START);
        if (LISTS[list].letter == GENERATORS) memcpy(bytes.ptr + start, &items, START);
        append_list(&bytes, list, setting_of(given, LISTS[list].key));
    }
    *prepared = (plugin_list_u8_t){bytes.ptr, bytes.len};
    return true;
}

bool read_settings(const plugin_list_u8_t *prepared, settings_t *settings) {
    plugin_string_t bytes = {prepared->ptr, prepared->len};
    uint32_t items;
    if (bytes.len < 4 + START || bytes.ptr[0] != '1' || bytes.ptr[3] != '\n') return false;
    memcpy(&items, bytes.ptr + 4, START);
    plugin_string_t lists = from(bytes, 4 + START);
    if (items > lists.len) return false;
    *settings = (settings_t){bytes.ptr[1] == 'a', bytes.ptr[2] == '+', before(lists, items), from(lists, items)};
    return true;
}

bool is_generator(const settings_t *settings, plugin_string_t program) {
    plugin_string_t rest = settings->generators;
    while (rest.len >= HEAD && rest.len >= (size_t)HEAD + rest.ptr[2]) {
        size_t length = rest.ptr[2];
        if (length == program.len && memcmp(rest.ptr + HEAD, program.ptr, length) == 0) return true;
        rest = from(rest, HEAD + length);
    }
    return false;
}
