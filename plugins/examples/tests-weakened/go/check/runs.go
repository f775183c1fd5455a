package check

import (
	"slices"
	"strings"

	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
	wit "go.bytecodealliance.org/pkg/wit/types"
)

var (
	runners = []string{"pytest", "py.test", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit", "nosetests", "tox", "unittest"}
	tools   = []string{
		"cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "make", "just", "mvn", "mvnw", "gradle", "gradlew",
		"dotnet", "mix", "swift", "rake",
	}
	tasks   = []string{"test", "tests", "check", "nextest", "verify"}
	leaving = []string{
		"--deselect", "--ignore", "--ignore-glob", "--skip", "-skip", "--exclude-regex",
		"--testPathIgnorePatterns", "-DskipTests", "-Dmaven.test.skip",
	}
	hides = []string{"|| true", "||true", "|| :", "|| exit 0"}
)

// The state after an action: none where it tells nothing of the tests.
func ended(action types.Action, outcome types.Outcome) wit.Option[[]byte] {
	none := wit.None[[]byte]()
	if action.Operation.Tag() != types.Operation_Shell {
		return none
	}
	shell := action.Operation.Shell()
	ran := false
	for _, command := range shell.Commands {
		if !isTestRun(command) {
			continue
		}
		if leavesOut(command, shell) != "" {
			return none
		}
		ran = true
	}
	switch {
	case ran && outcome.Status == types.Status_Failed:
		return wit.Some(stateOf(action.Step, outcome.Error, outcome.Output))
	case ran && outcome.Status == types.Status_Ok:
		return wit.Some([]byte{})
	default:
		return none
	}
}

// Whether a command runs tests.
func isTestRun(command types.Command) bool {
	has := func(wanted func(word string) bool) bool {
		return slices.ContainsFunc(command.Words, func(word types.Word) bool { return wanted(word.Text) })
	}
	switch {
	case slices.Contains(runners, command.Program):
		return true
	case slices.Contains(tools, command.Program):
		return has(func(word string) bool { return slices.Contains(tasks, word) || strings.HasPrefix(word, "test:") })
	case command.Program == "python" || command.Program == "python3":
		return has(func(word string) bool { return word == "unittest" || word == "pytest" })
	default:
		return false
	}
}

// What a test run leaves out; empty where that is nothing.
func leavesOut(command types.Command, shell types.Shell) string {
	for at, word := range command.Words {
		var next *string
		if at+1 < len(command.Words) {
			next = &command.Words[at+1].Text
		}
		if found := byWord(word.Text, next); found != "" {
			return found
		}
	}
	return hidden(command, shell)
}

func byWord(word string, next *string) string {
	if word == "-k" || word == "-m" {
		if next != nil && (strings.HasPrefix(*next, "not ") || strings.Contains(*next, " not ")) {
			return word + " " + *next
		}
		return ""
	}
	option, value, own := strings.Cut(word, "=")
	if !own && next != nil {
		value = *next
	}
	switch {
	case !slices.Contains(leaving, option) || isNeverOne(value):
		return ""
	case !own && next != nil:
		return word + " " + value
	default:
		return word
	}
}

func hidden(command types.Command, shell types.Shell) string {
	rest := shell.Text[min(int(command.Start), len(shell.Text)):]
	end := len(rest)
	for _, mark := range []string{";", "&&", "\n"} {
		if at := strings.Index(rest, mark); at >= 0 {
			end = min(end, at)
		}
	}
	for _, way := range hides {
		if strings.Contains(rest[:end], way) {
			return way
		}
	}
	return ""
}
