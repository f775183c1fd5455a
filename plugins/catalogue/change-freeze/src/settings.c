#include "settings.h"

// Bounds, so that what is prepared stays small, and a call cheap.
enum { MOST_ITEMS = 64, LONGEST_ITEM = 200, LONGEST_NOTE = 200, EAST_MOST = 840, WEST_MOST = -720 };

static const char *const KIND_NAMES[MANY_KINDS] = {"deploy", "push", "publish", "remote", "database", "system", "anything"};

static const char UNKNOWN[] =
    "unknown; this plugin knows `windows`, `freezes`, `utc_offset`, `summer_time`, `frozen`, `verdict`, `note`, `except_folders` and `except_paths`";
static const char NO_WINDOW[] =
    "should hold windows such as `Fri 16:00-Mon 08:00`, `22:00-06:00`, `Sat..Sun` or `Mon..Fri 18:00-20:00`";
static const char NO_FREEZE[] =
    "should hold dates that exist, the earlier one first, such as `2026-12-20..2027-01-04`, `2026-12-24` or "
    "`2026-12-23 18:00..2027-01-04 08:00`";
static const char NO_KINDS[] =
    "should be a list of `deploy`, `push`, `publish`, `remote`, `database`, `system` or `anything`, and not empty";
static const char NO_ITEMS[] = "should be a list of at most 64 texts, each of 1 to 200 bytes on one line";
static const char NO_FOLDERS[] = "should hold absolute folders, or folders from the project's folder, without `..` or `~`";

static kinds_t kind_of(plugin_string_t name) {
    for (size_t at = 0; at < MANY_KINDS; at++) {
        if (is(&name, KIND_NAMES[at])) return (kinds_t)(1 << at);
    }
    return 0;
}

static bool are_items(const portcullis_setting_value_t *value) {
    if (value->tag != PORTCULLIS_SETTING_VALUE_TEXTS || value->val.texts.len > MOST_ITEMS) return false;
    for (size_t at = 0; at < value->val.texts.len; at++) {
        plugin_string_t item = value->val.texts.ptr[at];
        if (item.len == 0 || item.len > LONGEST_ITEM || holds(item, "\n")) return false;
    }
    return true;
}

static bool is_window(plugin_string_t item) {
    window_t windows[MOST_OF_ONE_ITEM];
    return read_weekly(item, windows) > 0;
}

static bool is_freeze(plugin_string_t item) {
    window_t window;
    return read_dated(item, &window);
}

static bool is_kind(plugin_string_t item) {
    return kind_of(item) != 0;
}

static bool is_folder_name(plugin_string_t item) {
    return !holds(item, "..") && !begins(item, "~") && !begins(item, "./") && !is(&item, "/");
}

static bool is_pattern(plugin_string_t item) {
    return !begins(item, "!") && is_folder_name(item);
}

// The lists, and what is wrong with an item that is no item of them.
static const struct {
    const char *key;
    bool (*is_item)(plugin_string_t item);
    const char *fault;
} LISTS[] = {
    {"windows", is_window, NO_WINDOW},
    {"freezes", is_freeze, NO_FREEZE},
    {"frozen", is_kind, NO_KINDS},
    {"except_folders", is_folder_name, NO_FOLDERS},
    {"except_paths", is_pattern, NO_FOLDERS},
};

static const char *check_list(const portcullis_setting_t *setting, size_t list) {
    if (!are_items(&setting->value)) return NO_ITEMS;
    const plugin_list_string_t *items = &setting->value.val.texts;
    for (size_t at = 0; at < items->len; at++) {
        if (!LISTS[list].is_item(items->ptr[at])) return LISTS[list].fault;
    }
    return items->len == 0 && LISTS[list].is_item == is_kind ? NO_KINDS : NULL;
}

static const char *check_setting(const portcullis_setting_t *setting) {
    const portcullis_setting_value_t *value = &setting->value;
    for (size_t at = 0; at < sizeof LISTS / sizeof *LISTS; at++) {
        if (is(&setting->key, LISTS[at].key)) return check_list(setting, at);
    }
    if (is(&setting->key, "utc_offset")) {
        bool known =
            value->tag == PORTCULLIS_SETTING_VALUE_INTEGER && value->val.integer >= WEST_MOST && value->val.integer <= EAST_MOST;
        return known ? NULL : "should be minutes from -720 to 840, for example 60 for UTC+01:00";
    }
    if (is(&setting->key, "summer_time")) {
        summer_t summer;
        bool known = value->tag == PORTCULLIS_SETTING_VALUE_TEXT && (value->val.text.len == 0 || read_summer(value->val.text, &summer));
        return known ? NULL : "should be the days on which summer time begins and ends, such as `M3.5.0,M10.5.0/3`";
    }
    if (is(&setting->key, "verdict")) {
        bool known = value->tag == PORTCULLIS_SETTING_VALUE_TEXT && is_one_of(value->val.text, (words_t){"ask", "block", NULL});
        return known ? NULL : "should be `ask` or `block`";
    }
    if (is(&setting->key, "note")) {
        bool known =
            value->tag == PORTCULLIS_SETTING_VALUE_TEXT && value->val.text.len <= LONGEST_NOTE && !holds(value->val.text, "\n");
        return known ? NULL : "should be a text of at most 200 bytes on one line";
    }
    return UNKNOWN;
}

static const portcullis_setting_value_t *value_of(const exports_assessor_list_setting_t *given, const char *key) {
    for (size_t at = 0; at < given->len; at++) {
        if (is(&given->ptr[at].key, key)) return &given->ptr[at].value;
    }
    return NULL;
}

static void append_bytes(plugin_string_t *to, const void *bytes, size_t length) {
    append_text(to, &(plugin_string_t){(uint8_t *)bytes, length});
}

// A text of at most `LONGEST_ITEM` bytes, after its length.
static void append_short(plugin_string_t *to, plugin_string_t text) {
    append_bytes(to, &(uint8_t){(uint8_t)text.len}, 1);
    append_text(to, &text);
}

static bool take_bytes(plugin_string_t *from_text, void *to, size_t length) {
    if (from_text->len < length) return false;
    memcpy(to, from_text->ptr, length);
    *from_text = from(*from_text, length);
    return true;
}

static bool take_short(plugin_string_t *from_text, plugin_string_t *text) {
    uint8_t length;
    if (!take_bytes(from_text, &length, 1) || from_text->len < length) return false;
    *text = before(*from_text, length);
    *from_text = from(*from_text, length);
    return true;
}

static void append_exceptions(plugin_string_t *to, const exports_assessor_list_setting_t *given, const char *key, uint8_t letter) {
    const portcullis_setting_value_t *value = value_of(given, key);
    for (size_t at = 0; value && at < value->val.texts.len; at++) {
        append_bytes(to, &letter, 1);
        append_short(to, value->val.texts.ptr[at]);
    }
}

static void append_window(plugin_string_t *to, plugin_string_t label, const window_t *window) {
    append_short(to, label);
    append_bytes(to, window, sizeof *window);
}

static plugin_string_t windows_of(const exports_assessor_list_setting_t *given) {
    plugin_string_t bytes = {NULL, 0};
    const portcullis_setting_value_t *weekly = value_of(given, "windows"), *dated = value_of(given, "freezes");
    for (size_t at = 0; weekly && at < weekly->val.texts.len; at++) {
        window_t windows[MOST_OF_ONE_ITEM];
        size_t many = read_weekly(weekly->val.texts.ptr[at], windows);
        for (size_t one = 0; one < many; one++) append_window(&bytes, weekly->val.texts.ptr[at], &windows[one]);
    }
    for (size_t at = 0; dated && at < dated->val.texts.len; at++) {
        window_t window;
        if (read_dated(dated->val.texts.ptr[at], &window)) append_window(&bytes, dated->val.texts.ptr[at], &window);
    }
    return bytes;
}

static kinds_t frozen_kinds(const portcullis_setting_value_t *value) {
    if (!value) return DEPLOY | PUSH | PUBLISH | DATABASE;
    kinds_t kinds = 0;
    for (size_t at = 0; at < value->val.texts.len; at++) kinds |= kind_of(value->val.texts.ptr[at]);
    // Whatever it is called, it is among anything.
    return kinds & ANYTHING ? (1 << MANY_KINDS) - 1 : kinds;
}

// What is prepared, before its lists.
typedef struct {
    uint8_t version;
    uint8_t blocks;
    kinds_t frozen;
    uint8_t unused;
    int32_t offset;
    summer_t summer;
    uint32_t exceptions;
} head_t;

enum { VERSION = 2 };

bool prepare_settings(const exports_assessor_list_setting_t *given, plugin_list_u8_t *prepared, portcullis_error_t *error) {
    for (size_t at = 0; at < given->len; at++) {
        const char *fault = check_setting(&given->ptr[at]);
        if (fault) return refused(error, &given->ptr[at].key, fault);
    }
    plugin_string_t windows = windows_of(given), bytes = {NULL, 0}, exceptions = {NULL, 0};
    *prepared = (plugin_list_u8_t){NULL, 0};
    if (windows.len == 0) return true;
    append_exceptions(&exceptions, given, "except_folders", 'F');
    append_exceptions(&exceptions, given, "except_paths", 'P');
    const portcullis_setting_value_t *verdict = value_of(given, "verdict"), *note = value_of(given, "note"),
                                     *offset = value_of(given, "utc_offset"), *rule = value_of(given, "summer_time");
    summer_t summer = {.is_known = false};
    if (rule && rule->val.text.len > 0) read_summer(rule->val.text, &summer);
    head_t head = {
        .version = VERSION,
        .blocks = verdict && is(&verdict->val.text, "block"),
        .frozen = frozen_kinds(value_of(given, "frozen")),
        .offset = offset ? (int32_t)offset->val.integer : 0,
        .summer = summer,
        .exceptions = (uint32_t)exceptions.len,
    };
    append_bytes(&bytes, &head, sizeof head);
    append_short(&bytes, note ? note->val.text : (plugin_string_t){NULL, 0});
    append_text(&bytes, &exceptions);
    append_text(&bytes, &windows);
    *prepared = (plugin_list_u8_t){bytes.ptr, bytes.len};
    return true;
}

bool read_settings(const plugin_list_u8_t *prepared, settings_t *settings) {
    plugin_string_t rest = {prepared->ptr, prepared->len};
    head_t head;
    if (!take_bytes(&rest, &head, sizeof head) || head.version != VERSION || !take_short(&rest, &settings->note)) return false;
    if (rest.len < head.exceptions) return false;
    settings->blocks = head.blocks;
    settings->frozen = head.frozen;
    settings->offset = head.offset;
    settings->summer = head.summer;
    settings->exceptions = before(rest, head.exceptions);
    settings->windows = from(rest, head.exceptions);
    return true;
}

bool find_freeze(const settings_t *settings, uint64_t now, freeze_t *freeze) {
    int32_t offset = offset_at(now, settings->offset, &settings->summer);
    int64_t minutes = local_minutes(now, offset), end;
    plugin_string_t rest = settings->windows, label;
    bool found = false;
    for (window_t window; take_short(&rest, &label) && take_bytes(&rest, &window, sizeof window);) {
        if (!is_in_window(&window, minutes, &end) || (found && end <= freeze->end)) continue;
        *freeze = (freeze_t){label, end, offset};
        found = true;
    }
    return found;
}

// What follows a root and a `/`; the whole path where it lies in none of them.
static plugin_string_t place_of(plugin_string_t path, const plugin_list_string_t *roots) {
    for (size_t at = 0; at < roots->len; at++) {
        plugin_string_t root = roots->ptr[at];
        bool inside = path.len > root.len + 1 && equals(before(path, root.len), root) && path.ptr[root.len] == '/';
        if (inside) return from(path, root.len + 1);
    }
    return path;
}

static bool lies_in(plugin_string_t path, plugin_string_t folder) {
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/') folder.len--;
    if (path.len < folder.len || !equals(before(path, folder.len), folder)) return false;
    return path.len == folder.len || path.ptr[folder.len] == '/';
}

bool is_free_folder(const settings_t *settings, plugin_string_t folder, const plugin_list_string_t *roots) {
    plugin_string_t rest = settings->exceptions, item;
    for (uint8_t letter; take_bytes(&rest, &letter, 1) && take_short(&rest, &item);) {
        if (letter == 'F' && lies_in(begins(item, "/") ? folder : place_of(folder, roots), item)) return true;
    }
    return false;
}

bool is_free_path(const settings_t *settings, plugin_string_t path, bool folder, const plugin_list_string_t *roots) {
    place_t place = read_place(place_of(path, roots), folder);
    plugin_string_t rest = settings->exceptions, item;
    for (uint8_t letter; take_bytes(&rest, &letter, 1) && take_short(&rest, &item);) {
        pattern_t pattern = read_pattern(item);
        if (letter == 'P' && match_place(&pattern, &place) > 0) return true;
    }
    return false;
}
