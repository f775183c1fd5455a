#include "writers.h"

// Programs that write what their words or their input say.
static words_t HANDS = {
    "sed", "gsed", "perl", "awk", "gawk", "mawk", "nawk", "ed", "ex", "vi", "vim", "nvim", "nano", "pico", "emacs", "tee",
    "echo", "printf", "cat", "tac", "cp", "mv", "dd", "truncate", "install", "patch", "apply_patch", "rm", "unlink", "shred",
    "rmdir", "find", "fd", "jq", "yq", "tr", "head", "tail", "cut", "sort", "uniq", "paste", "grep", "egrep", "rg", "sponge",
    "rev", "iconv", "dos2unix", "unix2dos", "rename", ":", "true", "false", "yes", "seq", "base64", "xxd", "set-content",
    "add-content", "out-file", "clear-content", "remove-item", "move-item", "copy-item", "rename-item", "ren", "move", "copy",
    "del", "erase", "trash", "exec", "", NULL};
// Those that pass on what they read from a pipe: then its other end counts.
static words_t FILTERS = {
    "sed", "gsed", "perl", "awk", "gawk", "mawk", "nawk", "tee", "cat", "tac", "jq", "yq", "tr", "head", "tail", "cut", "sort",
    "uniq", "paste", "grep", "egrep", "rg", "sponge", "iconv", "base64", "xxd", "set-content", "out-file", NULL};
static words_t INTERPRETERS = {
    "python", "python3", "python2", "node", "nodejs", "deno", "bun", "ruby", "php", "lua", "osascript", NULL};

static bool has_word(const portcullis_command_t *command, size_t at, const char *word) {
    return at < command->words.len && is(&command->words.ptr[at].text, word);
}

// `git rm`, for `rm`.
static bool is_of_git(const portcullis_command_t *command, const char *name) {
    return is(&command->program, "git") && has_word(command, 0, name);
}

scene_t read_scene(const portcullis_action_t *action, const settings_t *settings) {
    bool of_shell = action->operation.tag == PORTCULLIS_OPERATION_SHELL;
    scene_t scene = {action, of_shell ? &action->operation.val.shell : NULL, settings, 0, 0};
    for (size_t at = 0; scene.shell && at < scene.shell->commands.len; at++) {
        if (!is_generator(settings, scene.shell->commands.ptr[at].program)) continue;
        if (scene.first_generator == 0) scene.first_generator = at + 1;
        scene.last_generator = at + 1;
    }
    return scene;
}

const portcullis_command_t *command_of(const scene_t *scene, const portcullis_effect_t *effect) {
    bool known = scene->shell && effect->command.is_some && effect->command.val < scene->shell->commands.len;
    return known ? &scene->shell->commands.ptr[effect->command.val] : NULL;
}

static bool has_heredoc(const portcullis_command_t *command) {
    for (size_t at = 0; at < command->redirections.len; at++) {
        if (command->redirections.ptr[at].direction == PORTCULLIS_DIRECTION_HEREDOC) return true;
    }
    return false;
}

// A word that says that code follows: `-c`, `-pe`, `--eval`; `-` for standard input.
static bool says_inline(plugin_string_t program, plugin_string_t word) {
    if (is_one_of(word, (words_t){"-", "eval", "--eval", "--print", NULL})) return true;
    if (word.len < 2 || word.ptr[0] != '-' || word.ptr[1] == '-') return false;
    return holds(word, "e") || holds(word, "c") || (is(&program, "php") && is(&word, "-r"));
}

// The text of the program stands on the command line.
static bool runs_inline_code(const portcullis_command_t *command) {
    if (!is_one_of(command->program, INTERPRETERS)) return false;
    for (size_t at = 0; at < command->words.len; at++) {
        if (says_inline(command->program, command->words.ptr[at].text)) return true;
        // What follows a script's name is the script's.
        if (!begins(command->words.ptr[at].text, "-")) break;
    }
    return has_heredoc(command);
}

static bool is_hand(const settings_t *settings, const portcullis_command_t *command) {
    if (is_of_git(command, "rm") || is_of_git(command, "mv")) return true;
    if (!is_one_of(command->program, HANDS) && !runs_inline_code(command)) return false;
    return !is_generator(settings, command->program);
}

// The command that begins the pipeline of filters that a command ends.
static const portcullis_command_t *source_of(const portcullis_shell_t *shell, const portcullis_command_t *command) {
    for (size_t steps = 0; steps < shell->commands.len; steps++) {
        bool reads_pipe = is_one_of(command->program, FILTERS) && command->input_from.is_some;
        if (!reads_pipe || command->input_from.val >= shell->commands.len) break;
        command = &shell->commands.ptr[command->input_from.val];
    }
    return command;
}

bool is_by_hand(const scene_t *scene, const portcullis_effect_t *effect) {
    const portcullis_command_t *command = command_of(scene, effect);
    if (!command) return true;
    return is_hand(scene->settings, command) && is_hand(scene->settings, source_of(scene->shell, command));
}

bool changes_file(const portcullis_effect_t *effect) {
    uint8_t kind = effect->kind.tag;
    return kind == PORTCULLIS_EFFECT_KIND_FILE_CREATE || kind == PORTCULLIS_EFFECT_KIND_FILE_MODIFY ||
           kind == PORTCULLIS_EFFECT_KIND_FILE_DELETE;
}

// Where a command moves its files: its first effect with `-t`, else its last one.
static const portcullis_effect_t *target_of(const scene_t *scene, const portcullis_command_t *command) {
    bool target_first = false;
    for (size_t at = 0; at < command->words.len; at++) {
        plugin_string_t word = command->words.ptr[at].text;
        target_first |= is(&word, "-t") || begins(word, "--target-directory");
    }
    const portcullis_effect_t *target = NULL;
    for (size_t at = 0; at < scene->action->facts.effects.len; at++) {
        const portcullis_effect_t *effect = &scene->action->facts.effects.ptr[at];
        if (!effect->certain || command_of(scene, effect) != command || !changes_file(effect)) continue;
        if (target_first) return effect;
        target = effect;
    }
    return target;
}

static bool is_moved_by(const portcullis_command_t *command) {
    return is_one_of(command->program, (words_t){"mv", "move", "move-item", "ren", "rename-item", "rename", NULL}) ||
           is_of_git(command, "mv");
}

// An MCP tool that moves has the word in its name, and the source is the first path that it names.
static bool is_moved_by_tool(const scene_t *scene, const portcullis_effect_t *effect) {
    if (scene->action->operation.tag != PORTCULLIS_OPERATION_TOOL) return false;
    plugin_string_t name = scene->action->operation.val.tool.name;
    if (!holds(name, "move") && !holds(name, "rename")) return false;
    for (size_t at = 0; at < scene->action->facts.effects.len; at++) {
        const portcullis_effect_t *one = &scene->action->facts.effects.ptr[at];
        if (changes_file(one)) return one == effect;
    }
    return false;
}

// Nothing is there that the change could replace.
static bool adds(const scene_t *scene, const portcullis_effect_t *effect) {
    return scene->action->facts.paths.ptr[effect->path.val].entry == PORTCULLIS_ENTRY_ABSENT;
}

change_t change_of(const scene_t *scene, const portcullis_effect_t *effect) {
    const portcullis_command_t *command = command_of(scene, effect);
    if (effect->kind.tag == PORTCULLIS_EFFECT_KIND_FILE_DELETE) return DELETED;
    if (!command) return is_moved_by_tool(scene, effect) ? MOVED : adds(scene, effect) ? ADDED : WRITTEN;
    if (is_of_git(command, "rm")) return DELETED;
    bool moves = is_moved_by(command);
    if (moves && target_of(scene, command) != effect) return MOVED;
    if (moves || is_one_of(command->program, (words_t){"cp", "install", "copy", "copy-item", NULL})) return COPIED;
    return adds(scene, effect) ? ADDED : WRITTEN;
}

// The last command before this one that wrote the path.
static const portcullis_effect_t *write_before(const scene_t *scene, uint32_t path, uint32_t command) {
    const portcullis_effect_t *last = NULL;
    for (size_t at = 0; at < scene->action->facts.effects.len; at++) {
        const portcullis_effect_t *effect = &scene->action->facts.effects.ptr[at];
        if (!effect->path.is_some || effect->path.val != path) continue;
        if (effect->command.is_some && effect->command.val < command && changes_file(effect)) last = effect;
    }
    return last;
}

// A path is another one, or lies in it.
static bool lies_in(plugin_string_t path, plugin_string_t folder) {
    return equals(path, folder) || (path.len > folder.len && equals(before(path, folder.len), folder) && path.ptr[folder.len] == '/');
}

// A program that makes such files runs before the command, or after it, and may have to do with the path.
static bool is_made(const scene_t *scene, uint32_t command, const portcullis_effect_t *effect, bool before) {
    bool by_name = before ? scene->first_generator > 0 && scene->first_generator - 1 < command : scene->last_generator > command + 1;
    if (by_name) return true;
    const portcullis_facts_t *facts = &scene->action->facts;
    for (size_t at = 0; at < facts->effects.len; at++) {
        const portcullis_effect_t *other = &facts->effects.ptr[at];
        if (other->certain || !other->command.is_some || !other->path.is_some || other->path.val >= facts->paths.len) continue;
        bool in_order = before ? other->command.val < command : other->command.val > command;
        bool writes = changes_file(other) && other->kind.tag != PORTCULLIS_EFFECT_KIND_FILE_DELETE;
        if (!in_order || !writes || is_by_hand(scene, other)) continue;
        if (lies_in(facts->paths.ptr[effect->path.val].text, facts->paths.ptr[other->path.val].text)) return true;
    }
    return false;
}

bool is_made_again(const scene_t *scene, const portcullis_effect_t *effect) {
    return scene->shell && effect->command.is_some && is_made(scene, effect->command.val, effect, false);
}

// The other paths of the command say where its files come from.
static bool is_source(const scene_t *scene, const portcullis_effect_t *source, const portcullis_effect_t *effect) {
    bool of_it = source->command.is_some && source->command.val == effect->command.val && source != effect;
    return of_it && source->path.is_some && source->path.val < scene->action->facts.paths.len;
}

bool is_copy_of_output(const scene_t *scene, const portcullis_effect_t *effect) {
    const portcullis_list_effect_t *effects = &scene->action->facts.effects;
    if (!scene->shell || !effect->command.is_some) return false;
    for (size_t at = 0; at < effects->len; at++) {
        const portcullis_effect_t *source = &effects->ptr[at];
        if (!is_source(scene, source, effect)) continue;
        // Who wrote exactly this file counts more than who may have.
        const portcullis_effect_t *writer = write_before(scene, source->path.val, effect->command.val);
        if (writer ? !is_by_hand(scene, writer) : is_made(scene, effect->command.val, source, true)) return true;
    }
    return false;
}

bool is_copy_of_same(const scene_t *scene, const portcullis_effect_t *effect) {
    const portcullis_facts_t *facts = &scene->action->facts;
    plugin_string_t name = name_of(facts->paths.ptr[effect->path.val].text);
    for (size_t at = 0; effect->command.is_some && at < facts->effects.len; at++) {
        const portcullis_effect_t *source = &facts->effects.ptr[at];
        if (!is_source(scene, source, effect)) continue;
        plugin_string_t other = name_of(facts->paths.ptr[source->path.val].text);
        // A backup's name goes on where that of its file ends.
        if (name.len > 0 && other.len >= name.len && equals(before(other, name.len), name)) return true;
    }
    return false;
}
