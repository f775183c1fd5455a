//! The reasons why a component cannot be loaded, each with its fix if there is one.

use crate::compiler::CompileEnd;
use crate::descriptor::DESCRIPTOR_SECTION;
use crate::kind::Kind;
use crate::limits::MAX_COMPONENT_BYTES;
use std::path::PathBuf;

/// The reason why a component cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The file does not hold the required bytes.
    #[error("`{path}` was changed after it was verified: it holds {found}, not {wanted} (blake3)")]
    Other {
        /// The file.
        path: PathBuf,
        /// The required digest.
        wanted: String,
        /// The actual digest.
        found: String,
    },
    /// The file is larger than any plugin needs to be.
    #[error("it has {size} bytes; a plugin may have at most {MAX_COMPONENT_BYTES}")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
    },
    /// It does not begin like WebAssembly.
    #[error(
        "it is not WebAssembly; a plugin is a component, as `cargo build --target wasm32-wasip2` \
         or `wasm-tools component new` writes it"
    )]
    NotWasm,
    /// It is the text format.
    #[error(
        "it is WebAssembly text; only the binary format is loaded: `wasm-tools parse plugin.wat -o plugin.wasm`"
    )]
    Text,
    /// It is a core module.
    #[error(
        "it is a core module, not a component; encode it: `wasm-tools component new module.wasm -o plugin.wasm`"
    )]
    CoreModule,
    /// It begins correctly and then breaks off or holds invalid data.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It exports nothing that the host calls.
    #[error(
        "it exports none of `portcullis:plugin/{{assessor, detector, intervener, exporter}}@0.1.0`, but {0}"
    )]
    NoKind(String),
    /// It exports two kinds of plugin.
    #[error("it is both `{0}` and `{1}`; a component is one plugin, split it")]
    TwoKinds(Kind, Kind),
    /// It was built for another version of the WIT package.
    #[error("it exports `{interface}` of version `{version}`; this host loads 0.1.x")]
    Version {
        /// The interface.
        interface: String,
        /// The version that it exports.
        version: String,
    },
    /// Its descriptor cannot be read.
    #[error("its section `{DESCRIPTOR_SECTION}` cannot be used: {0}")]
    Descriptor(String),
    /// It imports something that is not granted.
    #[error("it wants to {wants} (`{import}`), which is not granted{}", fix(*.grant))]
    Refused {
        /// The import's name.
        import: String,
        /// The purpose of the import, as text.
        wants: &'static str,
        /// The line that would grant it, if there is one.
        grant: Option<&'static str>,
    },
    /// It is granted a folder and cannot open files.
    #[error(
        "it is granted the files in `{0}`, but it imports no `wasi:filesystem`, so it cannot open \
         any: remove the grant, or write the plugin in Rust, C or Go (Python, JavaScript and \
         TypeScript are built without files)"
    )]
    NoFiles(String),
    /// It is of another kind than its position requires.
    #[error("it is `{found}`, but `{wanted}` is required here")]
    WrongKind {
        /// The kind that it is.
        found: Kind,
        /// The kind that is required.
        wanted: Kind,
    },
    /// It was not compiled.
    #[error(transparent)]
    Compile(#[from] CompileEnd),
    /// The types of its imports or exports do not match their names.
    #[error("its types do not match `portcullis:plugin@0.1.0`: {0}")]
    Types(String),
}

fn fix(grant: Option<&str>) -> String {
    grant
        .map(|line| format!("; its owner can grant it: `{line}` in `plugins.NAME.grants`"))
        .unwrap_or_default()
}
