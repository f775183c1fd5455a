// What a test is, and where it is.

import { isCapital } from "./texts.ts";

const NEVER = [
    ...["node_modules", "target", "build", "dist", "vendor", "venv", ".venv", ".tox", ".git", ".pytest_cache"],
    ...["__pycache__", "__snapshots__", "fixtures", "testdata"],
];
const ENDINGS = [
    ...["py", "rs", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "rb", "php", "c", "cc", "cpp", "h"],
    ...["cs", "swift", "scala", "ex", "exs", "sh", "lua", "dart"],
];
const ENDS = ["_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests"];

/** Where tests lie. */
export class Project {
    /** `roots` are its folders, `folders` the names of those that hold tests. */
    constructor(
        private readonly roots: string[],
        private readonly folders: string[],
    ) {}

    /** Where a path is in the project; null outside of it. */
    place(path: string): string | null {
        const root = this.roots.find((root) => path.startsWith(`${root}/`));
        return root === undefined ? null : path.slice(root.length + 1) || null;
    }

    /** The place of a path that is a test. */
    test(path: string): string | null {
        const place = this.place(path);
        return place !== null && this.isTest(place) ? place : null;
    }

    private isTest(place: string): boolean {
        if (isNeverOne(place)) return false;
        const parts = place.split("/");
        const name = parts.pop() ?? "";
        const holdsTests = (folder: string) => this.folders.includes(folder);
        return isNamedAsTest(name) || holdsTests(name) || (ENDINGS.includes(cut(name).ending) && parts.some(holdsTests));
    }
}

/** One of its parts holds no tests, whatever is there. */
export function isNeverOne(path: string): boolean {
    return path.split("/").some((part) => NEVER.includes(part));
}

/** The name is that of a test. */
export function isNamedAsTest(name: string): boolean {
    if (!name.includes(".")) return false;
    const { stem } = cut(name);
    return stem.startsWith("test_") || ENDS.some((end) => stem.endsWith(end)) || (stem.startsWith("Test") && isCapital(stem.charAt(4)));
}

/** The last part of a path. */
export function nameOf(path: string): string {
    return path.slice(path.lastIndexOf("/") + 1);
}

function cut(name: string): { stem: string; ending: string } {
    const dot = name.lastIndexOf(".");
    return dot === -1 ? { stem: name, ending: "" } : { stem: name.slice(0, dot), ending: name.slice(dot + 1) };
}
