//! Files that code loads by their names.

/// The endings of files of code that other code may load.
pub const MODULE_ENDINGS: &[&str] = &[
    ".py", ".so", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node", ".rb",
    ".pl", ".pm", ".php", ".inc", ".lua", ".R", ".r", ".jl", ".tcl",
];

/// Returns true for a file that other code may load, by its path.
#[must_use]
pub fn is_module(path: &str) -> bool {
    MODULE_ENDINGS.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_module;

    #[test]
    fn modules_are_known_by_their_endings() {
        for path in ["/p/helper.py", "/p/lib/x.mjs", "/p/a.rb", "/p/__init__.py"] {
            assert!(is_module(path), "{path}");
        }
        for path in ["/p/notes.md", "/p/data.json", "/p/py", "/p/run.sh"] {
            assert!(!is_module(path), "{path}");
        }
    }
}
