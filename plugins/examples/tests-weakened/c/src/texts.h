// Texts as bytes: no tables, the same in every language. A text that a function here returns may be a part of
// another; give an answer a copy of it.
#ifndef TEXTS_H
#define TEXTS_H

#include "portcullis.h"

// Several texts, ended by NULL.
typedef const char *const words_t[];

// The text is one of them.
bool is_one_of(plugin_string_t text, words_t words);

bool begins(plugin_string_t text, const char *words);
bool ends(plugin_string_t text, const char *words);

// A text holds another somewhere; the empty one nowhere.
bool holds(plugin_string_t text, plugin_string_t part);

// Where a text holds these words first; its length where it does not.
size_t find(plugin_string_t text, const char *words);

// What stands from a position on; nothing where the text ends before it.
plugin_string_t from(plugin_string_t text, size_t at);

// What stands before a position.
plugin_string_t before(plugin_string_t text, size_t at);

// Takes the next part off a text that a byte separates. An empty text is one empty part.
typedef struct {
    plugin_string_t rest;
    bool ended;
} parts_t;
parts_t parts(plugin_string_t text);
bool next(parts_t *parts, char separator, plugin_string_t *part);

// Takes the next word off a text: letters, digits and `_`, in lower case.
bool next_word(plugin_string_t *rest, plugin_string_t *word);

// At how many positions each of these parts stands in a text. One that begins with a letter stands at the beginning of a
// name; with `whole` a dot before it makes it a part of another name too.
enum { MOST_PARTS = 32 };
void count_each(plugin_string_t text, words_t parts, bool whole, size_t found[]);

// The sum of these; of at most `MOST_PARTS`.
size_t count(plugin_string_t text, words_t parts, bool whole);

// Space, tab or line feed.
bool is_blank(uint8_t byte);
bool is_capital(uint8_t byte);

// Several texts as one, in a memory of its own.
#define JOINED(...) joined((plugin_string_t[]){__VA_ARGS__}, sizeof((plugin_string_t[]){__VA_ARGS__}) / sizeof(plugin_string_t))
plugin_string_t joined(const plugin_string_t *texts, size_t many);

// A number in decimal.
plugin_string_t decimal(uint64_t number);

#endif
