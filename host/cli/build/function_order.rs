//! Places the functions that a hook runs side by side in the program.
//!
//! The program has 40 MB of code, and a hook runs 3 MB of it. Scattered, its functions
//! cost a hundred page faults more than side by side, and a hook takes about a tenth longer.
//!
//! The list is made by `host/cli/renew-function-order` from hooks that run. It holds the names that
//! the compiler gives with the pinned toolchain and `Cargo.lock`: a name that no longer exists is
//! passed over, and its function is where it would be without a list. The bench `hook` counts the
//! page faults, which shows when the list is out of date.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The names of the functions, one a line.
const LIST: &str = "function-order.txt";

/// Passes the list to the linker, if it takes one: `lld` does, which is Rust's own on this target.
pub(crate) fn order_functions() {
    println!("cargo:rerun-if-changed={LIST}");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let Ok(list) = Path::new(LIST).canonicalize() else { return };
    let arguments = [
        format!("-Wl,--symbol-ordering-file={}", list.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if links_with(&arguments) {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bin=portcullis={argument}");
        }
    }
}

/// Returns true if a program can be linked with these arguments, with the linker and the flags of
/// this build.
fn links_with(arguments: &[String]) -> bool {
    let of_build = |name: &str| env::var(name).unwrap_or_default();
    let folder = PathBuf::from(of_build("OUT_DIR"));
    let source = folder.join("linked.rs");
    if fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut command = Command::new(of_build("RUSTC"));
    command.arg(&source).arg("-o").arg(folder.join("linked"));
    command.args(["--target", &of_build("TARGET")]);
    let flags = of_build("CARGO_ENCODED_RUSTFLAGS");
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.arg(format!("-Clinker={linker}"));
    }
    command.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
