// What a plugin in C needs most. Each call comes to a fresh instance with a memory of its own, which goes when the
// call ends: nothing that is allocated here has to be freed.
#ifndef PORTCULLIS_H
#define PORTCULLIS_H

#include "plugin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A text for an answer. The answer takes copies alone: never give it a constant.
static inline plugin_string_t text(const char *words) {
    plugin_string_t copy;
    plugin_string_dup(&copy, words);
    return copy;
}

// A text of the host's, for an answer.
static inline plugin_string_t copied(const plugin_string_t *from) {
    plugin_string_t copy;
    plugin_string_dup_n(&copy, (const char *)from->ptr, from->len);
    return copy;
}

// Puts a text at the end of another, which has to be of the plugin's own memory.
static inline void append_text(plugin_string_t *to, const plugin_string_t *more) {
    // An empty text has no memory of its own.
    to->ptr = realloc(to->len > 0 ? to->ptr : NULL, to->len + more->len + 1);
    memcpy(to->ptr + to->len, more->ptr, more->len);
    to->len += more->len;
}

static inline void append(plugin_string_t *to, const char *words) {
    plugin_string_t more = text(words);
    append_text(to, &more);
}

// The text is these words.
static inline bool is(const plugin_string_t *text, const char *words) {
    return text->len == strlen(words) && memcmp(text->ptr, words, text->len) == 0;
}

// The value of an attribute; none if the host has none of that name, as older ones may.
static inline const plugin_string_t *attribute(const portcullis_attributes_t *attributes, const char *name) {
    for (size_t at = 0; at < attributes->len; at++) {
        if (is(&attributes->ptr[at].name, name)) return &attributes->ptr[at].value;
    }
    return NULL;
}

// One list item, cleared.
#define ONE(list) ((list)->len = 1, (list)->ptr = calloc(1, sizeof *(list)->ptr))

// A line for the plugin's log.
static inline void say(host_level_t level, const char *words) {
    plugin_string_t line = text(words);
    host_log(level, &line);
}

// A point in favour of a finding, as the first and only one of a list.
#define BECAUSE(list, what, which) (ONE(list), (list)->ptr[0].kind = text(what), (list)->ptr[0].value = copied(which))

// Says that a setting cannot be used, and what would be right. Return what this returns.
static inline bool refused(portcullis_error_t *error, const plugin_string_t *key, const char *reason) {
    error->tag = PORTCULLIS_ERROR_INVALID_SETTING;
    error->val.invalid_setting.key = copied(key);
    error->val.invalid_setting.reason = text(reason);
    return false;
}

#endif
