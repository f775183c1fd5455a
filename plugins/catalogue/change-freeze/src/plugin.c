// Asks, or blocks, what would go out while a change freeze or quiet hours hold.
//
// `calendar.h` is the arithmetic, `windows.h` reads how the settings write times, `kinds.h` says what an action does. Here
// the two are put together.

#include "kinds.h"

enum { MOST_EVIDENCE = 4, LONGEST_COMMAND = 200 };

// What is frozen, in the words of an objection, most telling first.
static const struct {
    kinds_t kind;
    const char *what;
} WORDS[MANY_KINDS] = {
    {DEPLOY, "a deployment"}, {DATABASE, "a change of a database"},     {PUBLISH, "a publication"},
    {PUSH, "a push"},         {REMOTE, "a change on a remote service"}, {SYSTEM, "a change of the system"},
    {ANYTHING, "a change"},
};

static size_t place_of_kind(kinds_t kind) {
    size_t place = 0;
    while (kind >> place != 1) place++;
    return place;
}

static plugin_string_t written_time(int64_t minutes) {
    char time[LONGEST_TIME];
    write_time(minutes, time);
    plugin_string_t shown = {(uint8_t *)time, sizeof time};
    return copied(&shown);
}

static plugin_string_t written_offset(int32_t offset) {
    char name[LONGEST_OFFSET];
    write_offset(offset, name);
    plugin_string_t shown = {(uint8_t *)name, sizeof name};
    return copied(&shown);
}

static plugin_string_t reason_of(const char *what, const freeze_t *freeze, const settings_t *settings) {
    plugin_string_t reason = JOINED(constant("changes are frozen until "), written_time(freeze->end), constant(" ("),
                                    written_offset(freeze->offset), constant(", `"), freeze->label, constant("`): "), constant(what),
                                    constant(" waits until then"), constant(settings->blocks ? "" : ", or a person lets it pass"));
    return settings->note.len > 0 ? JOINED(reason, constant("; "), settings->note) : reason;
}

static void add_evidence(exports_assessor_list_evidence_t *list, const char *kind, plugin_string_t value) {
    if (list->len == MOST_EVIDENCE || value.len == 0) return;
    list->ptr[list->len++] = (portcullis_evidence_t){text(kind), copied(&value), {false, 0}};
}

// What stands on the command line; of a tool, its name.
static plugin_string_t source_of(const portcullis_action_t *action, const portcullis_command_t *command) {
    if (!command) return action->tool;
    plugin_string_t whole = from(before(action->operation.val.shell.text, command->end), command->start);
    size_t length = whole.len < LONGEST_COMMAND ? whole.len : LONGEST_COMMAND;
    while (length > 0 && length < whole.len && (whole.ptr[length] & 0xC0) == 0x80) length--;
    return before(whole, length);
}

static exports_assessor_ruling_t ruling_of(const portcullis_action_t *action, const doings_t *doings, const freeze_t *freeze,
                                           const settings_t *settings) {
    exports_assessor_ruling_t ruling = {
        .rule = text("change_freeze"),
        .objection = settings->blocks ? EXPORTS_ASSESSOR_OBJECTION_BLOCK : EXPORTS_ASSESSOR_OBJECTION_ASK,
        .severity = settings->blocks ? PORTCULLIS_SEVERITY_HIGH : PORTCULLIS_SEVERITY_MEDIUM,
        .evidence = {room_for(MOST_EVIDENCE, sizeof(portcullis_evidence_t)), 0},
    };
    add_evidence(&ruling.evidence, "window", freeze->label);
    for (size_t at = 0; at < MANY_KINDS; at++) {
        if (!(doings->kinds & WORDS[at].kind)) continue;
        if (!ruling.reason.ptr) {
            ruling.reason = reason_of(WORDS[at].what, freeze, settings);
            const portcullis_command_t *command = doings->commands[place_of_kind(WORDS[at].kind)];
            add_evidence(&ruling.evidence, command ? "command" : "tool", source_of(action, command));
        }
        add_evidence(&ruling.evidence, "kind", constant(WORDS[at].what));
    }
    ONE(&ruling.alternatives);
    ruling.alternatives.ptr[0] = JOINED(constant("prepare it and let it wait until "), written_time(freeze->end));
    return ruling;
}

// A line that changes its folder may leave the one that is free.
static bool stays_in_folder(const portcullis_action_t *action) {
    if (action->operation.tag != PORTCULLIS_OPERATION_SHELL) return true;
    const portcullis_list_command_t *commands = &action->operation.val.shell.commands;
    for (size_t at = 0; at < commands->len; at++) {
        if (is_one_of(commands->ptr[at].program, (words_t){"cd", "pushd", "set-location", NULL})) return false;
        for (size_t word = 0; word < commands->ptr[at].words.len; word++) {
            if (is_one_of(commands->ptr[at].words.ptr[word].text, (words_t){"-C", "--git-dir", "--work-tree", "--chdir", NULL}))
                return false;
        }
    }
    return true;
}

bool exports_assessor_prepare(exports_assessor_list_setting_t *settings, plugin_list_u8_t *prepared, exports_assessor_error_t *error) {
    return prepare_settings(settings, prepared, error);
}

bool exports_assessor_assess(plugin_list_u8_t *prepared, exports_assessor_action_t *action, exports_assessor_context_t *context,
                             exports_assessor_assessment_t *assessment, exports_assessor_error_t *error) {
    memset(assessment, 0, sizeof *assessment);
    // Without a window, nothing is ever frozen.
    if (prepared->len == 0) return true;
    settings_t settings;
    if (!read_settings(prepared, &settings)) {
        error->tag = PORTCULLIS_ERROR_INVALID_INPUT;
        error->val.invalid_input = text("`prepared` is not what this plugin writes");
        return false;
    }
    freeze_t freeze;
    if (!find_freeze(&settings, context->now, &freeze)) return true;
    doings_t doings = read_doings(action, context, &settings);
    if (doings.kinds == 0) return true;
    if (is_free_folder(&settings, context->cwd, &context->roots) && stays_in_folder(action)) return true;
    ONE(&assessment->rulings);
    assessment->rulings.ptr[0] = ruling_of(action, &doings, &freeze, &settings);
    return true;
}
