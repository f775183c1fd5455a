//! Windows paths, as text: `C:\\a` is `/C:/a` to all other code.

use super::is_below;

/// Converts a Windows path to slashes: `C:\\a` is `/C:/a`, `a\\b` is `a/b`. None for all others.
pub(super) fn slashed(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let drive = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.next() == Some(b':')
        && bytes.next().is_some_and(|byte| byte == b'\\' || byte == b'/');
    if !drive && !text.contains('\\') {
        return None;
    }
    let slashes = text.replace('\\', "/");
    Some(if drive { format!("/{slashes}") } else { slashes })
}

/// Returns the part after the drive of a Windows path, in lower case.
fn drive_path(path: &str) -> Option<String> {
    let rest = path.strip_prefix('/')?;
    let is_drive = rest.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && rest.as_bytes().get(1) == Some(&b':');
    is_drive.then(|| rest.get(2..).unwrap_or("").to_ascii_lowercase())
}

/// Returns true for a folder of the system.
pub(super) fn is_system(path: &str) -> bool {
    drive_path(path).is_some_and(|rest| {
        rest.is_empty() || is_below(&rest, "/windows") || rest.starts_with("/program files")
    })
}

/// Returns true if to lose everything below it is to lose the machine, or a person's whole home;
/// none if the path has no drive.
pub(super) fn is_root_like(path: &str) -> Option<bool> {
    let rest = drive_path(path)?;
    let rest = rest.trim_end_matches("/*").trim_end_matches("/*.*");
    let person = rest.strip_prefix("/users/").is_some_and(|name| !name.contains('/'));
    Some(
        person
            || matches!(
                rest,
                "" | "/users"
                    | "/windows"
                    | "/windows/system32"
                    | "/program files"
                    | "/programdata"
            ),
    )
}
