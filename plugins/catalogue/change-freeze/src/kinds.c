#include "kinds.h"

// What the host calls the far end of programs that run what is deployed.
static words_t DEPLOYED_TO = {"cluster", "infrastructure", "servers", "hosting", NULL};
static words_t CLOUDS = {"aws", "gcloud", "az", "oci", "doctl", "hcloud", "ibmcloud", "aliyun", "eb", "copilot", NULL};
static words_t VERSION_CONTROL = {"git", "jj", "hg", "svn", "sl", "fossil", "p4", NULL};
// Git remotes that deploy what is pushed to them, by their usual names.
static words_t DEPLOYING_REMOTES = {"heroku", "dokku", "production", "prod", "live", "deploy", "staging", NULL};
static words_t COPIES_TO_SERVERS = {"scp", "rsync", "sftp", "lftp", "ftp", "rclone", NULL};
// Programs that run tasks, whose names say what those do.
static words_t RUNNERS = {
    "make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "rake", "rails", "bundle", "invoke", "inv", "mage", "gradle",
    "gradlew", "mvn", "mvnw", "composer", "bazel", "nx", "turbo", "nox", "tox", "doit", "ant", "dagger", "earthly", "docker",
    "bash", "sh", "zsh", "dash", "python", "python3", "node", "ruby", "php", "perl", "mix", "dotnet", "artisan", "knex",
    "sequelize", "sequelize-cli", "typeorm", "goose", "drizzle-kit", "mikro-orm", NULL};
static words_t DEPLOY_WORDS = {"deploy", "deploys", "deployment", "redeploy", "rollout", "rollback", "promote", "ship", NULL};
static words_t PUBLISH_WORDS = {"release", "publish", NULL};
static words_t DATABASE_WORDS = {"migrate", "migrations", NULL};
// Words that say that nothing goes out.
static words_t HARMLESS_WORDS = {
    "dry", "dryrun", "test", "tests", "check", "plan", "preview", "docs", "lint", "diff", "help", "status", "list", "logs",
    "validate", "generate", "make", NULL};
static words_t READING_WORDS = {
    "get", "list", "describe", "read", "search", "logs", "show", "query", "fetch", "watch", "status", "diff", "plan", "explain",
    "find", "view", "check", "validate", "lookup", "count", NULL};
static words_t OPERATED = {
    "kubernetes", "k8s", "kubectl", "helm", "terraform", "tofu", "pulumi", "aws", "gcp", "azure", "vercel", "netlify", "heroku",
    "fly", "railway", "render", "cloudflare", "argocd", "flux", "nomad", "ansible", "docker", NULL};

static bool has_word(const portcullis_command_t *command, size_t at, const char *word) {
    return at < command->words.len && is(&command->words.ptr[at].text, word);
}

// Takes the next run of letters off a text, in lower case: `deploy` and `prod` of `deploy:prod`, `push` and `files` of
// `pushFiles`.
static bool next_name(plugin_string_t *rest, plugin_string_t *name) {
    static uint8_t lowered[32];
    while (rest->len > 0 && !((rest->ptr[0] | 32) >= 'a' && (rest->ptr[0] | 32) <= 'z')) *rest = from(*rest, 1);
    size_t length = 0;
    while (length < rest->len && length < sizeof lowered) {
        uint8_t byte = rest->ptr[length];
        bool capital = byte >= 'A' && byte <= 'Z';
        if ((byte | 32) < 'a' || (byte | 32) > 'z') break;
        if (capital && length > 0 && rest->ptr[length - 1] >= 'a') break;
        lowered[length++] = byte | 32;
    }
    if (length == 0) return false;
    *name = (plugin_string_t){lowered, length};
    *rest = from(*rest, length);
    return true;
}

static bool holds_name(plugin_string_t text, words_t names) {
    for (plugin_string_t name; next_name(&text, &name);) {
        if (is_one_of(name, names)) return true;
    }
    return false;
}

// What a task, a script or a tool does by its name.
static kinds_t kinds_of_name(plugin_string_t name) {
    if (holds_name(name, HARMLESS_WORDS)) return 0;
    kinds_t kinds = holds_name(name, DEPLOY_WORDS) ? DEPLOY : 0;
    if (holds_name(name, PUBLISH_WORDS)) kinds |= PUBLISH;
    if (holds_name(name, DATABASE_WORDS)) kinds |= DATABASE;
    return kinds;
}

// A flag that makes a program only tell what it would do.
static bool only_tells(const portcullis_command_t *command) {
    static words_t FLAGS = {
        "-n", "--dry-run", "--dryrun", "--dry", "--check", "--plan", "--help", "-h", "--what-if", "--just-print", "--list", NULL};
    for (size_t at = 0; at < command->words.len; at++) {
        plugin_string_t word = command->words.ptr[at].text;
        if (is_one_of(word, FLAGS) || begins(word, "--dry-run=")) return true;
    }
    return false;
}

// The word that says which task is run, or which script: the first one that is no flag, after `run` and its like.
static bool task_of(const portcullis_command_t *command, plugin_string_t *task) {
    static words_t BEFORE = {"run", "run-script", "exec", "x", "stack", "compose", "artisan", "bin/console", NULL};
    for (size_t at = 0; at < command->words.len; at++) {
        plugin_string_t word = command->words.ptr[at].text;
        if (begins(word, "-") || is_one_of(word, BEFORE) || holds(word, "=")) continue;
        *task = word;
        // Of a path, the name counts.
        for (size_t slash = find(*task, "/"); slash < task->len; slash = find(*task, "/")) *task = from(*task, slash + 1);
        return true;
    }
    return false;
}

static bool has_code(const portcullis_command_t *command) {
    return has_word(command, 0, "-c") || has_word(command, 0, "-e");
}

// A variable says that it runs for tests or on the person's own machine: `MIX_ENV=test`.
static bool is_for_tests(const portcullis_command_t *command) {
    for (size_t at = 0; at < command->assignments.len; at++) {
        const portcullis_attribute_t *variable = &command->assignments.ptr[at];
        if (!ends(variable->name, "ENV") && !ends(variable->name, "ENVIRONMENT")) continue;
        if (is_one_of(variable->value, (words_t){"test", "testing", "dev", "development", "local", "ci", NULL})) return true;
    }
    return false;
}

// What a command does whose own effects are not known: that of a task or script, by its name.
static kinds_t kinds_of_command(const portcullis_command_t *command) {
    plugin_string_t task;
    if (only_tells(command) || is_for_tests(command)) return 0;
    if (is_one_of(command->program, RUNNERS)) return !has_code(command) && task_of(command, &task) ? kinds_of_name(task) : 0;
    // A script is the program itself here: where it stands among the words of another one, that one reads or edits it.
    bool script =
        holds(command->program, ".") || is_one_of(command->program, (words_t){"deploy", "release", "publish", "migrate", NULL});
    return script ? kinds_of_name(command->program) : 0;
}

static bool runs_on_server(const portcullis_command_t *command) {
    for (size_t at = 0; command && at < command->wrappers.len; at++) {
        if (begins(command->wrappers.ptr[at], "ssh") || is_one_of(command->wrappers.ptr[at], (words_t){"kubectl exec", "mosh", NULL}))
            return true;
    }
    return false;
}

static bool deploys_by_push(plugin_string_t remote) {
    return is_one_of(remote, DEPLOYING_REMOTES) || holds(remote, "heroku.com");
}

static kinds_t kinds_of_publish(const portcullis_command_t *command, plugin_string_t target) {
    if (is_one_of(target, DEPLOYED_TO)) return DEPLOY;
    if (!command) return PUBLISH;
    if (is_one_of(command->program, CLOUDS)) return DEPLOY;
    if (is_one_of(command->program, VERSION_CONTROL)) return deploys_by_push(target) ? PUSH | DEPLOY : PUSH;
    bool merges = is_one_of(command->program, (words_t){"gh", "glab", "tea", NULL}) &&
                  (has_word(command, 0, "pr") || has_word(command, 0, "mr"));
    return merges ? PUSH : PUBLISH;
}

static kinds_t kinds_of_remote(const portcullis_command_t *command, plugin_string_t target) {
    if (is(&target, "database")) return DATABASE;
    if (is_one_of(target, DEPLOYED_TO) || runs_on_server(command)) return DEPLOY;
    if (!command) return REMOTE;
    if (is(&command->program, "gh") && has_word(command, 0, "workflow")) {
        for (size_t at = 1; at < command->words.len; at++) {
            if (kinds_of_name(command->words.ptr[at].text) & DEPLOY) return REMOTE | DEPLOY;
        }
    }
    if (!is_one_of(command->program, CLOUDS)) return REMOTE;
    for (size_t at = 0; at < command->words.len && at < 3; at++) {
        plugin_string_t word = command->words.ptr[at].text;
        if (holds_name(word, DEPLOY_WORDS) || begins(word, "update-") ||
            is_one_of(word, (words_t){"apply", "sync", "restart", "up", NULL})) {
            return REMOTE | DEPLOY;
        }
    }
    return REMOTE;
}

static kinds_t kinds_of_effect(const portcullis_effect_t *effect, const portcullis_command_t *command) {
    switch (effect->kind.tag) {
    case PORTCULLIS_EFFECT_KIND_PUBLISH: return kinds_of_publish(command, effect->target);
    case PORTCULLIS_EFFECT_KIND_REMOTE_CHANGE:
    case PORTCULLIS_EFFECT_KIND_REMOTE_DELETE: return kinds_of_remote(command, effect->target);
    case PORTCULLIS_EFFECT_KIND_SEND: return command && is_one_of(command->program, COPIES_TO_SERVERS) ? DEPLOY : 0;
    case PORTCULLIS_EFFECT_KIND_SYSTEM_CHANGE:
    case PORTCULLIS_EFFECT_KIND_PERSISTENCE: return runs_on_server(command) ? SYSTEM | DEPLOY : SYSTEM;
    case PORTCULLIS_EFFECT_KIND_PROCESS_STOP:
    case PORTCULLIS_EFFECT_KIND_FILE_CREATE:
    case PORTCULLIS_EFFECT_KIND_FILE_MODIFY:
    case PORTCULLIS_EFFECT_KIND_FILE_DELETE: return runs_on_server(command) ? DEPLOY : 0;
    default: return 0;
    }
}

// Whatever changes something counts, and whatever is not known to change nothing.
static bool is_change(const portcullis_effect_t *effect, const portcullis_action_t *action, const portcullis_context_t *context,
                      const settings_t *settings) {
    switch (effect->kind.tag) {
    case PORTCULLIS_EFFECT_KIND_FILE_READ:
    case PORTCULLIS_EFFECT_KIND_NETWORK:
    case PORTCULLIS_EFFECT_KIND_SECRET_READ:
    case PORTCULLIS_EFFECT_KIND_RESOURCE_USE: return false;
    case PORTCULLIS_EFFECT_KIND_PROCESS_START:
        // A tool that only looks; what it does besides are effects of their own.
        if (action->operation.tag == PORTCULLIS_OPERATION_TOOL) return !holds_name(action->operation.val.tool.name, READING_WORDS);
        return true;
    case PORTCULLIS_EFFECT_KIND_FILE_CREATE:
    case PORTCULLIS_EFFECT_KIND_FILE_MODIFY:
    case PORTCULLIS_EFFECT_KIND_FILE_DELETE:
        return !(effect->certain && is_free_path(settings, effect->target, effect->recursive, &context->roots));
    default: return true;
    }
}

// What a tool does whose effects are not known: by its name and its server's.
static kinds_t kinds_of_tool(const portcullis_tool_call_t *tool) {
    if (holds_name(tool->name, READING_WORDS)) return 0;
    kinds_t kinds = kinds_of_name(tool->name);
    bool operates = tool->server.is_some && holds_name(tool->server.val, OPERATED);
    if (operates) kinds |= DEPLOY;
    if (holds_name(tool->name, (words_t){"push", "merge", NULL})) kinds |= PUSH;
    static words_t WRITING = {
        "create", "update", "delete", "remove", "add", "send", "post", "set", "edit", "close", "apply", "merge", "push", NULL};
    return tool->server.is_some && holds_name(tool->name, WRITING) ? kinds | REMOTE : kinds;
}

static void add(doings_t *doings, kinds_t kinds, const portcullis_command_t *command) {
    for (size_t kind = 0; kind < MANY_KINDS; kind++) {
        bool is_new = kinds >> kind & 1 && !(doings->kinds >> kind & 1);
        if (is_new) doings->commands[kind] = command;
    }
    doings->kinds |= kinds;
}

// A program that only the run knows: what stands there may say what it does.
static kinds_t kinds_of_unknown(const portcullis_shell_t *shell, const portcullis_command_t *command) {
    if (command->program.len > 0) return 0;
    return kinds_of_name(from(before(shell->text, command->end), command->start));
}

doings_t read_doings(const portcullis_action_t *action, const portcullis_context_t *context, const settings_t *settings) {
    doings_t doings = {0};
    const portcullis_shell_t *shell = action->operation.tag == PORTCULLIS_OPERATION_SHELL ? &action->operation.val.shell : NULL;
    bool all = settings->frozen & ANYTHING;
    for (size_t at = 0; at < action->facts.effects.len; at++) {
        const portcullis_effect_t *effect = &action->facts.effects.ptr[at];
        bool by_command = shell && effect->command.is_some && effect->command.val < shell->commands.len;
        const portcullis_command_t *command = by_command ? &shell->commands.ptr[effect->command.val] : NULL;
        add(&doings, kinds_of_effect(effect, command), command);
        if (all && is_change(effect, action, context, settings)) add(&doings, ANYTHING, command);
    }
    for (size_t at = 0; shell && at < shell->commands.len; at++) {
        const portcullis_command_t *command = &shell->commands.ptr[at];
        add(&doings, kinds_of_command(command) | kinds_of_unknown(shell, command), command);
    }
    if (action->operation.tag == PORTCULLIS_OPERATION_TOOL) add(&doings, kinds_of_tool(&action->operation.val.tool), NULL);
    if (all && action->facts.coverage == PORTCULLIS_COVERAGE_PARTIAL) add(&doings, ANYTHING, NULL);
    doings.kinds &= settings->frozen;
    return doings;
}
