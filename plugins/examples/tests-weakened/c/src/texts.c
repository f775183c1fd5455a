#include "texts.h"

static bool is_letter(uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || is_capital(byte);
}

static bool is_in_name(uint8_t byte) {
    return is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '_';
}

bool is_one_of(plugin_string_t text, words_t words) {
    for (size_t at = 0; words[at]; at++) {
        if (is(&text, words[at])) return true;
    }
    return false;
}

bool begins(plugin_string_t text, const char *words) {
    size_t length = strlen(words);
    return text.len >= length && memcmp(text.ptr, words, length) == 0;
}

bool ends(plugin_string_t text, const char *words) {
    size_t length = strlen(words);
    return text.len >= length && memcmp(text.ptr + text.len - length, words, length) == 0;
}

bool holds(plugin_string_t text, plugin_string_t part) {
    if (part.len == 0) return false;
    for (size_t at = 0; at + part.len <= text.len; at++) {
        if (memcmp(text.ptr + at, part.ptr, part.len) == 0) return true;
    }
    return false;
}

size_t find(plugin_string_t text, const char *words) {
    for (size_t at = 0; at < text.len; at++) {
        if (begins(from(text, at), words)) return at;
    }
    return text.len;
}

plugin_string_t from(plugin_string_t text, size_t at) {
    if (at > text.len) at = text.len;
    return (plugin_string_t){text.ptr + at, text.len - at};
}

plugin_string_t before(plugin_string_t text, size_t at) {
    return (plugin_string_t){text.ptr, at < text.len ? at : text.len};
}

parts_t parts(plugin_string_t text) {
    return (parts_t){text, false};
}

bool next(parts_t *parts, char separator, plugin_string_t *part) {
    if (parts->ended) return false;
    const char words[] = {separator, 0};
    size_t end = find(parts->rest, words);
    *part = before(parts->rest, end);
    parts->ended = end == parts->rest.len;
    parts->rest = from(parts->rest, end + 1);
    return true;
}

bool next_word(plugin_string_t *rest, plugin_string_t *word) {
    while (rest->len > 0 && !is_in_name(rest->ptr[0])) *rest = from(*rest, 1);
    size_t end = 0;
    while (end < rest->len && is_in_name(rest->ptr[end])) end++;
    if (end == 0) return false;
    plugin_string_t found = before(*rest, end);
    *word = copied(&found);
    for (size_t at = 0; at < end; at++) {
        if (is_capital(word->ptr[at])) word->ptr[at] += 'a' - 'A';
    }
    *rest = from(*rest, end);
    return true;
}

size_t count(plugin_string_t text, const char *part, bool whole) {
    bool named = is_letter((uint8_t)part[0]);
    size_t found = 0;
    for (size_t at = 0; at < text.len; at++) {
        if (!begins(from(text, at), part)) continue;
        uint8_t last = at > 0 ? text.ptr[at - 1] : ' ';
        bool in_name = is_in_name(last) || last == '$' || (whole && last == '.');
        if (!named || !in_name) found++;
    }
    return found;
}

bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\n';
}

bool is_capital(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z';
}

plugin_string_t joined(const plugin_string_t *texts, size_t many) {
    size_t length = 0;
    for (size_t at = 0; at < many; at++) length += texts[at].len;
    plugin_string_t whole = {malloc(length), 0};
    for (size_t at = 0; at < many; at++) {
        memcpy(whole.ptr + whole.len, texts[at].ptr, texts[at].len);
        whole.len += texts[at].len;
    }
    return whole;
}

plugin_string_t decimal(uint64_t number) {
    uint8_t digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    plugin_string_t shown = {digits + at, sizeof digits - at};
    return copied(&shown);
}
