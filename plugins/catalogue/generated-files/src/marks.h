// What a text says of its own file: that a program wrote it, whose it is, and under which licence.
#ifndef MARKS_H
#define MARKS_H

#include "texts.h"

// What stands in the comments of a text.
typedef struct {
    bool generated;
    bool copyright;
    bool licence;
} marks_t;

// Reads the comments of the first lines of a text, as many as there are up to a number. With a sign, the text is a patch,
// and the lines are those that begin with it.
#define ALL_LINES SIZE_MAX
marks_t read_marks(plugin_string_t text, size_t lines, char sign);

// A script of `sed` or `perl` takes out lines with such a mark, or the mark itself.
marks_t marks_cut_by(plugin_string_t script);

#endif
