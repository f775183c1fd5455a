#include "changes.h"
#include "texts.h"

changes_t changes_by(const portcullis_shell_t *shell, const portcullis_facts_t *facts) {
    changes_t changes = {calloc(facts->effects.len, sizeof(change_t)), 0};
    for (size_t at = 0; at < facts->effects.len; at++) {
        const portcullis_effect_t *effect = &facts->effects.ptr[at];
        uint8_t kind = effect->kind.tag;
        bool of_file = kind == PORTCULLIS_EFFECT_KIND_FILE_CREATE || kind == PORTCULLIS_EFFECT_KIND_FILE_MODIFY ||
                       kind == PORTCULLIS_EFFECT_KIND_FILE_DELETE;
        if (!of_file || !effect->path.is_some || effect->path.val >= facts->paths.len) continue;
        bool by_command = effect->command.is_some && effect->command.val < shell->commands.len;
        changes.ptr[changes.len++] = (change_t){
            .kind = kind,
            .path = &facts->paths.ptr[effect->path.val],
            .command = by_command ? &shell->commands.ptr[effect->command.val] : NULL,
        };
    }
    return changes;
}

// The command's word at a position is this one.
static bool has_word(const portcullis_command_t *command, size_t at, const char *word) {
    return at < command->words.len && is(&command->words.ptr[at].text, word);
}

// `git rm`, for `rm`.
static bool is_of_git(const portcullis_command_t *command, const char *name) {
    return is(&command->program, "git") && has_word(command, 0, name);
}

bool deletes(const change_t *change, const changes_t *all, const project_t *project) {
    (void)all, (void)project;
    return change->kind == PORTCULLIS_EFFECT_KIND_FILE_DELETE || (change->command && is_of_git(change->command, "rm"));
}

static bool is_inside_git(plugin_string_t path) {
    parts_t all = parts(path);
    for (plugin_string_t part; next(&all, '/', &part);) {
        if (is(&part, ".git")) return true;
    }
    return false;
}

// Where a command moves its files; NULL where that is not known.
static const change_t *target_of(const portcullis_command_t *command, const changes_t *all) {
    bool target_first = false;
    for (size_t at = 0; at < command->words.len; at++) {
        target_first |= has_word(command, at, "-t") || begins(command->words.ptr[at].text, "--target-directory");
    }
    const change_t *target = NULL;
    for (size_t at = 0; at < all->len; at++) {
        const change_t *change = &all->ptr[at];
        if (change->command != command || is_inside_git(change->path->text)) continue;
        if (target_first) return change;
        target = change;
    }
    return target;
}

// A test that is moved there is a test still.
static bool keeps(const portcullis_path_t *source, const portcullis_path_t *target, const project_t *project) {
    plugin_string_t name = name_of(source->text), last = name_of(target->text), end = target->text, place;
    bool into = target->entry == PORTCULLIS_ENTRY_FOLDER || (!holds(last, text(".")) && holds(name, text(".")));
    if (into) end = JOINED(target->text, text("/"), name);
    if (is_named_as_test(name)) return place_of(project, end, &place) && is_named_as_test(name_of(end));
    return test_of(project, end, &place);
}

bool moves(const change_t *change, const changes_t *all, const project_t *project) {
    const portcullis_command_t *command = change->command;
    if (!command || !(is(&command->program, "mv") || is_of_git(command, "mv"))) return false;
    const change_t *target = target_of(command, all);
    return target && target != change && !keeps(change->path, target->path, project);
}

// The words are blanks alone, `\n` among them; a first `-n` is none of them.
static bool prints_blanks(const portcullis_command_t *command) {
    for (size_t at = has_word(command, 0, "-n") ? 1 : 0; at < command->words.len; at++) {
        plugin_string_t rest = command->words.ptr[at].text;
        while (rest.len > 0) {
            size_t blank = begins(rest, "\\n") ? 2 : is_blank(rest.ptr[0]) ? 1 : 0;
            if (blank == 0) return false;
            rest = from(rest, blank);
        }
    }
    return true;
}

static bool appends(const portcullis_command_t *command) {
    for (size_t at = 0; at < command->redirections.len; at++) {
        if (command->redirections.ptr[at].direction == PORTCULLIS_DIRECTION_APPEND) return true;
    }
    return false;
}

bool empties(const change_t *change, const changes_t *all, const project_t *project) {
    (void)all, (void)project;
    if (change->kind == PORTCULLIS_EFFECT_KIND_FILE_DELETE) return false;
    const portcullis_command_t *command = change->command;
    if (!command) return true;
    plugin_string_t program = command->program;
    if (is_one_of(program, (words_t){":", "true", "truncate", NULL})) return true;
    if (is(&program, "cp")) return has_word(command, 0, "/dev/null");
    if (is(&program, "cat")) return has_word(command, 0, "/dev/null") && command->words.len == 1;
    return is_one_of(program, (words_t){"echo", "printf", NULL}) && prints_blanks(command) && !appends(command);
}
