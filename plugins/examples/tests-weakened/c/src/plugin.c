// Notices tests that are deleted, skipped or loosened while the goal is to make them pass.
//
// `../../README.md` says exactly what it does; each other file here is a section of it.

#include "goals.h"
#include "memory.h"
#include "runs.h"
#include "texts.h"
#include "weakening.h"

static words_t FOLDERS = {"test", "tests", "spec", "specs", "__tests__", NULL};

// What is prepared: the folders, each followed by a line feed.
bool exports_detector_prepare(exports_detector_list_setting_t *settings, plugin_list_u8_t *prepared, exports_detector_error_t *error) {
    plugin_string_t folders = {NULL, 0};
    for (size_t at = 0; FOLDERS[at]; at++) folders = JOINED(folders, text(FOLDERS[at]), text("\n"));
    for (size_t at = 0; at < settings->len; at++) {
        const portcullis_setting_t *setting = &settings->ptr[at];
        if (!is(&setting->key, "folders")) return refused(error, &setting->key, "unknown: the only setting is folders");
        if (setting->value.tag != PORTCULLIS_SETTING_VALUE_TEXTS) return refused(error, &setting->key, "it must be a list of texts");
        const plugin_list_string_t *names = &setting->value.val.texts;
        folders.len = 0;
        for (size_t name = 0; name < names->len; name++) folders = JOINED(folders, names->ptr[name], text("\n"));
    }
    *prepared = (plugin_list_u8_t){folders.ptr, folders.len};
    return true;
}

static plugin_string_t with_reason(plugin_string_t summary, bool wanted) {
    return JOINED(summary, text(wanted ? " while the goal is to make the tests pass" : " after a test run that failed"));
}

static void add(exports_detector_list_evidence_t *list, const char *kind, plugin_string_t value, uint64_t step) {
    list->ptr[list->len++] = (portcullis_evidence_t){text(kind), copied(&value), {true, step}};
}

// `failed` is NULL where no test run did.
static exports_detector_detection_t detection(const weakening_t *found, bool wanted, const memory_t *failed, uint64_t step) {
    bool of_a_file = found->kind != LEFT_OUT;
    bool names_it = failed && of_a_file && holds(failed->shown, name_of(found->thing));
    exports_detector_detection_t detection = {
        .pattern = text("tests_weakened"),
        .severity = severity_of(found->kind),
        .confidence = names_it ? 950 : wanted && failed ? 800 : 700,
        .impact = impact_of(found->kind),
        .first_step = failed ? failed->step : step,
        .summary = with_reason(summary_of(found), wanted),
        .evidence = {calloc(3, sizeof(portcullis_evidence_t)), 0},
    };
    add(&detection.evidence, of_a_file ? "path" : "command", found->thing, step);
    if (found->mark) add(&detection.evidence, "mark", text(found->mark), step);
    if (failed) add(&detection.evidence, "step", decimal(failed->step), failed->step);
    return detection;
}

bool exports_detector_detect(plugin_list_u8_t *prepared, plugin_list_u8_t *state, exports_detector_totals_t *totals,
                             exports_detector_action_t *action, exports_detector_context_t *context,
                             exports_detector_report_t *report, exports_detector_error_t *error) {
    (void)totals, (void)error;
    memset(report, 0, sizeof *report);
    if (action->outcome.is_some) {
        report->state.is_some = state_after(action, &report->state.val);
        return true;
    }
    memory_t memory;
    const memory_t *failed = recall(state, &memory) ? &memory : NULL;
    bool wanted = want_tests_to_pass(&context->goals);
    if (ask_for_it(&context->goals) || !(wanted || failed)) return true;
    project_t project = {&context->roots, {prepared->ptr, prepared->len}};
    weakening_t found;
    if (!weakens(action, &project, &found)) return true;
    ONE(&report->detections);
    report->detections.ptr[0] = detection(&found, wanted, failed, action->step);
    return true;
}
