// Test runs: which commands are some, and what they leave out.
#ifndef RUNS_H
#define RUNS_H

#include "portcullis.h"

// The state after an action; false where it tells nothing of the tests.
bool state_after(const portcullis_action_t *action, plugin_list_u8_t *state);

// The command runs tests.
bool is_test_run(const portcullis_command_t *command);

// What a test run leaves out; false where that is nothing.
bool leaves_out(const portcullis_shell_t *shell, const portcullis_command_t *command, plugin_string_t *what);

#endif
