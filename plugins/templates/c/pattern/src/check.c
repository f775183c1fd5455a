// Notices when one action after another fails.
//
// An agent that fails at everything lately is better stopped and asked than left to try a tenth way.

#include "portcullis.h"

// What is prepared: one byte, how many failures are too many.
bool exports_detector_prepare(exports_detector_list_setting_t *settings, plugin_list_u8_t *prepared, exports_detector_error_t *error) {
    int64_t most = 3;
    for (size_t at = 0; at < settings->len; at++) {
        portcullis_setting_t *setting = &settings->ptr[at];
        if (!is(&setting->key, "most")) return refused(error, &setting->key, "unknown; this plugin knows `most`");
        if (setting->value.tag != PORTCULLIS_SETTING_VALUE_INTEGER) return refused(error, &setting->key, "should be an integer");
        most = setting->value.val.integer;
        if (most < 2 || most > 50) return refused(error, &setting->key, "should be from 2 to 50");
    }
    ONE(prepared);
    prepared->ptr[0] = (uint8_t)most;
    return true;
}

bool exports_detector_detect(plugin_list_u8_t *prepared, plugin_list_u8_t *state, exports_detector_totals_t *totals,
                             exports_detector_action_t *action, exports_detector_context_t *context,
                             exports_detector_report_t *report, exports_detector_error_t *error) {
    (void)state, (void)totals, (void)context, (void)error;
    memset(report, 0, sizeof *report);
    if (!action->outcome.is_some) return true;
    // The action itself is the last of them, now that it has ended.
    uint32_t most = prepared->ptr[0];
    host_list_step_t steps;
    host_steps(most, &steps);
    if (steps.len < most) return true;
    for (size_t at = 0; at < steps.len; at++) {
        if (steps.ptr[at].status != PORTCULLIS_STATUS_FAILED) return true;
    }
    char summary[64];
    snprintf(summary, sizeof summary, "the last %u actions failed", (unsigned)most);
    plugin_string_t first_line = action->outcome.val.error;
    uint8_t *end = memchr(first_line.ptr, '\n', first_line.len);
    if (end) first_line.len = (size_t)(end - first_line.ptr);
    ONE(&report->detections);
    exports_detector_detection_t *detection = &report->detections.ptr[0];
    detection->pattern = text("sample-check");
    detection->severity = PORTCULLIS_SEVERITY_MEDIUM;
    detection->confidence = 700;
    detection->impact = 500;
    detection->first_step = steps.ptr[0].index;
    detection->summary = text(summary);
    BECAUSE(&detection->evidence, "error", &first_line);
    return true;
}
