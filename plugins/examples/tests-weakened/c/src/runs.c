#include "runs.h"
#include "memory.h"
#include "tests_of.h"
#include "texts.h"

static words_t RUNNERS = {"pytest", "py.test", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit", "nosetests", "tox", "unittest", NULL};
static words_t TOOLS = {"cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "make", "just",
                        "mvn", "mvnw", "gradle", "gradlew", "dotnet", "mix", "swift", "rake", NULL};
static words_t TASKS = {"test", "tests", "check", "nextest", "verify", NULL};
static words_t PYTHONS = {"python", "python3", NULL};
static words_t MODULES = {"unittest", "pytest", NULL};
static words_t LEAVE_OUT = {"--deselect", "--ignore", "--ignore-glob", "--skip", "-skip", "--exclude-regex",
                            "--testPathIgnorePatterns", "-DskipTests", "-Dmaven.test.skip", NULL};
static words_t HIDES = {"|| true", "||true", "|| :", "|| exit 0", NULL};

bool state_after(const portcullis_action_t *action, plugin_list_u8_t *state) {
    if (action->operation.tag != PORTCULLIS_OPERATION_SHELL) return false;
    const portcullis_shell_t *shell = &action->operation.val.shell;
    bool ran = false;
    for (size_t at = 0; at < shell->commands.len; at++) {
        if (!is_test_run(&shell->commands.ptr[at])) continue;
        plugin_string_t what;
        if (leaves_out(shell, &shell->commands.ptr[at], &what)) return false;
        ran = true;
    }
    const portcullis_outcome_t *outcome = &action->outcome.val;
    if (!ran || (outcome->status != PORTCULLIS_STATUS_FAILED && outcome->status != PORTCULLIS_STATUS_OK)) return false;
    *state = (plugin_list_u8_t){NULL, 0};
    if (outcome->status == PORTCULLIS_STATUS_FAILED) *state = remember(action->step, outcome->error, outcome->output);
    return true;
}

bool is_test_run(const portcullis_command_t *command) {
    if (is_one_of(command->program, RUNNERS)) return true;
    bool tool = is_one_of(command->program, TOOLS), python = is_one_of(command->program, PYTHONS);
    for (size_t at = 0; at < command->words.len; at++) {
        plugin_string_t word = command->words.ptr[at].text;
        if (tool && (is_one_of(word, TASKS) || begins(word, "test:"))) return true;
        if (python && is_one_of(word, MODULES)) return true;
    }
    return false;
}

// The word leaves tests out, perhaps together with the one after it.
static bool by_word(plugin_string_t word, const plugin_string_t *after, plugin_string_t *what) {
    bool chooses = is(&word, "-k") || is(&word, "-m");
    if (chooses && !(after && (begins(*after, "not ") || holds(*after, text(" not "))))) return false;
    size_t equals = find(word, "=");
    if (!chooses && !is_one_of(before(word, equals), LEAVE_OUT)) return false;
    bool with_next = after && equals == word.len;
    if (!chooses && is_never_one(with_next ? *after : from(word, equals + 1))) return false;
    *what = with_next ? JOINED(word, text(" "), *after) : word;
    return true;
}

// The command's failure is hidden by what follows it.
static bool by_hiding(const portcullis_shell_t *shell, const portcullis_command_t *command, plugin_string_t *what) {
    plugin_string_t rest = from(shell->text, command->start);
    rest = before(rest, find(rest, ";"));
    rest = before(rest, find(rest, "&&"));
    rest = before(rest, find(rest, "\n"));
    for (size_t at = 0; HIDES[at]; at++) {
        if (find(rest, HIDES[at]) == rest.len) continue;
        *what = text(HIDES[at]);
        return true;
    }
    return false;
}

bool leaves_out(const portcullis_shell_t *shell, const portcullis_command_t *command, plugin_string_t *what) {
    for (size_t at = 0; at < command->words.len; at++) {
        const plugin_string_t *after = at + 1 < command->words.len ? &command->words.ptr[at + 1].text : NULL;
        if (by_word(command->words.ptr[at].text, after, what)) return true;
    }
    return by_hiding(shell, command, what);
}
