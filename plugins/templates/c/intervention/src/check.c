// Has the agent stop, look back at what was asked for, and say what it will do.
//
// The host has decided already that an answer is due; this one words it.

#include "portcullis.h"

// There is nothing to prepare, and no setting to check.
bool exports_intervener_prepare(exports_intervener_list_setting_t *settings, plugin_list_u8_t *prepared, exports_intervener_error_t *error) {
    *prepared = (plugin_list_u8_t){NULL, 0};
    return settings->len == 0 || refused(error, &settings->ptr[0].key, "unknown; this plugin has no settings");
}

bool exports_intervener_intervene(plugin_list_u8_t *prepared, exports_intervener_issue_t *issue, exports_intervener_situation_t *situation,
                                  exports_intervener_context_t *context, exports_intervener_response_t *response,
                                  exports_intervener_error_t *error) {
    (void)prepared, (void)situation, (void)error;
    memset(response, 0, sizeof *response);
    response->tag = EXPORTS_INTERVENER_RESPONSE_GUIDE;
    exports_intervener_guidance_t *guidance = &response->val.guide;
    ONE(&guidance->messages);
    guidance->messages.ptr[0] = copied(&issue->summary);
    append(&guidance->messages.ptr[0], ". Stop here, and say in a sentence what you will do next and why.");
    if (context->goals.len == 0) return true;
    // The newest is the most important, and the last.
    ONE(&guidance->background);
    guidance->background.ptr[0].title = text("original request");
    guidance->background.ptr[0].text = copied(&context->goals.ptr[context->goals.len - 1].text);
    guidance->background.ptr[0].emphasised = true;
    return true;
}
