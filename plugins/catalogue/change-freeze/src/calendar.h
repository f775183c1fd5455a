// Calendar arithmetic in whole minutes, without floating point and without a time zone database: a local time is UTC and
// an offset, with an hour more in summer where a rule says so. Everything here is a function of its arguments, and `tests/calendar.c` runs it on this machine.
#ifndef CALENDAR_H
#define CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MINUTES_OF_DAY = 1440, MINUTES_OF_WEEK = 10080, FIRST_YEAR = 1970, LAST_YEAR = 9999 };

// A day of the Gregorian calendar.
typedef struct {
    int32_t year;
    // 1 to 12.
    int32_t month;
    // 1 to 31.
    int32_t day;
} date_t;

// How many days a month has; 0 for a month that does not exist.
int32_t days_of_month(int32_t year, int32_t month);

// The date exists, and its year is one of those that this plugin knows.
bool is_date(date_t date);

// Days since 1970-01-01, which is 0, of a date that exists.
int64_t day_number(date_t date);

// The date of a day's number, which may be negative.
date_t date_of(int64_t day);

// 0 for Monday to 6 for Sunday.
int32_t weekday_of(int64_t day);

// A day of each year on which the clock changes, as POSIX writes it (`M3.5.0/2`).
typedef struct {
    // 1 to 12.
    int32_t month;
    // 1 to 5; 5 is the last one of the month.
    int32_t week;
    // 0 for Monday to 6 for Sunday.
    int32_t weekday;
    // The minute of the day, by the clock that ends then.
    int32_t minute;
} change_t;

// When summer time holds: an hour ahead of the offset.
typedef struct {
    bool is_known;
    change_t begin;
    change_t end;
} summer_t;

// The offset in force at a time, in minutes.
int32_t offset_at(uint64_t milliseconds, int32_t offset, const summer_t *summer);

// Local minutes since 1970-01-01T00:00, from milliseconds of UTC.
int64_t local_minutes(uint64_t milliseconds, int32_t offset);

// Minutes since the Monday before, 0 to 10079.
int32_t minute_of_week(int64_t minutes);

// A span of each week. It may go over Sunday's midnight.
typedef struct {
    // 0 to 10079.
    int32_t start;
    // 1 to 10080.
    int32_t length;
} weekly_t;

// The span that begins at one minute of the week and ends at another one, which may be 10080. Equal ones are a week.
weekly_t weekly_between(int32_t start, int32_t end);

// The time lies in the span; then `end` is the local minute at which this span ends.
bool is_in_week(weekly_t span, int64_t minutes, int64_t *end);

// Writes `Mon 2026-01-05 08:00`; always `LONGEST_TIME` bytes, without a zero at the end.
enum { LONGEST_TIME = 20 };
void write_time(int64_t minutes, char to[LONGEST_TIME]);

// Writes `UTC+01:00`; always `LONGEST_OFFSET` bytes, without a zero at the end.
enum { LONGEST_OFFSET = 9 };
void write_offset(int32_t offset, char to[LONGEST_OFFSET]);

// The names of the days, from Monday on.
extern const char *const DAY_NAMES[7];

#endif
