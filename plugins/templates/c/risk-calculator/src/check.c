// Asks before an applied database migration is changed.
//
// Whoever ran a migration has its old text: changing the file changes nothing for them, and everything for those who
// run it later.

#include "portcullis.h"

// What is prepared: the names of the folders, each with a slash before and behind it, one after the other with a zero
// between. A path is compared with them as they are.
bool exports_assessor_prepare(exports_assessor_list_setting_t *settings, plugin_list_u8_t *prepared, exports_assessor_error_t *error) {
    plugin_string_t usual = text("migrations");
    plugin_list_string_t folders = {&usual, 1};
    for (size_t at = 0; at < settings->len; at++) {
        portcullis_setting_t *setting = &settings->ptr[at];
        if (!is(&setting->key, "folders")) return refused(error, &setting->key, "unknown; this plugin knows `folders`");
        if (setting->value.tag != PORTCULLIS_SETTING_VALUE_TEXTS) return refused(error, &setting->key, "should be a list of texts");
        folders = setting->value.val.texts;
    }
    size_t room = 0;
    for (size_t at = 0; at < folders.len; at++) room += folders.ptr[at].len + 3;
    prepared->ptr = malloc(room);
    prepared->len = room;
    char *end = (char *)prepared->ptr;
    for (size_t at = 0; at < folders.len; at++) {
        end += sprintf(end, "/%.*s/", (int)folders.ptr[at].len, (const char *)folders.ptr[at].ptr) + 1;
    }
    return true;
}

// One of the folders that the path is in has one of the names.
static bool lies_in(const portcullis_path_t *path, const plugin_list_u8_t *prepared) {
    plugin_string_t whole = copied(&path->text);
    char *place = calloc(whole.len + 1, 1);
    memcpy(place, whole.ptr, whole.len);
    for (size_t at = 0; at < prepared->len; at += strlen((const char *)prepared->ptr + at) + 1) {
        if (strstr(place, (const char *)prepared->ptr + at)) return true;
    }
    return false;
}

bool exports_assessor_assess(plugin_list_u8_t *prepared, exports_assessor_action_t *action, exports_assessor_context_t *context,
                             exports_assessor_assessment_t *assessment, exports_assessor_error_t *error) {
    (void)context, (void)error;
    memset(assessment, 0, sizeof *assessment);
    for (size_t at = 0; at < action->facts.effects.len; at++) {
        portcullis_effect_t *effect = &action->facts.effects.ptr[at];
        bool changes = effect->kind.tag == PORTCULLIS_EFFECT_KIND_FILE_MODIFY || effect->kind.tag == PORTCULLIS_EFFECT_KIND_FILE_DELETE;
        if (!changes || !effect->path.is_some) continue;
        portcullis_path_t *path = &action->facts.paths.ptr[effect->path.val];
        if (!lies_in(path, prepared)) continue;
        ONE(&assessment->rulings);
        exports_assessor_ruling_t *ruling = &assessment->rulings.ptr[0];
        ruling->rule = text("sample-check");
        ruling->objection = EXPORTS_ASSESSOR_OBJECTION_ASK;
        ruling->severity = PORTCULLIS_SEVERITY_HIGH;
        ruling->reason = text("an applied migration must stay as it was run");
        BECAUSE(&ruling->evidence, "path", &path->text);
        ONE(&ruling->alternatives);
        ruling->alternatives.ptr[0] = text("write a new migration that makes the change");
        break;
    }
    return true;
}
