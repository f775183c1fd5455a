// Whether tests are to pass, and whether the person asked for fewer of them.
#ifndef GOALS_H
#define GOALS_H

#include "portcullis.h"

// Some goal wants them to pass.
bool want_tests_to_pass(const portcullis_list_goal_t *goals);

// The newest goal asks for fewer tests.
bool ask_for_it(const portcullis_list_goal_t *goals);

#endif
