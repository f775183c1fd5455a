#include "windows.h"

// What is left of a text that is being read.
typedef struct {
    plugin_string_t rest;
} reader_t;

static bool take(reader_t *reader, const char *words) {
    if (!begins(reader->rest, words)) return false;
    reader->rest = from(reader->rest, strlen(words));
    return true;
}

static void skip_blanks(reader_t *reader) {
    while (take(reader, " ")) {
    }
}

static bool take_digits(reader_t *reader, size_t digits, int32_t *number) {
    if (reader->rest.len < digits) return false;
    *number = 0;
    for (size_t at = 0; at < digits; at++) {
        if (!is_digit(reader->rest.ptr[at])) return false;
        *number = *number * 10 + (reader->rest.ptr[at] - '0');
    }
    reader->rest = from(reader->rest, digits);
    return true;
}

// `08:00` to `24:00`, as minutes of a day.
static bool take_time(reader_t *reader, int32_t *minutes) {
    reader_t ahead = *reader;
    int32_t hour, minute;
    if (!take_digits(&ahead, 2, &hour) || !take(&ahead, ":") || !take_digits(&ahead, 2, &minute)) return false;
    if (hour > 24 || minute > 59 || (hour == 24 && minute > 0)) return false;
    *minutes = hour * 60 + minute;
    *reader = ahead;
    return true;
}

static uint8_t lower(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 'a' - 'A') : byte;
}

// `Mon`, `Monday`, or anything between.
static bool take_day(reader_t *reader, int32_t *day) {
    enum { SHORTEST = 3 };
    for (int32_t at = 0; at < 7; at++) {
        size_t same = 0;
        while (same < reader->rest.len && DAY_NAMES[at][same] && lower(reader->rest.ptr[same]) == lower((uint8_t)DAY_NAMES[at][same]))
            same++;
        bool ends_there = same == reader->rest.len || lower(reader->rest.ptr[same]) < 'a' || lower(reader->rest.ptr[same]) > 'z';
        if (same < SHORTEST || !ends_there) continue;
        reader->rest = from(reader->rest, same);
        *day = at;
        return true;
    }
    return false;
}

static window_t week_window(int32_t start, int32_t end) {
    return (window_t){.weekly = true, .week = weekly_between(start % MINUTES_OF_WEEK, end)};
}

// `22:00-06:00` on each day from one to another.
static size_t on_each_day(int32_t first, int32_t last, int32_t start, int32_t end, window_t windows[MOST_OF_ONE_ITEM]) {
    size_t many = 0;
    for (int32_t day = first;; day = (day + 1) % 7) {
        int32_t ends_at = end <= start ? end + MINUTES_OF_DAY : end;
        windows[many++] = week_window(day * MINUTES_OF_DAY + start, day * MINUTES_OF_DAY + ends_at);
        if (day == last || many == MOST_OF_ONE_ITEM) return many;
    }
}

size_t read_weekly(plugin_string_t text, window_t windows[MOST_OF_ONE_ITEM]) {
    reader_t reader = {trimmed(text)};
    int32_t first = 0, last = 6, start, end, day;
    bool has_day = take_day(&reader, &first), has_range = false;
    if (has_day) {
        last = first;
        reader_t ahead = reader;
        has_range = (take(&ahead, "..") || take(&ahead, "-")) && take_day(&ahead, &last);
        if (has_range) reader = ahead;
    }
    skip_blanks(&reader);
    if (has_day && reader.rest.len == 0) {
        windows[0] = week_window(first * MINUTES_OF_DAY, (last + 1) * MINUTES_OF_DAY);
        return 1;
    }
    if (!take_time(&reader, &start)) return 0;
    skip_blanks(&reader);
    if (!take(&reader, "-")) return 0;
    skip_blanks(&reader);
    if (has_day && !has_range && take_day(&reader, &day)) {
        skip_blanks(&reader);
        if (!take_time(&reader, &end) || reader.rest.len > 0) return 0;
        if (first == day && start == end) return 0;
        windows[0] = week_window(first * MINUTES_OF_DAY + start, day * MINUTES_OF_DAY + end);
        return 1;
    }
    if (!take_time(&reader, &end) || reader.rest.len > 0 || start == end || start == MINUTES_OF_DAY) return 0;
    return on_each_day(first, last, start, end, windows);
}

// A date, and a time if there is one; `timed` says which.
static bool take_date(reader_t *reader, int64_t *minutes, bool *timed) {
    date_t date;
    bool taken = take_digits(reader, 4, &date.year) && take(reader, "-") && take_digits(reader, 2, &date.month) && take(reader, "-") &&
                 take_digits(reader, 2, &date.day);
    if (!taken || !is_date(date)) return false;
    int32_t time = 0;
    reader_t ahead = *reader;
    *timed = (take(&ahead, " ") || take(&ahead, "T")) && take_time(&ahead, &time);
    if (*timed) *reader = ahead;
    *minutes = day_number(date) * MINUTES_OF_DAY + time;
    return true;
}

bool read_dated(plugin_string_t text, window_t *window) {
    reader_t reader = {trimmed(text)};
    bool timed;
    *window = (window_t){.weekly = false};
    if (!take_date(&reader, &window->start, &timed)) return false;
    if (reader.rest.len == 0 && !timed) {
        window->end = window->start + MINUTES_OF_DAY;
        return true;
    }
    skip_blanks(&reader);
    if (!take(&reader, "..")) return false;
    skip_blanks(&reader);
    if (!take_date(&reader, &window->end, &timed) || reader.rest.len > 0) return false;
    if (!timed) window->end += MINUTES_OF_DAY;
    return window->start < window->end;
}

// A number of one digit or two.
static bool take_number(reader_t *reader, int32_t least, int32_t most, int32_t *number) {
    bool taken = take_digits(reader, 2, number) || take_digits(reader, 1, number);
    return taken && *number >= least && *number <= most;
}

// `M10.5.0/3`; without a time it is two o'clock.
static bool take_change(reader_t *reader, change_t *change) {
    int32_t weekday, hour = 2, minute = 0;
    bool taken = take(reader, "M") && take_number(reader, 1, 12, &change->month) && take(reader, ".") &&
                 take_number(reader, 1, 5, &change->week) && take(reader, ".") && take_number(reader, 0, 6, &weekday);
    if (!taken) return false;
    if (take(reader, "/")) {
        if (!take_number(reader, 0, 24, &hour)) return false;
        if (take(reader, ":") && (!take_digits(reader, 2, &minute) || minute > 59)) return false;
    }
    // POSIX counts from Sunday.
    change->weekday = (weekday + 6) % 7;
    change->minute = hour * 60 + minute;
    return true;
}

bool read_summer(plugin_string_t text, summer_t *summer) {
    reader_t reader = {trimmed(text)};
    *summer = (summer_t){.is_known = true};
    bool taken = take_change(&reader, &summer->begin) && take(&reader, ",") && take_change(&reader, &summer->end);
    return taken && reader.rest.len == 0 && summer->begin.month != summer->end.month;
}

bool is_in_window(const window_t *window, int64_t minutes, int64_t *end) {
    if (window->weekly) return is_in_week(window->week, minutes, end);
    *end = window->end;
    return minutes >= window->start && minutes < window->end;
}
