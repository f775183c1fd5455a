// Writes a line a record: number, kind, verdict and summary, with tabs between.

#include "portcullis.h"

static const char *const KINDS[] = {
    [EXPORTS_EXPORTER_RECORD_KIND_REVIEW] = "review",
    [EXPORTS_EXPORTER_RECORD_KIND_OUTCOME] = "outcome",
    [EXPORTS_EXPORTER_RECORD_KIND_UNREVIEWED] = "unreviewed",
    [EXPORTS_EXPORTER_RECORD_KIND_INTERVENTION] = "intervention",
    [EXPORTS_EXPORTER_RECORD_KIND_SESSION] = "session",
    [EXPORTS_EXPORTER_RECORD_KIND_CONFIGURATION] = "configuration",
    [EXPORTS_EXPORTER_RECORD_KIND_FAULT] = "fault",
};
static const char *const VERDICTS[] = {
    [PORTCULLIS_VERDICT_ALLOW] = "allow", [PORTCULLIS_VERDICT_WARN] = "warn",   [PORTCULLIS_VERDICT_MODIFY] = "modify",
    [PORTCULLIS_VERDICT_ASK] = "ask",     [PORTCULLIS_VERDICT_BLOCK] = "block",
};

// There is nothing to prepare, and no setting to check.
bool exports_exporter_prepare(exports_exporter_list_setting_t *settings, plugin_list_u8_t *prepared, exports_exporter_error_t *error) {
    *prepared = (plugin_list_u8_t){NULL, 0};
    return settings->len == 0 || refused(error, &settings->ptr[0].key, "unknown; this plugin has no settings");
}

// A summary repeats what an agent wrote: nothing in it may begin a line or a column of its own. Beyond ASCII a control
// character is the byte C2 and one from 80 to 9F.
static plugin_string_t plain(const plugin_string_t *from) {
    plugin_string_t plain = {malloc(from->len), 0};
    for (size_t at = 0; at < from->len; at++) {
        uint8_t byte = from->ptr[at];
        bool two = byte == 0xC2 && at + 1 < from->len && from->ptr[at + 1] < 0xA0;
        plain.ptr[plain.len++] = two || byte < ' ' || byte == 0x7F ? ' ' : byte;
        at += two;
    }
    return plain;
}

static void line(plugin_string_t *lines, const exports_exporter_audit_record_t *record) {
    char number[32];
    snprintf(number, sizeof number, "%llu\t", (unsigned long long)record->sequence);
    append(lines, number);
    if (record->kind.tag == EXPORTS_EXPORTER_RECORD_KIND_OTHER) {
        append_text(lines, &record->kind.val.other);
    } else {
        append(lines, KINDS[record->kind.tag]);
    }
    append(lines, "\t");
    append(lines, record->decision.is_some ? VERDICTS[record->decision.val.verdict] : "");
    append(lines, "\t");
    plugin_string_t summary = plain(&record->summary);
    append_text(lines, &summary);
    append(lines, "\n");
}

bool exports_exporter_render(plugin_list_u8_t *prepared, exports_exporter_list_audit_record_t *records, bool first,
                             exports_exporter_rendered_t *rendered, exports_exporter_error_t *error) {
    (void)prepared, (void)error;
    plugin_string_t lines = text(first ? "number\tkind\tverdict\tsummary\n" : "");
    for (size_t at = 0; at < records->len; at++) line(&lines, &records->ptr[at]);
    rendered->bytes = (plugin_list_u8_t){lines.ptr, lines.len};
    rendered->content_type = text("text/tab-separated-values; charset=utf-8");
    return true;
}
