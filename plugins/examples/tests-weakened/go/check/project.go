package check

import (
	"slices"
	"strings"
)

var (
	never = []string{
		"node_modules", "target", "build", "dist", "vendor", "venv", ".venv", ".tox", ".git", ".pytest_cache",
		"__pycache__", "__snapshots__", "fixtures", "testdata",
	}
	endings = []string{
		"py", "rs", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "rb", "php", "c", "cc", "cpp", "h",
		"cs", "swift", "scala", "ex", "exs", "sh", "lua", "dart",
	}
	ends = []string{"_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests"}
)

// Where tests lie.
type layout struct {
	// Its folders.
	roots []string
	// Names of folders that hold tests.
	folders []string
}

// Where a path is in the project; empty outside of it.
func (project layout) place(path string) string {
	for _, root := range project.roots {
		if place, inside := strings.CutPrefix(path, root+"/"); inside {
			return place
		}
	}
	return ""
}

// The place of a path that is a test, else empty.
func (project layout) test(path string) string {
	place := project.place(path)
	if place == "" || isNeverOne(place) {
		return ""
	}
	parts := strings.Split(place, "/")
	name, parts := parts[len(parts)-1], parts[:len(parts)-1]
	_, ending := cut(name)
	isOne := isNamedAsTest(name) || slices.Contains(project.folders, name) || slices.Contains(endings, ending) && project.holdTests(parts)
	if !isOne {
		return ""
	}
	return place
}

func (project layout) holdTests(parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(project.folders, part) })
}

// One of its parts holds no tests, whatever is there.
func isNeverOne(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return slices.Contains(never, part) })
}

// The name is that of a test.
func isNamedAsTest(name string) bool {
	if !strings.Contains(name, ".") {
		return false
	}
	stem, _ := cut(name)
	rest, titled := strings.CutPrefix(stem, "Test")
	return strings.HasPrefix(stem, "test_") ||
		slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(stem, end) }) ||
		titled && rest != "" && isCapital(rest[0])
}

// The last part of a path.
func nameOf(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// The stem of a name, and its ending.
func cut(name string) (stem, ending string) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return name, ""
	}
	return name[:dot], name[dot+1:]
}
