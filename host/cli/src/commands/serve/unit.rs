//! The unit with which systemd starts the service of a user.

use crate::error::{Error, Result};
use portcullis_config::paths::Paths;
use std::path::Path;

/// Returns a unit for a home, which pins its folders: the manager of a user's units has another
/// environment than the user's shells.
///
/// # Errors
/// Fails if a path cannot be written in a unit.
pub fn write_unit(program: &Path, places: &Paths) -> Result<String> {
    let program = quote(program)?;
    let (config, state) = (quote(&places.config)?, quote(&places.state)?);
    Ok(format!(
        "[Unit]\n\
         Description=Portcullis, which reviews the actions of AI coding agents\n\
         \n\
         [Service]\n\
         ExecStart={program} serve --config {config} --state {state}\n\
         Restart=on-failure\n\
         # Running reviews are answered first.\n\
         TimeoutStopSec=30\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    ))
}

/// Returns a path as a word of a unit's command line.
fn quote(path: &Path) -> Result<String> {
    let shown = path.display();
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let Some(text) = text else {
        return Err(Error::invalid(format!("`{}` cannot be written in a unit", shown))
            .with_hint("use a folder whose name is text on one line"));
    };
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // Specifiers and variables.
            '%' | '$' => quoted.extend([letter, letter]),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_unit() {
        for (path, expected) in [
            ("/usr/bin/portcullis", Some("\"/usr/bin/portcullis\"")),
            ("/home/a b/$x/100%", Some("\"/home/a b/$$x/100%%\"")),
            ("/home/\"q\"/b\\c", Some("\"/home/\\\"q\\\"/b\\\\c\"")),
            ("/home/a\nExecStart=/bin/sh", None),
        ] {
            assert_eq!(quote(Path::new(path)).ok().as_deref(), expected, "{path}");
        }
    }
}
