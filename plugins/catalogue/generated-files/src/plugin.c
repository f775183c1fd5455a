// Warns when files that a program writes, or somebody else does, are changed by hand, and when a file loses its licence.
//
// `files.h` says what a path is, `writers.h` who changes it and how, `marks.h` what a text says of its own file. Here the
// rules decide what to object to, and `wording.h` has the words.

#include "edits.h"
#include "marks.h"
#include "wording.h"

enum { MOST_EVIDENCE = 8, FIRST_LINES = 30 };

// What a call found so far: a ruling at most for each rule.
typedef struct {
    const scene_t *scene;
    const portcullis_context_t *context;
    exports_assessor_list_ruling_t rulings;
} findings_t;

static exports_assessor_ruling_t *ruling_of(findings_t *findings, const char *rule) {
    for (size_t at = 0; at < findings->rulings.len; at++) {
        if (is(&findings->rulings.ptr[at].rule, rule)) return &findings->rulings.ptr[at];
    }
    return NULL;
}

// Objects to what is done to a path. Later paths of the same rule are evidence alone.
static void object(findings_t *findings, const objection_t *objection, plugin_string_t path) {
    exports_assessor_ruling_t *ruling = ruling_of(findings, objection->rule);
    if (!ruling) {
        if (!findings->rulings.ptr) findings->rulings.ptr = room_for(MANY_RULES, sizeof(exports_assessor_ruling_t));
        if (findings->rulings.len == MANY_RULES) return;
        bool asks = findings->scene->settings->asks;
        ruling = &findings->rulings.ptr[findings->rulings.len++];
        ruling->rule = text(objection->rule);
        ruling->objection = asks ? EXPORTS_ASSESSOR_OBJECTION_ASK : EXPORTS_ASSESSOR_OBJECTION_WARN;
        ruling->severity = asks ? PORTCULLIS_SEVERITY_MEDIUM : PORTCULLIS_SEVERITY_LOW;
        ruling->reason = objection->reason;
        ruling->evidence.ptr = room_for(MOST_EVIDENCE, sizeof(portcullis_evidence_t));
        ONE(&ruling->alternatives);
        ruling->alternatives.ptr[0] = objection->instead;
    }
    for (size_t at = 0; at < ruling->evidence.len; at++) {
        if (equals(ruling->evidence.ptr[at].value, path)) return;
    }
    if (ruling->evidence.len == MOST_EVIDENCE || path.len == 0) return;
    plugin_string_t value = bounded(path);
    ruling->evidence.ptr[ruling->evidence.len++] = (portcullis_evidence_t){text("path"), copied(&value), {false, 0}};
}

// Package managers make these folders again.
static bool is_made_by_install(file_t file) {
    return file.whole && is_one_of(name_of(file.shown), (words_t){"node_modules", "bower_components", "Pods", "Carthage", NULL});
}

// The change is one that people make in the course of things.
static bool is_usual(const scene_t *scene, const portcullis_effect_t *effect, file_t file, change_t change) {
    const portcullis_path_t *path = &scene->action->facts.paths.ptr[effect->path.val];
    bool gone = change == DELETED || change == MOVED;
    if (gone && (path->git == PORTCULLIS_GIT_STATE_IGNORED || is_made_again(scene, effect))) return true;
    if (change == COPIED && (is_copy_of_output(scene, effect) || is_copy_of_same(scene, effect))) return true;
    if (change == MOVED && is_copy_of_output(scene, effect)) return true;
    switch (file.class) {
    case OUTPUT: return change != WRITTEN;
    case VENDORED:
        if (file.hidden || change == ADDED || (gone && is_made_by_install(file))) return true;
        return change == COPIED &&
               (effect->recursive || path->entry == PORTCULLIS_ENTRY_ABSENT || path->entry == PORTCULLIS_ENTRY_FOLDER);
    default: return false;
    }
}

static void judge_effect(findings_t *findings, const portcullis_effect_t *effect) {
    const scene_t *scene = findings->scene;
    const portcullis_path_t *path = &scene->action->facts.paths.ptr[effect->path.val];
    // What is not fully known lies in what is known of it.
    file_t file = file_of(path, effect->recursive || !effect->certain, &findings->context->roots, scene->settings);
    if (file.class == NOTHING || !is_by_hand(scene, effect)) return;
    change_t change = change_of(scene, effect);
    if (is_usual(scene, effect, file, change)) return;
    objection_t objection = word_change(file, change);
    object(findings, &objection, path->text);
}

// A command changes files whose names a pipe brings: those of the folders that the pipe's other commands look through.
static void judge_piped(findings_t *findings, const portcullis_effect_t *effect) {
    const scene_t *scene = findings->scene;
    const portcullis_facts_t *facts = &scene->action->facts;
    const portcullis_command_t *command = command_of(scene, effect);
    if (!command || !command->input_from.is_some || !is_by_hand(scene, effect)) return;
    for (size_t at = 0; at < facts->effects.len; at++) {
        const portcullis_effect_t *read = &facts->effects.ptr[at];
        bool of_pipe = read->kind.tag == PORTCULLIS_EFFECT_KIND_FILE_READ && read->command.is_some && read->path.is_some &&
                       read->command.val == command->input_from.val && read->path.val < facts->paths.len;
        if (!of_pipe) continue;
        file_t file = file_of(&facts->paths.ptr[read->path.val], true, &findings->context->roots, scene->settings);
        if (file.class == NOTHING || file.hidden) continue;
        objection_t objection = word_change(file, WRITTEN);
        object(findings, &objection, facts->paths.ptr[read->path.val].text);
    }
}

// A patch that stands on the command line names the files that it changes.
static void judge_patch(findings_t *findings, const portcullis_command_t *command) {
    plugin_string_t rest, name;
    if (!patch_of(command, &rest)) return;
    while (next_patched(&rest, &name)) {
        portcullis_path_t path = {.text = absolute(name, findings->context), .entry = PORTCULLIS_ENTRY_UNKNOWN};
        file_t file = file_of(&path, false, &findings->context->roots, findings->scene->settings);
        if (file.class == NOTHING) continue;
        objection_t objection = word_change(file, WRITTEN);
        object(findings, &objection, path.text);
    }
}

static void judge_marks(findings_t *findings, plugin_string_t path, marks_t old, marks_t new, bool patch) {
    if (is_excepted(path, &findings->context->roots, findings->scene->settings)) return;
    plugin_string_t shown = shorten(path, &findings->context->roots);
    if (old.generated && !new.generated) {
        objection_t objection = word_mark(shown);
        object(findings, &objection, path);
    } else if (old.generated && !patch) {
        objection_t objection = word_change((file_t){GENERATED, false, false, shown}, WRITTEN);
        object(findings, &objection, path);
    }
    if (!findings->scene->settings->guards_licences) return;
    if ((old.licence && !new.licence) || (old.copyright && !new.copyright)) {
        objection_t objection = word_licence(shown, old.licence && !new.licence);
        object(findings, &objection, path);
    }
}

// A whole text that says of itself that a program wrote it.
static void judge_new_text(findings_t *findings, plugin_string_t path, plugin_string_t content) {
    if (!read_marks(content, FIRST_LINES, 0).generated) return;
    if (is_excepted(path, &findings->context->roots, findings->scene->settings)) return;
    objection_t objection = word_change((file_t){GENERATED, false, false, shorten(path, &findings->context->roots)}, WRITTEN);
    object(findings, &objection, path);
}

static void judge_edit(findings_t *findings) {
    edit_t edit;
    if (!read_edit(findings->scene, findings->context, &edit)) return;
    if (!edit.known) {
        judge_new_text(findings, edit.path, edit.new);
        return;
    }
    if (equals(edit.old, edit.new) && !edit.patch) return;
    marks_t old = read_marks(edit.old, ALL_LINES, edit.patch ? '-' : 0);
    if (!old.generated && !old.copyright && !old.licence) return;
    judge_marks(findings, edit.path, old, read_marks(edit.new, ALL_LINES, edit.patch ? '+' : 0), edit.patch);
}

// What a command does to the marks in a file: scripts of an editor, and texts written from the command line.
static void judge_script(findings_t *findings, const portcullis_effect_t *effect) {
    const portcullis_command_t *command = command_of(findings->scene, effect);
    plugin_string_t path = findings->scene->action->facts.paths.ptr[effect->path.val].text, content;
    if (!command) return;
    if (is_one_of(command->program, (words_t){"cat", "tee", NULL}) && heredoc_of(command, &content)) {
        judge_new_text(findings, path, content);
    }
    if (!is_one_of(command->program, (words_t){"sed", "gsed", "perl", NULL})) return;
    for (size_t at = 0; at < command->words.len; at++) {
        marks_t cut = marks_cut_by(command->words.ptr[at].text);
        if (cut.generated || cut.copyright || cut.licence) judge_marks(findings, path, cut, (marks_t){false, false, false}, true);
    }
}

static bool changes_any_file(const portcullis_facts_t *facts) {
    for (size_t at = 0; at < facts->effects.len; at++) {
        if (changes_file(&facts->effects.ptr[at])) return true;
    }
    return false;
}

static void judge(findings_t *findings) {
    const portcullis_facts_t *facts = &findings->scene->action->facts;
    for (size_t at = 0; at < facts->effects.len; at++) {
        const portcullis_effect_t *effect = &facts->effects.ptr[at];
        if (!changes_file(effect)) continue;
        if (!effect->path.is_some) {
            judge_piped(findings, effect);
        } else if (effect->path.val < facts->paths.len) {
            judge_effect(findings, effect);
            if (effect->kind.tag != PORTCULLIS_EFFECT_KIND_FILE_DELETE) judge_script(findings, effect);
        }
    }
    const portcullis_shell_t *shell = findings->scene->shell;
    for (size_t at = 0; shell && at < shell->commands.len; at++) judge_patch(findings, &shell->commands.ptr[at]);
    judge_edit(findings);
}

bool exports_assessor_prepare(exports_assessor_list_setting_t *settings, plugin_list_u8_t *prepared, exports_assessor_error_t *error) {
    return prepare_settings(settings, prepared, error);
}

bool exports_assessor_assess(plugin_list_u8_t *prepared, exports_assessor_action_t *action, exports_assessor_context_t *context,
                             exports_assessor_assessment_t *assessment, exports_assessor_error_t *error) {
    memset(assessment, 0, sizeof *assessment);
    if (!changes_any_file(&action->facts)) return true;
    settings_t settings;
    if (!read_settings(prepared, &settings)) {
        error->tag = PORTCULLIS_ERROR_INVALID_INPUT;
        error->val.invalid_input = text("`prepared` is not what this plugin writes");
        return false;
    }
    scene_t scene = read_scene(action, &settings);
    findings_t findings = {&scene, context, {NULL, 0}};
    judge(&findings);
    assessment->rulings = findings.rulings;
    return true;
}
