// What weakens tests.
#ifndef WEAKENING_H
#define WEAKENING_H

#include "tests_of.h"

// How tests are weakened.
typedef enum { DELETED, MOVED, EMPTIED, SKIPPED, CUT, LOOSENED, LEFT_OUT } kind_t;

typedef struct {
    kind_t kind;
    // The file's place, or what leaves them out.
    plugin_string_t thing;
    // The mark that skips one; else NULL.
    const char *mark;
} weakening_t;

// What an action does to the tests; false where it leaves them alone.
bool weakens(const portcullis_action_t *action, const project_t *project, weakening_t *found);

// In words.
plugin_string_t summary_of(const weakening_t *found);

// The worst that it can mean.
portcullis_severity_t severity_of(kind_t kind);

// How much of the tests it touches.
portcullis_score_t impact_of(kind_t kind);

#endif
