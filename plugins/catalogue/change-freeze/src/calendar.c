#include "calendar.h"

const char *const DAY_NAMES[7] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

// Division that rounds down, also for what is before 1970.
static int64_t divide(int64_t number, int64_t by) {
    return number / by - (number % by < 0 ? 1 : 0);
}

static int64_t remainder_of(int64_t number, int64_t by) {
    return number - divide(number, by) * by;
}

static bool is_leap_year(int32_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int32_t days_of_month(int32_t year, int32_t month) {
    static const int32_t DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12) return 0;
    return month == 2 && is_leap_year(year) ? 29 : DAYS[month - 1];
}

bool is_date(date_t date) {
    bool in_range = date.year >= FIRST_YEAR && date.year <= LAST_YEAR;
    return in_range && date.day >= 1 && date.day <= days_of_month(date.year, date.month);
}

// Years are counted from March, so that the leap day is a year's last; 400 of them have 146097 days.
int64_t day_number(date_t date) {
    int64_t year = date.month <= 2 ? (int64_t)date.year - 1 : date.year;
    int64_t era = divide(year, 400), of_era = year - era * 400;
    int64_t month = (date.month + 9) % 12;
    int64_t of_year = (153 * month + 2) / 5 + date.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

date_t date_of(int64_t day) {
    int64_t era = divide(day + 719468, 146097), of_era = day + 719468 - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int64_t month = (5 * of_year + 2) / 153;
    date_t date = {
        .year = (int32_t)(years + era * 400 + (month >= 10 ? 1 : 0)),
        .month = (int32_t)(month < 10 ? month + 3 : month - 9),
        .day = (int32_t)(of_year - (153 * month + 2) / 5 + 1),
    };
    return date;
}

int32_t weekday_of(int64_t day) {
    // 1970-01-01 was a Thursday.
    return (int32_t)remainder_of(day + 3, 7);
}

// The local minute of a year at which a clock changes.
static int64_t minute_of_change(int32_t year, const change_t *change) {
    int64_t first = day_number((date_t){year, change->month, 1});
    int64_t day = first + (change->weekday - weekday_of(first) + 7) % 7 + 7 * (change->week - 1);
    // The fifth one of a month that has four is the last.
    while (day >= first + days_of_month(year, change->month)) day -= 7;
    return day * MINUTES_OF_DAY + change->minute;
}

int32_t offset_at(uint64_t milliseconds, int32_t offset, const summer_t *summer) {
    enum { HOUR = 60 };
    if (!summer->is_known) return offset;
    int64_t minutes = local_minutes(milliseconds, offset);
    int32_t year = date_of(divide(minutes, MINUTES_OF_DAY)).year;
    // The clock that ends in autumn is an hour ahead.
    int64_t begin = minute_of_change(year, &summer->begin), end = minute_of_change(year, &summer->end) - HOUR;
    bool is_summer = begin < end ? minutes >= begin && minutes < end : minutes >= begin || minutes < end;
    return is_summer ? offset + HOUR : offset;
}

int64_t local_minutes(uint64_t milliseconds, int32_t offset) {
    return (int64_t)(milliseconds / 60000) + offset;
}

int32_t minute_of_week(int64_t minutes) {
    return (int32_t)remainder_of(minutes + 3 * MINUTES_OF_DAY, MINUTES_OF_WEEK);
}

weekly_t weekly_between(int32_t start, int32_t end) {
    int32_t length = (int32_t)remainder_of((int64_t)end - start, MINUTES_OF_WEEK);
    return (weekly_t){start, length > 0 ? length : MINUTES_OF_WEEK};
}

bool is_in_week(weekly_t span, int64_t minutes, int64_t *end) {
    int64_t since = remainder_of((int64_t)minute_of_week(minutes) - span.start, MINUTES_OF_WEEK);
    if (since >= span.length) return false;
    *end = minutes - since + span.length;
    return true;
}

static void write_number(int64_t number, char *to, size_t digits) {
    while (digits > 0) {
        to[--digits] = (char)('0' + number % 10);
        number /= 10;
    }
}

void write_time(int64_t minutes, char to[LONGEST_TIME]) {
    int64_t day = divide(minutes, MINUTES_OF_DAY), of_day = remainder_of(minutes, MINUTES_OF_DAY);
    date_t date = date_of(day);
    const char *name = DAY_NAMES[weekday_of(day)];
    for (size_t at = 0; at < 3; at++) to[at] = name[at];
    to[3] = to[14] = ' ';
    write_number(date.year, to + 4, 4);
    to[8] = to[11] = '-';
    write_number(date.month, to + 9, 2);
    write_number(date.day, to + 12, 2);
    write_number(of_day / 60, to + 15, 2);
    to[17] = ':';
    write_number(of_day % 60, to + 18, 2);
}

void write_offset(int32_t offset, char to[LONGEST_OFFSET]) {
    static const char NAME[] = "UTC";
    int32_t size = offset < 0 ? -offset : offset;
    for (size_t at = 0; at < 3; at++) to[at] = NAME[at];
    to[3] = offset < 0 ? '-' : '+';
    write_number(size / 60, to + 4, 2);
    to[6] = ':';
    write_number(size % 60, to + 7, 2);
}
