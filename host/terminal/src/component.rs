//! A component's description for people: what it is, what it requests, and what would grant that.

use crate::paint;
use portcullis_core::text::one_line;
use portcullis_engine::{Import, Inspection, LoadError, Tier};
use std::fmt::Write;
use std::path::Path;

/// Returns the lines that would grant what a component requests, without repetitions.
pub fn list_grants(inspection: &Inspection) -> Vec<&'static str> {
    let mut lines: Vec<&str> = inspection.imports.iter().filter_map(Import::grant).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Formats what its owner would write to grant it more than answers without effect.
pub fn grantable_text(inspection: &Inspection, file: &Path) -> String {
    let lines = list_grants(inspection);
    if lines.is_empty() {
        return String::new();
    }
    let stem =
        file.file_stem().map(|stem| one_line(&stem.to_string_lossy(), 64)).unwrap_or_default();
    let mut text = "its language's runtime may be the only reason for these imports; if it needs \
         more than answers without effect, write the\n\
                    lines that it needs into config.toml:\n"
        .to_owned();
    let _ = writeln!(text, "  [plugins.{stem}.grants]");
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Formats what a component is and requests, and whether it can be loaded with these grants.
pub fn inspection_text(inspection: &Inspection, granted: Result<(), LoadError>) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}  built for portcullis:plugin@{}",
        paint::bold(inspection.kind),
        inspection.wit_version
    );
    if let Some(descriptor) = &inspection.descriptor {
        let _ = writeln!(
            text,
            "{} {}: {}",
            one_line(&descriptor.name, 64),
            one_line(&descriptor.version, 32),
            one_line(&descriptor.description, 400)
        );
    }
    let _ = writeln!(text, "{}, blake3 {}", format_size(inspection.size), inspection.digest);
    if inspection.imports.is_empty() {
        let _ = writeln!(text, "asks for nothing");
    }
    for import in &inspection.imports {
        let tier = match import.tier {
            Tier::Own => paint::good("given  "),
            Tier::Inert => paint::dim("inert  "),
            Tier::Hosts | Tier::Refused => paint::bad("refused"),
        };
        let _ = writeln!(
            text,
            "  {tier} {}  {}",
            import.name,
            paint::dim(format!("wants to {}", import.import_purpose()))
        );
    }
    match granted {
        Ok(()) => {
            text.push_str("it can be loaded: everything it asks for is given or without effect\n")
        }
        Err(error) => {
            let _ = writeln!(text, "{}: {error}", paint::bad("it would be refused"));
        }
    }
    text
}

/// Formats a number of bytes.
pub fn format_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
