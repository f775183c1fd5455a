// Who changes a file, and how: by hand, or by a program that makes such files.
#ifndef WRITERS_H
#define WRITERS_H

#include "files.h"

// What is done to a file.
typedef enum { WRITTEN, ADDED, COPIED, MOVED, DELETED } change_t;

// What surrounds a change.
typedef struct {
    const portcullis_action_t *action;
    // NULL where it is no command line.
    const portcullis_shell_t *shell;
    const settings_t *settings;
    // The first and the last command that is a generator, as indices and one more; 0 for none.
    size_t first_generator;
    size_t last_generator;
} scene_t;
scene_t read_scene(const portcullis_action_t *action, const settings_t *settings);

// The command that an effect belongs to; NULL for a file tool, and for a redirection without a program.
const portcullis_command_t *command_of(const scene_t *scene, const portcullis_effect_t *effect);

// Whoever gave the words of the command, or of the tool, decided what stands in the file.
bool is_by_hand(const scene_t *scene, const portcullis_effect_t *effect);

// What the effect does to its path.
change_t change_of(const scene_t *scene, const portcullis_effect_t *effect);

// It writes, makes or removes a file.
bool changes_file(const portcullis_effect_t *effect);

// What a command copies or moves there was made by a program of this very command line.
bool is_copy_of_output(const scene_t *scene, const portcullis_effect_t *effect);

// It is a copy of a file with the same name, or of its backup.
bool is_copy_of_same(const scene_t *scene, const portcullis_effect_t *effect);

// A later command makes such files again.
bool is_made_again(const scene_t *scene, const portcullis_effect_t *effect);

#endif
