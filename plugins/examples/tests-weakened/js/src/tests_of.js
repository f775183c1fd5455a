// What a test is.

const NEVER = new Set([
    "node_modules", "target", "build", "dist", "vendor", "venv", ".venv", ".tox", ".git", ".pytest_cache", "__pycache__",
    "__snapshots__", "fixtures", "testdata",
]);
const ENDINGS = new Set([
    "py", "rs", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "rb", "php", "c", "cc", "cpp", "h", "cs", "swift",
    "scala", "ex", "exs", "sh", "lua", "dart",
]);
const STEM_ENDS = ["_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests"];

/** Where tests lie. */
export class Project {
    constructor(roots, folders) {
        this.roots = roots;
        this.folders = folders;
    }

    /** Where a path is in the project; null outside of it. */
    place(path) {
        const root = this.roots.find((root) => path.startsWith(`${root}/`) && path.length > root.length + 1);
        return root === undefined ? null : path.slice(root.length + 1);
    }

    /** The place of a path that is a test, else null. */
    test(path) {
        const place = this.place(path);
        return place !== null && this.#isTest(place) ? place : null;
    }

    #isTest(place) {
        if (isNeverOne(place)) return false;
        const folders = place.split("/");
        const name = folders.pop();
        const isFolder = (part) => this.folders.includes(part);
        const isSource = name.includes(".") && ENDINGS.has(name.slice(name.lastIndexOf(".") + 1));
        return isNamedAsTest(name) || isFolder(name) || (isSource && folders.some(isFolder));
    }
}

/** One of its parts holds no tests, whatever is there. */
export function isNeverOne(path) {
    return path.split("/").some((part) => NEVER.has(part));
}

/** The name is that of a test. */
export function isNamedAsTest(name) {
    const dot = name.lastIndexOf(".");
    if (dot < 0) return false;
    const stem = name.slice(0, dot);
    return stem.startsWith("test_") || STEM_ENDS.some((end) => stem.endsWith(end)) || /^Test[A-Z]/.test(stem);
}

/** The last part of a path. */
export function nameOf(path) {
    return path.slice(path.lastIndexOf("/") + 1);
}
