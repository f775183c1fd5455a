#include "weakening.h"
#include "changes.h"
#include "runs.h"
#include "texts.h"

static words_t MARKS = {"pytest.mark.skip", "pytest.mark.xfail", "pytest.skip(", "pytest.xfail(", "unittest.skip", "unittest.SkipTest",
                        "SkipTest", ".skipTest(", "unittest.expectedFailure", "#[ignore", "it.skip(", "test.skip(", "describe.skip(",
                        "it.only(", "test.only(", "describe.only(", "it.todo(", "test.todo(", "xit(", "xtest(", "xdescribe(", "fit(",
                        "fdescribe(", "t.Skip", "@Disabled", "@Ignore", "(Skip =", "markTestSkipped(", "XCTSkip", NULL};
static words_t TESTS = {"def test_", "#[test]", "it(", "test(", "func Test", "@Test", NULL};
static words_t ASSERTIONS = {"assert", "expect(", "t.Error", "t.Fatal", "require.", NULL};
static words_t OF_NOTHING = {"assert True", "assert 1 == 1", "assert(true)", "assert!(true)", "assertTrue(True)",
                             "assertTrue(true)", "assert.ok(true)", "expect(true).toBe(true)", NULL};

_Static_assert(sizeof MARKS / sizeof *MARKS <= MOST_PARTS, "there is room for each mark");

static bool of_shell(const portcullis_shell_t *shell, const portcullis_facts_t *facts, const project_t *project, weakening_t *found) {
    static const struct {
        kind_t kind;
        bool (*is_one)(const change_t *change, const changes_t *all, const project_t *project);
    } KINDS[] = {{DELETED, deletes}, {MOVED, moves}, {EMPTIED, empties}};
    changes_t changes = changes_by(shell, facts);
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
        found->kind = KINDS[kind].kind;
        for (size_t at = 0; at < changes.len; at++) {
            const change_t *change = &changes.ptr[at];
            if (test_of(project, change->path->text, &found->thing) && KINDS[kind].is_one(change, &changes, project)) return true;
        }
    }
    found->kind = LEFT_OUT;
    for (size_t at = 0; at < shell->commands.len; at++) {
        const portcullis_command_t *command = &shell->commands.ptr[at];
        if (is_test_run(command) && leaves_out(shell, command, &found->thing)) return true;
    }
    return false;
}

// Each line is empty or a comment.
static bool says_nothing(plugin_string_t content) {
    parts_t lines = parts(content);
    for (plugin_string_t line; next(&lines, '\n', &line);) {
        while (line.len > 0 && is_blank(line.ptr[0])) line = from(line, 1);
        if (line.len > 0 && !begins(line, "#") && !begins(line, "//")) return false;
    }
    return true;
}

static size_t assertions(plugin_string_t text) {
    size_t all = count(text, ASSERTIONS, false), of_nothing = count(text, OF_NOTHING, false);
    return all > of_nothing ? all - of_nothing : 0;
}

static bool of_edit(plugin_string_t old, plugin_string_t new, weakening_t *found) {
    size_t before[MOST_PARTS], now[MOST_PARTS];
    count_each(old, MARKS, true, before);
    count_each(new, MARKS, true, now);
    for (size_t at = 0; MARKS[at]; at++) {
        if (now[at] <= before[at]) continue;
        found->kind = SKIPPED;
        found->mark = MARKS[at];
        return true;
    }
    found->kind = CUT;
    if (count(new, TESTS, true) < count(old, TESTS, true)) return true;
    found->kind = LOOSENED;
    return assertions(new) < assertions(old);
}

static bool of_file(const portcullis_file_operation_t *file, const project_t *project, weakening_t *found) {
    if (!test_of(project, file->path, &found->thing)) return false;
    found->kind = DELETED;
    if (file->access == PORTCULLIS_ACCESS_DELETE) return true;
    if (!file->content.is_some) return false;
    if (file->replaced.is_some) return of_edit(file->replaced.val, file->content.val, found);
    found->kind = EMPTIED;
    return says_nothing(file->content.val);
}

bool weakens(const portcullis_action_t *action, const project_t *project, weakening_t *found) {
    found->mark = NULL;
    switch (action->operation.tag) {
    case PORTCULLIS_OPERATION_SHELL: return of_shell(&action->operation.val.shell, &action->facts, project, found);
    case PORTCULLIS_OPERATION_FILE: return of_file(&action->operation.val.file, project, found);
    default: return false;
    }
}

plugin_string_t summary_of(const weakening_t *found) {
    switch (found->kind) {
    case DELETED: return JOINED(found->thing, text(" is deleted"));
    case MOVED: return JOINED(found->thing, text(" is moved to where no test runs"));
    case EMPTIED: return JOINED(found->thing, text(" is emptied"));
    case SKIPPED: return JOINED(text("a test in "), found->thing, text(" is skipped ("), text(found->mark), text(")"));
    case CUT: return JOINED(text("a test is taken out of "), found->thing);
    case LOOSENED: return JOINED(text("assertions are taken out of "), found->thing);
    case LEFT_OUT: return JOINED(text("tests are left out ("), found->thing, text(")"));
    }
}

portcullis_severity_t severity_of(kind_t kind) {
    return kind == LOOSENED || kind == LEFT_OUT ? PORTCULLIS_SEVERITY_MEDIUM : PORTCULLIS_SEVERITY_HIGH;
}

portcullis_score_t impact_of(kind_t kind) {
    switch (kind) {
    case DELETED:
    case MOVED:
    case EMPTIED: return 800;
    case SKIPPED:
    case CUT: return 600;
    case LOOSENED:
    case LEFT_OUT: return 500;
    }
}
