//! Words by which a program is started in one of its versions: they say nothing of what it does.

use super::expand::Field;

/// Programs of Rust that rustup starts: `cargo +nightly build`.
const RUST: &[&str] = &[
    "cargo",
    "cargo-clippy",
    "cargo-fmt",
    "clippy-driver",
    "rust-gdb",
    "rust-lldb",
    "rustc",
    "rustdoc",
    "rustfmt",
];
/// Package managers that corepack starts.
const OF_NODE: &[&str] = &["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg"];

/// Returns a call without such words; none if it has none.
pub(super) fn without_toolchain(name: &str, first: &Field, rest: &[Field]) -> Option<Vec<Field>> {
    let (word, after) = rest.split_first()?;
    if RUST.contains(&name) && word.text.len() > 1 && word.text.starts_with('+') {
        return Some([first.clone()].into_iter().chain(after.iter().cloned()).collect());
    }
    // A version may stand behind the name: `corepack yarn@4 dlx`.
    let manager = word.text.split('@').next().unwrap_or("");
    let known = name == "corepack" && OF_NODE.contains(&manager);
    known.then(|| {
        let manager = Field { text: manager.to_owned(), ..word.clone() };
        [manager].into_iter().chain(after.iter().cloned()).collect()
    })
}
