#include "texts.h"

plugin_string_t constant(const char *words) {
    return (plugin_string_t){(uint8_t *)words, strlen(words)};
}

bool equals(plugin_string_t text, plugin_string_t other) {
    return text.len == other.len && (text.len == 0 || memcmp(text.ptr, other.ptr, text.len) == 0);
}

bool is_one_of(plugin_string_t text, words_t words) {
    // Lists are long, and most of their words begin otherwise.
    char first = text.len > 0 ? (char)text.ptr[0] : 0;
    for (size_t at = 0; words[at]; at++) {
        if (words[at][0] == first && is(&text, words[at])) return true;
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

size_t find(plugin_string_t text, const char *words) {
    size_t length = strlen(words);
    if (length == 0 || length > text.len) return text.len;
    // Byte by byte: a call into the library for each byte that could begin it would cost many times as much.
    for (size_t at = 0; at + length <= text.len; at++) {
        size_t same = 0;
        while (same < length && text.ptr[at + same] == (uint8_t)words[same]) same++;
        if (same == length) return at;
    }
    return text.len;
}

bool holds(plugin_string_t text, const char *words) {
    return find(text, words) < text.len;
}

plugin_string_t from(plugin_string_t text, size_t at) {
    if (at > text.len) at = text.len;
    return (plugin_string_t){text.ptr + at, text.len - at};
}

plugin_string_t before(plugin_string_t text, size_t at) {
    return (plugin_string_t){text.ptr, at < text.len ? at : text.len};
}

plugin_string_t trimmed(plugin_string_t text) {
    while (text.len > 0 && is_blank(text.ptr[0])) text = from(text, 1);
    while (text.len > 0 && is_blank(text.ptr[text.len - 1])) text.len--;
    return text;
}

plugin_string_t name_of(plugin_string_t path) {
    size_t start = path.len;
    while (start > 0 && path.ptr[start - 1] != '/') start--;
    return from(path, start);
}

parts_t parts(plugin_string_t text) {
    return (parts_t){text, false};
}

bool next(parts_t *parts, char separator, plugin_string_t *part) {
    if (parts->ended) return false;
    const uint8_t *found = parts->rest.len > 0 ? memchr(parts->rest.ptr, separator, parts->rest.len) : NULL;
    size_t end = found ? (size_t)(found - parts->rest.ptr) : parts->rest.len;
    *part = before(parts->rest, end);
    parts->ended = !found;
    parts->rest = from(parts->rest, end + 1);
    return true;
}

bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

plugin_string_t joined(const plugin_string_t *texts, size_t many) {
    size_t length = 0;
    for (size_t at = 0; at < many; at++) length += texts[at].len;
    plugin_string_t whole = {room_for(length, 1), 0};
    for (size_t at = 0; at < many; at++) {
        if (texts[at].len == 0) continue;
        memcpy(whole.ptr + whole.len, texts[at].ptr, texts[at].len);
        whole.len += texts[at].len;
    }
    return whole;
}

void *room_for(size_t many, size_t size) {
    void *room = calloc(many > 0 ? many : 1, size);
    if (!room) abort();
    return room;
}
