// Texts as bytes. A text that a function here returns may be a part of another; give an answer a copy of it.
#ifndef TEXTS_H
#define TEXTS_H

#include "portcullis.h"

// Several texts, ended by NULL.
typedef const char *const words_t[];

// A text of the program's own, to compare with; never for an answer.
plugin_string_t constant(const char *words);

bool equals(plugin_string_t text, plugin_string_t other);

// The text is one of them.
bool is_one_of(plugin_string_t text, words_t words);

bool begins(plugin_string_t text, const char *words);
bool ends(plugin_string_t text, const char *words);

// Where a text holds these words first; its length where it does not.
size_t find(plugin_string_t text, const char *words);
bool holds(plugin_string_t text, const char *words);

// What stands from a position on; nothing where the text ends before it.
plugin_string_t from(plugin_string_t text, size_t at);

// What stands before a position.
plugin_string_t before(plugin_string_t text, size_t at);

// Without blanks at both ends.
plugin_string_t trimmed(plugin_string_t text);

// What follows the last `/`.
plugin_string_t name_of(plugin_string_t path);

// Takes the next part off a text that a byte separates. An empty text is one empty part.
typedef struct {
    plugin_string_t rest;
    bool ended;
} parts_t;
parts_t parts(plugin_string_t text);
bool next(parts_t *parts, char separator, plugin_string_t *part);

// Space, tab, carriage return or line feed.
bool is_blank(uint8_t byte);
bool is_digit(uint8_t byte);

// Several texts as one, in a memory of its own.
#define JOINED(...) joined((plugin_string_t[]){__VA_ARGS__}, sizeof((plugin_string_t[]){__VA_ARGS__}) / sizeof(plugin_string_t))
plugin_string_t joined(const plugin_string_t *texts, size_t many);

// Memory for several things, cleared. Without any left the call ends as a fault, never as "nothing found".
void *room_for(size_t many, size_t size);

#endif
