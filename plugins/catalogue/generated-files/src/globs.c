#include "globs.h"

pattern_t read_pattern(plugin_string_t written) {
    pattern_t pattern = {written, false, ends(written, "/"), holds(written, "*") || holds(written, "?")};
    if (pattern.folders) pattern.text.len--;
    pattern.anchored = holds(pattern.text, "/");
    if (begins(pattern.text, "/")) pattern.text = from(pattern.text, 1);
    return pattern;
}

// The end of the part that begins at a position.
static size_t end_of_part(plugin_string_t text, size_t start) {
    while (start < text.len && text.ptr[start] != '/') start++;
    return start;
}

place_t read_place(plugin_string_t path, bool folder) {
    place_t place = {.text = path, .folder = folder};
    for (size_t start = 0; start < path.len && place.parts < MOST_PARTS;) {
        bool last = place.parts + 1 == MOST_PARTS;
        size_t end = last ? path.len : end_of_part(path, start);
        place.firsts[place.parts] = path.ptr[start];
        place.lasts[place.parts] = path.ptr[end > start ? end - 1 : start];
        place.ends[place.parts++] = end;
        start = end + 1;
    }
    return place;
}

static plugin_string_t part_of(const place_t *place, size_t part) {
    size_t start = part > 0 ? place->ends[part - 1] + 1 : 0;
    return (plugin_string_t){place->text.ptr + start, place->ends[part] - start};
}

// One name fits one part of a pattern. The last `*` alone can give way, so that no name takes more than a square of time.
static bool match_wild(plugin_string_t pattern, plugin_string_t name) {
    size_t at = 0, in = 0, star = SIZE_MAX, retry = 0;
    while (at < name.len) {
        if (in < pattern.len && pattern.ptr[in] == '*') {
            star = in++;
            retry = at;
        } else if (in < pattern.len && (pattern.ptr[in] == '?' || pattern.ptr[in] == name.ptr[at])) {
            in++, at++;
        } else if (star != SIZE_MAX) {
            in = star + 1;
            at = ++retry;
        } else {
            return false;
        }
    }
    while (in < pattern.len && pattern.ptr[in] == '*') in++;
    return in == pattern.len;
}

static bool match_name(plugin_string_t pattern, bool wild, plugin_string_t name) {
    if (pattern.len == 0 || name.len == 0) return false;
    return wild ? match_wild(pattern, name) : equals(pattern, name);
}

static bool is_wildcard(uint8_t byte) {
    return byte == '*' || byte == '?';
}

// With `folders`, what fits has to be a folder.
static bool is_fit(const pattern_t *pattern, const place_t *place, size_t part) {
    return !pattern->folders || part + 1 < place->parts || place->folder;
}

static size_t match_any_name(const pattern_t *pattern, const place_t *place) {
    if (pattern->text.len == 0) return 0;
    uint8_t first = pattern->text.ptr[0], last = pattern->text.ptr[pattern->text.len - 1];
    bool any_first = is_wildcard(first), any_last = is_wildcard(last);
    for (size_t part = 0; part < place->parts; part++) {
        if (!any_last && place->lasts[part] != last) continue;
        if (!any_first && place->firsts[part] != first) continue;
        if (match_name(pattern->text, pattern->wild, part_of(place, part)) && is_fit(pattern, place, part)) return place->ends[part];
    }
    return 0;
}

size_t match_place(const pattern_t *pattern, const place_t *place) {
    if (!pattern->anchored) return match_any_name(pattern, place);
    // As in a name, the last `**` alone can give way.
    size_t part = 0, in = 0, star = SIZE_MAX, retry = 0;
    while (part < place->parts) {
        size_t end = end_of_part(pattern->text, in);
        plugin_string_t wanted = from(before(pattern->text, end), in);
        if (in < pattern->text.len && is(&wanted, "**")) {
            if (end == pattern->text.len) return place->text.len;
            star = in = end + 1;
            retry = part;
            continue;
        }
        bool fits = in < pattern->text.len && match_name(wanted, pattern->wild, part_of(place, part));
        if (fits && end == pattern->text.len && is_fit(pattern, place, part)) return place->ends[part];
        if (fits && end < pattern->text.len) {
            in = end + 1;
            part++;
        } else if (star != SIZE_MAX) {
            in = star;
            part = ++retry;
        } else {
            return 0;
        }
    }
    return 0;
}
