// Times in which something is frozen, as the settings write them.
#ifndef WINDOWS_H
#define WINDOWS_H

#include "calendar.h"
#include "texts.h"

// A span of each week, or one that comes once.
typedef struct {
    bool weekly;
    weekly_t week;
    // Local minutes since 1970, for one that comes once; its end does not belong to it.
    int64_t start;
    int64_t end;
} window_t;

enum { MOST_OF_ONE_ITEM = 7 };

// Reads `Fri 16:00-Mon 08:00`, `22:00-06:00`, `Sat..Sun` or `Mon..Fri 18:00-20:00`: up to a window for each day. Returns
// how many; 0 for a text that is none of these.
size_t read_weekly(plugin_string_t text, window_t windows[MOST_OF_ONE_ITEM]);

// Reads `2026-12-20..2027-01-04`, `2026-12-24`, or with times `2026-12-23 18:00..2027-01-04 08:00`. Without a time the
// last day belongs to it. False for a text that is none of these, and for one that ends before it begins.
bool read_dated(plugin_string_t text, window_t *window);

// Reads `M3.5.0,M10.5.0/3`: the days on which summer time begins and ends, as the last part of a POSIX time zone. False for
// a text that is none.
bool read_summer(plugin_string_t text, summer_t *summer);

// The time lies in the window; then `end` is the local minute at which it ends.
bool is_in_window(const window_t *window, int64_t minutes, int64_t *end);

#endif
