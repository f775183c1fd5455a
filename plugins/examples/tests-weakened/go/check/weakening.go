package check

import (
	"slices"
	"strings"

	types "example.com/plugin/bindings/imports/portcullis_plugin_types"
)

var (
	marks = []string{
		"pytest.mark.skip", "pytest.mark.xfail", "pytest.skip(", "pytest.xfail(", "unittest.skip",
		"unittest.SkipTest", "SkipTest", ".skipTest(", "unittest.expectedFailure", "#[ignore", "it.skip(",
		"test.skip(", "describe.skip(", "it.only(", "test.only(", "describe.only(", "it.todo(", "test.todo(",
		"xit(", "xtest(", "xdescribe(", "fit(", "fdescribe(", "t.Skip", "@Disabled", "@Ignore", "(Skip =",
		"markTestSkipped(", "XCTSkip",
	}
	beginnings = []string{"def test_", "#[test]", "it(", "test(", "func Test", "@Test"}
	assertions = []string{"assert", "expect(", "t.Error", "t.Fatal", "require."}
	ofNothing  = []string{
		"assert True", "assert 1 == 1", "assert(true)", "assert!(true)", "assertTrue(True)", "assertTrue(true)",
		"assert.ok(true)", "expect(true).toBe(true)",
	}
)

// How tests are weakened.
type kind int

const (
	deleted kind = iota
	moved
	emptied
	skipped
	taken
	loosened
	leftOut
)

// What weakens tests.
type weakening struct {
	kind kind
	// The file's place, or what leaves them out.
	thing string
	// The mark that skips one, if so.
	mark string
}

func (kind kind) severity() types.Severity {
	if kind == loosened || kind == leftOut {
		return types.Severity_Medium
	}
	return types.Severity_High
}

// How much of the tests it touches.
func (kind kind) impact() types.Score {
	switch kind {
	case deleted, moved, emptied:
		return 800
	case skipped, taken:
		return 600
	default:
		return 500
	}
}

func (found weakening) summary() string {
	switch found.kind {
	case deleted:
		return found.thing + " is deleted"
	case moved:
		return found.thing + " is moved to where no test runs"
	case emptied:
		return found.thing + " is emptied"
	case skipped:
		return "a test in " + found.thing + " is skipped (" + found.mark + ")"
	case taken:
		return "a test is taken out of " + found.thing
	case loosened:
		return "assertions are taken out of " + found.thing
	default:
		return "tests are left out (" + found.thing + ")"
	}
}

// What an action does to the tests; nil where that is nothing.
func weakeningOf(action types.Action, project layout) *weakening {
	switch action.Operation.Tag() {
	case types.Operation_Shell:
		return ofShell(action.Operation.Shell(), action.Facts, project)
	case types.Operation_File:
		return ofFile(action.Operation.File(), project)
	default:
		return nil
	}
}

// A change of a path by a command.
type change struct {
	kind uint8
	path types.Path
	// The command, if it has one, and its index.
	command *types.Command
	at      uint32
}

func ofShell(shell types.Shell, facts types.Facts, project layout) *weakening {
	changes := changesOf(shell, facts)
	ways := []func(at int, changes []change, project layout) bool{deleted: deletes, moved: moves, emptied: empties}
	for way, isOne := range ways {
		for at, change := range changes {
			if thing := project.test(change.path.Text); thing != "" && isOne(at, changes, project) {
				return &weakening{kind: kind(way), thing: thing}
			}
		}
	}
	for _, command := range shell.Commands {
		if !isTestRun(command) {
			continue
		}
		if thing := leavesOut(command, shell); thing != "" {
			return &weakening{kind: leftOut, thing: thing}
		}
	}
	return nil
}

func changesOf(shell types.Shell, facts types.Facts) []change {
	var changes []change
	for _, effect := range facts.Effects {
		switch effect.Kind.Tag() {
		case types.EffectKind_FileCreate, types.EffectKind_FileModify, types.EffectKind_FileDelete:
		default:
			continue
		}
		if effect.Path.IsNone() {
			continue
		}
		found := change{kind: effect.Kind.Tag(), path: facts.Paths[effect.Path.Some()]}
		if effect.Command.IsSome() {
			found.at = effect.Command.Some()
			found.command = &shell.Commands[found.at]
		}
		changes = append(changes, found)
	}
	return changes
}

// It is that program, or git's command of that name.
func is(command *types.Command, name string) bool {
	return command != nil && (command.Program == name || isOfGit(command, name))
}

func isOfGit(command *types.Command, name string) bool {
	return command != nil && command.Program == "git" && len(command.Words) > 0 && command.Words[0].Text == name
}

func deletes(at int, changes []change, _ layout) bool {
	return changes[at].kind == types.EffectKind_FileDelete || isOfGit(changes[at].command, "rm")
}

func moves(at int, changes []change, project layout) bool {
	source := changes[at]
	if !is(source.command, "mv") {
		return false
	}
	var own []int
	for other, change := range changes {
		if change.command != nil && change.at == source.at && !slices.Contains(strings.Split(change.path.Text, "/"), ".git") {
			own = append(own, other)
		}
	}
	if len(own) == 0 {
		return false
	}
	target := own[len(own)-1]
	if slices.ContainsFunc(source.command.Words, namesTarget) {
		target = own[0]
	}
	return target != at && !keeps(source.path, changes[target].path, project)
}

func namesTarget(word types.Word) bool {
	return word.Text == "-t" || strings.HasPrefix(word.Text, "--target-directory")
}

// A test that is moved there is a test still.
func keeps(source, target types.Path, project layout) bool {
	from, to, end := nameOf(source.Text), nameOf(target.Text), target.Text
	if target.Entry == types.Entry_Folder || !strings.Contains(to, ".") && strings.Contains(from, ".") {
		end += "/" + from
	}
	if isNamedAsTest(from) {
		return project.place(end) != "" && isNamedAsTest(nameOf(end))
	}
	return project.test(end) != ""
}

func empties(at int, changes []change, _ layout) bool {
	command := changes[at].command
	if changes[at].kind == types.EffectKind_FileDelete {
		return false
	}
	if command == nil {
		return true
	}
	words := command.Words
	first := func(text string) bool { return len(words) > 0 && words[0].Text == text }
	switch command.Program {
	case ":", "true", "truncate":
		return true
	case "cp":
		return first("/dev/null")
	case "cat":
		return first("/dev/null") && len(words) == 1
	case "echo", "printf":
		if first("-n") {
			words = words[1:]
		}
		says := func(word types.Word) bool { return trimmed(strings.ReplaceAll(word.Text, `\n`, "")) != "" }
		appends := func(one types.Redirection) bool { return one.Direction == types.Direction_Append }
		return !slices.ContainsFunc(words, says) && !slices.ContainsFunc(command.Redirections, appends)
	default:
		return false
	}
}

func ofFile(file types.FileOperation, project layout) *weakening {
	thing := project.test(file.Path)
	switch {
	case thing == "":
		return nil
	case file.Access == types.Access_Delete:
		return &weakening{kind: deleted, thing: thing}
	case file.Content.IsNone():
		return nil
	case file.Replaced.IsNone():
		return ofWhole(file.Content.Some(), thing)
	default:
		before, after := changed(file.Replaced.Some(), file.Content.Some())
		return ofEdit(before, after, thing)
	}
}

func ofWhole(text, thing string) *weakening {
	for line := range strings.SplitSeq(text, "\n") {
		line = trimmed(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			return nil
		}
	}
	return &weakening{kind: emptied, thing: thing}
}

// Lines around a change count in neither text; they are left out, since each that is searched costs fuel.
func ofEdit(before, after, thing string) *weakening {
	for _, mark := range marks {
		if count(after, mark, true) > count(before, mark, true) {
			return &weakening{kind: skipped, thing: thing, mark: mark}
		}
	}
	switch {
	case sum(after, beginnings, true) < sum(before, beginnings, true):
		return &weakening{kind: taken, thing: thing}
	case asserted(after) < asserted(before):
		return &weakening{kind: loosened, thing: thing}
	default:
		return nil
	}
}

func asserted(text string) int {
	return max(0, sum(text, assertions, false)-sum(text, ofNothing, false))
}

func sum(text string, parts []string, whole bool) int {
	found := 0
	for _, part := range parts {
		found += count(text, part, whole)
	}
	return found
}
