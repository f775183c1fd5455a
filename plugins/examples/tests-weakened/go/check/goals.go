package check

import (
	"slices"

	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
)

var (
	tests = []string{"test", "tests", "testing", "unittest", "unittests", "suite", "spec", "specs", "ci", "pytest", "jest"}
	pass  = []string{
		"pass", "passes", "passing", "green", "fix", "fixes", "fixed", "fixing",
		"fail", "fails", "failed", "failing", "failures", "red", "broken", "repair",
	}
	ask = []string{
		"delete", "deleting", "remove", "removing", "drop", "skip", "skipping", "disable",
		"ignore", "xfail", "exclude", "obsolete", "loosen", "move",
	}
	not = []string{"not", "don", "dont", "never", "without", "no", "avoid", "instead"}
)

// How far before a word it is taken back.
const reach = 3

// Some goal wants them to pass.
func wantTestsToPass(goals []types.Goal) bool {
	return slices.ContainsFunc(goals, func(goal types.Goal) bool {
		said := words(goal.Text)
		return holds(said, tests) && holds(said, pass)
	})
}

// The newest goal asks for fewer tests.
func askForIt(goals []types.Goal) bool {
	if len(goals) == 0 {
		return false
	}
	said := words(goals[len(goals)-1].Text)
	for at, word := range said {
		if slices.Contains(ask, word) && !holds(said[max(0, at-reach):at], not) {
			return holds(said, tests)
		}
	}
	return false
}

func holds(words, wanted []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(wanted, word) })
}
