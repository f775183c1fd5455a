#include "goals.h"
#include "texts.h"

// How far before a word it is taken back.
enum { REACH = 3 };

static words_t TESTS = {"test", "tests", "testing", "unittest", "unittests", "suite", "spec", "specs", "ci", "pytest", "jest", NULL};
static words_t PASS = {"pass", "passes", "passing", "green", "fix", "fixes", "fixed", "fixing", "fail",
                       "fails", "failed", "failing", "failures", "red", "broken", "repair", NULL};
static words_t ASK = {"delete", "deleting", "remove", "removing", "drop", "skip", "skipping",
                      "disable", "ignore", "xfail", "exclude", "obsolete", "loosen", "move", NULL};
static words_t NOT = {"not", "don", "dont", "never", "without", "no", "avoid", "instead", NULL};

bool want_tests_to_pass(const portcullis_list_goal_t *goals) {
    for (size_t at = 0; at < goals->len; at++) {
        plugin_string_t rest = goals->ptr[at].text, word;
        bool of_tests = false, pass = false;
        while (next_word(&rest, &word)) {
            of_tests |= is_one_of(word, TESTS);
            pass |= is_one_of(word, PASS);
        }
        if (of_tests && pass) return true;
    }
    return false;
}

bool ask_for_it(const portcullis_list_goal_t *goals) {
    if (goals->len == 0) return false;
    plugin_string_t rest = goals->ptr[goals->len - 1].text, word;
    bool of_tests = false, asked = false;
    // For how many words still a negation takes back what is asked.
    int reach = 0;
    while (next_word(&rest, &word)) {
        of_tests |= is_one_of(word, TESTS);
        asked |= reach == 0 && is_one_of(word, ASK);
        reach = is_one_of(word, NOT) ? REACH : reach > 0 ? reach - 1 : 0;
    }
    return of_tests && asked;
}
