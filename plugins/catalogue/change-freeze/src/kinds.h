// What an action does that a freeze may hold: by its effects, and where those are not known, by its name.
#ifndef KINDS_H
#define KINDS_H

#include "settings.h"

// What a whole action does.
typedef struct {
    kinds_t kinds;
    // The first command that does it, for each kind; NULL for a tool.
    const portcullis_command_t *commands[MANY_KINDS];
} doings_t;

// Finds out what an action does, as far as it is frozen.
doings_t read_doings(const portcullis_action_t *action, const portcullis_context_t *context, const settings_t *settings);

#endif
