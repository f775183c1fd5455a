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

void count_each(plugin_string_t text, words_t parts, bool whole, size_t found[]) {
    // A text may be long, and each byte of it costs fuel: most begin no part at all.
    bool begins_one[256] = {false};
    for (size_t part = 0; parts[part]; part++) {
        found[part] = 0;
        begins_one[(uint8_t)parts[part][0]] = true;
    }
    for (size_t at = 0; at < text.len; at++) {
        uint8_t byte = text.ptr[at], last = at > 0 ? text.ptr[at - 1] : ' ';
        if (!begins_one[byte]) continue;
        bool in_name = is_letter(byte) && (is_in_name(last) || last == '$' || (whole && last == '.'));
        if (in_name) continue;
        for (size_t part = 0; parts[part]; part++) {
            if ((uint8_t)parts[part][0] == byte && begins(from(text, at), parts[part])) found[part]++;
        }
    }
}

size_t count(plugin_string_t text, words_t parts, bool whole) {
    size_t found[MOST_PARTS], sum = 0;
    count_each(text, parts, whole, found);
    for (size_t part = 0; parts[part]; part++) sum += found[part];
    return sum;
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
