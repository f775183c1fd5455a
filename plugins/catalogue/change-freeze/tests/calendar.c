// The calendar on this machine: every day of four hundred years, leap years, the turn of weeks and years, offsets; and
// summer time at every half hour of sixty years, as the C library has it.
//
//     python3 -m ziglang cc -Wall -Wextra -Isrc tests/calendar.c src/calendar.c -o build/calendar && build/calendar

#define _GNU_SOURCE
#include "calendar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failed = 0;

static void check(bool holds, const char *what) {
    if (holds) return;
    failed++;
    printf("differs: %s\n", what);
}

static void every_day_has_its_date(void) {
    date_t date = {1970, 1, 1};
    for (int64_t day = 0; day < 146097 + 400; day++) {
        date_t found = date_of(day);
        bool same = found.year == date.year && found.month == date.month && found.day == date.day;
        check(same && is_date(date) && day_number(date) == day && weekday_of(day) == (day + 3) % 7, "a day and its date");
        if (failed > 0) return;
        date.day++;
        if (date.day > days_of_month(date.year, date.month)) date.day = 1, date.month++;
        if (date.month > 12) date.month = 1, date.year++;
    }
}

static void days_before_1970_have_dates(void) {
    date_t date = date_of(-1);
    check(date.year == 1969 && date.month == 12 && date.day == 31 && weekday_of(-1) == 2, "the day before 1970");
}

static void dates_exist_or_not(void) {
    static const struct {
        date_t date;
        bool exists;
    } DATES[] = {
        {{2024, 2, 29}, true},   {{2026, 2, 29}, false}, {{2000, 2, 29}, true},  {{2100, 2, 29}, false}, {{2400, 2, 29}, true},
        {{2026, 4, 31}, false},  {{2026, 12, 31}, true}, {{2026, 13, 1}, false}, {{2026, 0, 1}, false},  {{2026, 1, 0}, false},
        {{1969, 12, 31}, false}, {{9999, 12, 31}, true}, {{10000, 1, 1}, false},
    };
    for (size_t at = 0; at < sizeof DATES / sizeof *DATES; at++)
        check(is_date(DATES[at].date) == DATES[at].exists, "whether a date exists");
    check(day_number((date_t){2028, 3, 1}) - day_number((date_t){2028, 2, 28}) == 2, "a leap year's February");
    check(day_number((date_t){2027, 1, 1}) - day_number((date_t){2026, 12, 31}) == 1, "the end of a year");
}

static bool is_in(int32_t start, int32_t end, int64_t minutes) {
    int64_t until;
    return is_in_week(weekly_between(start, end), minutes, &until);
}

static void weeks_turn(void) {
    // 2026-01-05 is a Monday.
    int64_t monday = day_number((date_t){2026, 1, 5}) * MINUTES_OF_DAY, until = 0;
    int32_t friday = 4 * MINUTES_OF_DAY + 16 * 60, morning = 8 * 60;
    check(minute_of_week(monday) == 0 && minute_of_week(monday - 1) == MINUTES_OF_WEEK - 1, "Monday's midnight");
    check(is_in(friday, morning, monday) && is_in(friday, morning, monday - 1), "both sides of a turn of the week");
    check(is_in(friday, morning, monday + 479) && !is_in(friday, morning, monday + 480), "the end is not in the span");
    check(!is_in(friday, morning, monday + friday - 1) && is_in(friday, morning, monday + friday), "the start is");
    check(is_in_week(weekly_between(friday, morning), monday - 60, &until) && until == monday + 480, "the end of a span that turns");
    check(is_in(5 * MINUTES_OF_DAY, MINUTES_OF_WEEK, monday - 1) && !is_in(5 * MINUTES_OF_DAY, MINUTES_OF_WEEK, monday),
          "Sunday's end");
    check(is_in(60, 60, monday) && is_in(60, 60, monday + 60), "a whole week");
}

static void times_are_written(void) {
    char time[LONGEST_TIME], offset[LONGEST_OFFSET];
    write_time(day_number((date_t){2028, 2, 29}) * MINUTES_OF_DAY + 61, time);
    check(memcmp(time, "Tue 2028-02-29 01:01", LONGEST_TIME) == 0, "a leap day's time");
    write_time(-1, time);
    check(memcmp(time, "Wed 1969-12-31 23:59", LONGEST_TIME) == 0, "a time before 1970");
    static const struct {
        int32_t offset;
        const char *written;
    } OFFSETS[] = {{0, "UTC+00:00"},   {60, "UTC+01:00"},   {-210, "UTC-03:30"},
                   {840, "UTC+14:00"}, {-720, "UTC-12:00"}, {345, "UTC+05:45"}};
    for (size_t at = 0; at < sizeof OFFSETS / sizeof *OFFSETS; at++) {
        write_offset(OFFSETS[at].offset, offset);
        check(memcmp(offset, OFFSETS[at].written, LONGEST_OFFSET) == 0, OFFSETS[at].written);
    }
}

static void offsets_move_the_day(void) {
    // 2026-12-31T23:30:00Z.
    uint64_t late = (uint64_t)(day_number((date_t){2026, 12, 31}) * MINUTES_OF_DAY + 1410) * 60000;
    char time[LONGEST_TIME];
    write_time(local_minutes(late, 60), time);
    check(memcmp(time, "Fri 2027-01-01 00:30", LONGEST_TIME) == 0, "an offset to the east, over the end of the year");
    write_time(local_minutes(late + 3600000, -300), time);
    check(memcmp(time, "Thu 2026-12-31 19:30", LONGEST_TIME) == 0, "an offset to the west, back over it");
    check(local_minutes(0, -720) == -720 && minute_of_week(-720) == 3 * MINUTES_OF_DAY - 720, "an offset to before 1970");
    check(local_minutes(59999, 0) == 0 && local_minutes(60000, 0) == 1, "a minute begins with its first millisecond");
}

static void summer_is_as_the_library_has_it(void) {
    static const struct {
        const char *zone;
        int32_t offset;
        summer_t summer;
    } ZONES[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", 60, {true, {3, 5, 6, 120}, {10, 5, 6, 180}}},
        {"EST5EDT,M3.2.0,M11.1.0", -300, {true, {3, 2, 6, 120}, {11, 1, 6, 120}}},
        {"NZST-12NZDT,M9.5.0,M4.1.0/3", 720, {true, {9, 5, 6, 120}, {4, 1, 6, 180}}},
        {"XST3:30XDT,M2.4.3/0:30,M8.1.5/24", -210, {true, {2, 4, 2, 30}, {8, 1, 4, 1440}}},
    };
    for (size_t at = 0; at < sizeof ZONES / sizeof *ZONES; at++) {
        setenv("TZ", ZONES[at].zone, 1);
        tzset();
        int differ = 0;
        // From 1971, since the library knows no rule before its first year.
        for (time_t time = 31536000; time < (time_t)60 * 31556952; time += 1800) {
            struct tm there;
            localtime_r(&time, &there);
            differ += offset_at((uint64_t)time * 1000, ZONES[at].offset, &ZONES[at].summer) * 60 != there.tm_gmtoff;
        }
        check(differ == 0, ZONES[at].zone);
    }
}

int main(void) {
    every_day_has_its_date();
    days_before_1970_have_dates();
    dates_exist_or_not();
    weeks_turn();
    times_are_written();
    offsets_move_the_day();
    summer_is_as_the_library_has_it();
    if (failed == 0) printf("the calendar is right\n");
    return failed > 0;
}
