#include "edits.h"

bool heredoc_of(const portcullis_command_t *command, plugin_string_t *text) {
    for (size_t at = 0; at < command->redirections.len; at++) {
        const portcullis_redirection_t *redirection = &command->redirections.ptr[at];
        if (redirection->direction != PORTCULLIS_DIRECTION_HEREDOC) continue;
        *text = redirection->target.text;
        return true;
    }
    return false;
}

bool patch_of(const portcullis_command_t *command, plugin_string_t *patch) {
    plugin_string_t program = command->program;
    if (is(&program, "apply_patch")) {
        for (size_t at = 0; at < command->words.len; at++) {
            *patch = command->words.ptr[at].text;
            if (holds(*patch, "*** Begin Patch")) return true;
        }
        return heredoc_of(command, patch);
    }
    bool of_git =
        is(&program, "git") && command->words.len > 0 && is_one_of(command->words.ptr[0].text, (words_t){"apply", "am", NULL});
    return (of_git || is(&program, "patch")) && heredoc_of(command, patch);
}

bool next_patched(plugin_string_t *rest, plugin_string_t *path) {
    static const char *const HEADS[] = {"+++ ", "--- ", "*** Update File: ", "*** Delete File: "};
    while (rest->len > 0) {
        size_t end = find(*rest, "\n");
        plugin_string_t line = before(*rest, end);
        *rest = from(*rest, end + 1);
        for (size_t at = 0; at < sizeof HEADS / sizeof *HEADS; at++) {
            if (!begins(line, HEADS[at])) continue;
            *path = trimmed(from(line, strlen(HEADS[at])));
            *path = before(*path, find(*path, "\t"));
            // The letters that git puts before.
            if (at < 2 && (begins(*path, "a/") || begins(*path, "b/"))) *path = from(*path, 2);
            if (path->len > 0 && !is(path, "/dev/null")) return true;
        }
    }
    return false;
}

plugin_string_t absolute(plugin_string_t path, const portcullis_context_t *context) {
    return begins(path, "/") ? path : JOINED(context->cwd, constant("/"), path);
}

static bool argument_of(const portcullis_tool_call_t *tool, words_t names, plugin_string_t *value) {
    for (size_t name = 0; names[name]; name++) {
        for (size_t at = 0; at < tool->arguments.len; at++) {
            if (!is(&tool->arguments.ptr[at].name, names[name])) continue;
            *value = tool->arguments.ptr[at].value;
            return true;
        }
    }
    return false;
}

// The words that editors over MCP use.
static bool read_tool(const scene_t *scene, edit_t *edit) {
    const portcullis_tool_call_t *tool = &scene->action->operation.val.tool;
    static words_t OLD = {"old_string", "old_str", "oldText", "old_text", "oldString", "search", NULL};
    static words_t NEW = {
        "new_string", "new_str", "newText", "new_text", "newString", "content", "file_text", "contents", "replace", NULL};
    if (scene->action->facts.paths.len == 0) return false;
    edit->path = scene->action->facts.paths.ptr[0].text;
    edit->known = argument_of(tool, OLD, &edit->old);
    return argument_of(tool, NEW, &edit->new);
}

static bool read_patch(const scene_t *scene, const portcullis_context_t *context, edit_t *edit) {
    for (size_t at = 0; at < scene->shell->commands.len; at++) {
        plugin_string_t patch, path;
        if (!patch_of(&scene->shell->commands.ptr[at], &patch)) continue;
        plugin_string_t rest = patch;
        if (!next_patched(&rest, &path)) continue;
        *edit = (edit_t){absolute(path, context), true, patch, patch, true};
        return true;
    }
    return false;
}

bool read_edit(const scene_t *scene, const portcullis_context_t *context, edit_t *edit) {
    *edit = (edit_t){0};
    const portcullis_operation_t *operation = &scene->action->operation;
    if (operation->tag == PORTCULLIS_OPERATION_TOOL) return read_tool(scene, edit);
    if (scene->shell) return read_patch(scene, context, edit);
    if (operation->tag != PORTCULLIS_OPERATION_FILE || !operation->val.file.content.is_some) return false;
    const portcullis_file_operation_t *file = &operation->val.file;
    edit->path = file->path;
    edit->new = file->content.val;
    edit->known = file->replaced.is_some;
    if (edit->known) edit->old = file->replaced.val;
    return true;
}
