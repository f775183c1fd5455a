//! Runs each language's own tool and finds its output: a component or a core module.

use super::tool::{command, find, missing, needed, output, run};
use anyhow::{Context, Result, anyhow, bail};
use portcullis_author::project::{BUILD, Build, Language, PluginProject};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions that the templates are tested with.
const COMPONENTIZE_PY: &str =
    "python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1";
const ZIG: &str = "python3 -m venv .venv && .venv/bin/pip install ziglang==0.17.1";
const NODE: &str = "apt-get install nodejs npm    (or https://nodejs.org)";
const GO: &str = "https://go.dev/dl    (1.27.1 or newer; Debian: apt-get install golang-go, where that is new enough)";
const RUSTUP: &str = "curl https://sh.rustup.rs -sSf | sh    (or https://rustup.rs)";

/// The targets of a plugin in Rust: without WASI, so that it requests nothing; else with it.
const RUST_TARGETS: &[&str] = &["wasm32-unknown-unknown", "wasm32-wasip2"];
/// The stack is small, since a plugin hardly recurses, and each call sets the stack up.
const STACK: &str = "-Wl,-z,stack-size=65536";

/// Builds the project and returns the tool's output unchanged.
pub(super) fn build(project: &PluginProject, debug: bool) -> Result<Vec<u8>> {
    let folder = &project.folder;
    if let Some(build) = &project.manifest.build {
        return own(folder, build);
    }
    let scratch = folder.join(BUILD).join("raw.wasm");
    fs::create_dir_all(folder.join(BUILD))
        .with_context(|| format!("cannot make `{}`", folder.join(BUILD).display()))?;
    let written = match project.manifest.language {
        Language::Rust => return rust(folder, debug),
        Language::C => c(folder, &scratch, debug),
        Language::Python => python(folder, project.manifest.kind.as_str(), &scratch),
        Language::Js => javascript(project, "src/plugin.js", &scratch, debug),
        Language::Ts => typescript(project, &scratch, debug),
        Language::Go => go(folder, &scratch, debug),
        Language::Other => bail!("`language = \"other\"` needs a table `[build]` in `plugin.toml`"),
    };
    written
        .and_then(|()| read(&scratch))
        .inspect_err(|_| drop(fs::remove_file(&scratch)))
        .inspect(|_| drop(fs::remove_file(&scratch)))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file)
        .with_context(|| format!("the build succeeded, but there is no `{}`", file.display()))
}

fn own(folder: &Path, build: &Build) -> Result<Vec<u8>> {
    let (program, arguments) =
        build.command.split_first().context("`build.command` names no program")?;
    let mut command = command(folder, Path::new(program));
    command.args(arguments);
    run(command)?;
    let output = folder.join(&build.output);
    fs::read(&output).with_context(|| {
        format!("`build.command` succeeded, but cannot read `build.output`, `{}`", output.display())
    })
}

fn rust(folder: &Path, debug: bool) -> Result<Vec<u8>> {
    let cargo = needed(folder, "cargo", RUSTUP)?;
    let rustc = needed(folder, "rustc", RUSTUP)?;
    let has = |target: &&&str| {
        let mut asked = command(folder, &rustc);
        asked.args(["--print", "target-libdir", "--target", target]);
        output(asked)
            .is_ok_and(|folder| Path::new(String::from_utf8_lossy(&folder).trim()).is_dir())
    };
    let target = RUST_TARGETS.iter().find(has).with_context(|| {
        missing(
            "target `wasm32-unknown-unknown` of Rust",
            "rustup target add wasm32-unknown-unknown",
        )
    })?;
    let mut build = command(folder, &cargo);
    build.args([
        "build",
        "--lib",
        "--release",
        "--target",
        target,
        "--message-format",
        "json-render-diagnostics",
    ]);
    if debug {
        build.env("CARGO_PROFILE_RELEASE_STRIP", "none");
    }
    let manifest = folder.join("Cargo.toml");
    let said = output(build)?;
    // The last one is the requested module; the ones before are of its dependencies.
    let artifact = String::from_utf8_lossy(&said)
        .lines()
        .filter_map(|line| module_of(line, &manifest))
        .next_back();
    read(&artifact.ok_or_else(|| {
        anyhow!(
            "cargo wrote no `.wasm`: `Cargo.toml` needs `[lib]` with `crate-type = [\"cdylib\"]`"
        )
    })?)
}

/// Returns the module named by a line of cargo's output, if it is this package's.
fn module_of(line: &str, manifest: &Path) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let ours = Path::new(message.get("manifest_path")?.as_str()?) == manifest;
    let files = message.get("filenames")?.as_array()?;
    let module =
        files.iter().filter_map(|file| file.as_str()).find(|file| file.ends_with(".wasm"))?;
    ours.then(|| module.into())
}

fn c(folder: &Path, to: &Path, debug: bool) -> Result<()> {
    let mut compile = c_compiler(folder)?;
    compile.args([
        "--target=wasm32-wasi",
        "-mexec-model=reactor",
        "-Oz",
        "-Wall",
        STACK,
        "-Ibindings",
        "-Isrc",
    ]);
    // Inlined functions have no names in a trap's trace.
    compile.args(if debug { ["-g", "-fno-inline"].as_slice() } else { &["-s"] });
    let mut sources: Vec<PathBuf> =
        ["src", "bindings"].iter().flat_map(|place| c_sources(folder, place)).collect();
    sources.sort();
    compile.args(sources).arg("-o").arg(to);
    run(compile)
}

/// Returns zig's compiler, as a Python package or installed by itself; else a clang.
fn c_compiler(folder: &Path) -> Result<Command> {
    for python in ["python", "python3"].iter().filter_map(|name| find(folder, name)) {
        let mut asked = command(folder, &python);
        asked.args(["-c", "import ziglang"]).stderr(std::process::Stdio::null());
        if asked.status().is_ok_and(|status| status.success()) {
            let mut zig = command(folder, &python);
            zig.args(["-m", "ziglang", "cc"]);
            return Ok(zig);
        }
    }
    if let Some(zig) = find(folder, "zig") {
        let mut zig = command(folder, &zig);
        zig.arg("cc");
        return Ok(zig);
    }
    let library = ["/usr/include/wasm32-wasi", "/usr/share/wasi-sysroot"]
        .iter()
        .any(|place| Path::new(place).is_dir());
    find(folder, "clang")
        .filter(|_| library)
        .map(|clang| command(folder, &clang))
        .with_context(|| missing("`zig` and no `clang` with wasi-libc", ZIG))
}

fn c_sources(folder: &Path, place: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
    entries
        .map(|entry| Path::new(place).join(entry.file_name()))
        .filter(|file| file.extension().is_some_and(|end| end == "c"))
        .collect()
}

fn python(folder: &Path, world: &str, to: &Path) -> Result<()> {
    let tool = needed(folder, "componentize-py", COMPONENTIZE_PY)?;
    let mut build = command(folder, &tool);
    build
        .args([
            "-d",
            "wit",
            "-w",
            world,
            "componentize",
            "--stub-wasi",
            "-p",
            "src",
            "plugin",
            "-o",
        ])
        .arg(to);
    run(build)
}

/// A node script that turns JavaScript into a component. Its arguments are the world, the source,
/// the output file, and optionally `debug`: then QuickJS may write errors to standard error, such
/// as an answer of the wrong type; otherwise each WASI function is a trap, so that the component
/// requests nothing.
const COMPONENTIZE_JS: &str = "
import { componentize } from 'componentize-qjs';
import { readFile, writeFile } from 'node:fs/promises';
const [world, source, to, debug] = process.argv.slice(1);
const { component } = await componentize({
    witPath: 'wit', world, jsSource: await readFile(source, 'utf8'), jsPath: source, sync: true, stubWasi: debug === undefined,
});
await writeFile(to, component);
";

fn javascript(project: &PluginProject, source: &str, to: &Path, debug: bool) -> Result<()> {
    let node = packages(&project.folder, "componentize-qjs")?;
    let mut build = command(&project.folder, &node);
    build.args([
        "--input-type=module",
        "--eval",
        COMPONENTIZE_JS,
        "--",
        project.manifest.kind.as_str(),
        source,
    ]);
    build.arg(to).args(debug.then_some("debug"));
    run(build)
}

/// The output of the project's tsc for the plugin's own file, as set in its `tsconfig.json`.
const COMPILED: &str = "build/js/plugin.js";

/// Compiles with tsc, which is set to write JavaScript only if all types check.
fn typescript(project: &PluginProject, to: &Path, debug: bool) -> Result<()> {
    let folder = &project.folder;
    let node = packages(folder, "typescript")?;
    let mut check = command(folder, &node);
    check.args(["node_modules/typescript/bin/tsc", "--project", "."]);
    // The output of an earlier run must not be taken for this one's.
    drop(fs::remove_file(folder.join(COMPILED)));
    run(check)?;
    if !folder.join(COMPILED).is_file() {
        bail!(
            "tsc succeeded, but there is no `{COMPILED}`: the plugin's source is `src/plugin.ts`, \
             and `outDir` in `tsconfig.json` is `build/js`"
        );
    }
    javascript(project, COMPILED, to, debug)
}

/// Returns node, if the project's packages are installed.
fn packages(folder: &Path, package: &str) -> Result<PathBuf> {
    let node = needed(folder, "node", NODE)?;
    if !folder.join("node_modules").join(package).is_dir() {
        bail!("{}", missing(&format!("`{package}`"), "npm install"));
    }
    Ok(node)
}

/// The package that the bindings need at run time.
const GO_RUNTIME: &str = "go.bytecodealliance.org/pkg";

fn go(folder: &Path, to: &Path, debug: bool) -> Result<()> {
    let go = needed(folder, "go", GO)?;
    let wasm = |arguments: &[&str]| {
        let mut command = command(folder, &go);
        command.args(arguments).env("GOOS", "wasip1").env("GOARCH", "wasm");
        command
    };
    output(wasm(&["list", &format!("{GO_RUNTIME}/wit/runtime")]))
        .map_err(|_| anyhow!("{}", missing(&format!("module `{GO_RUNTIME}`"), "go mod tidy")))?;
    // The bindings' runtime links to an internal function of Go, which is refused unless the check
    // is off.
    let linked =
        if debug { "-ldflags=-checklinkname=0" } else { "-ldflags=-s -w -checklinkname=0" };
    let mut build = wasm(&["build", "-buildmode=c-shared", "-trimpath", linked, "-o"]);
    build.arg(to).arg(".");
    run(build)
}
