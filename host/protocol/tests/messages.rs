//! Messages come back as they went, and nothing else is taken for one.

#![allow(clippy::unwrap_used, reason = "a program of tests")]

use portcullis_protocol::{
    Answer, FrameError, MOST_BYTES, ROOT, Reply, Request, ReviewRequest, ServiceStatus,
    check_boundary_socket, check_socket, find_socket, read_message, write_message,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

fn name() -> impl Strategy<Value = OsString> {
    vec(any::<u8>(), 0..40).prop_map(OsString::from_vec)
}

fn request() -> impl Strategy<Value = Request> {
    let review = (
        ".{0,20}",
        vec(name(), 0..6),
        (any::<u64>(), any::<u32>(), any::<u32>()),
        name(),
        btree_map(name(), name(), 0..10),
        vec(any::<u8>(), 0..300),
    );
    let bytes = || vec(any::<u8>(), 0..300);
    let review = review.prop_map(|(agent, arguments, numbers, folder, variables, payload)| {
        let (timeout, process, parent) = numbers;
        let folder = PathBuf::from(folder);
        ReviewRequest { agent, arguments, timeout, process, parent, folder, variables, payload }
    });
    prop_oneof![
        1 => Just(Request::Status),
        9 => (review, bytes(), any::<bool>()).prop_map(|(review, files, is_across)| {
            let review = Box::new(review);
            if is_across { Request::ReviewAcross(review, files) } else { Request::Review(review) }
        }),
        1 => bytes().prop_map(Request::Findings),
        1 => bytes().prop_map(Request::Files),
        1 => ".{0,40}".prop_map(Request::Link),
        1 => (any::<u32>(), ".{0,40}").prop_map(|(user, purpose)| Request::LinkOf(user, purpose)),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let bytes = || vec(any::<u8>(), 0..200);
    prop_oneof![
        (any::<u8>(), bytes(), bytes()).prop_map(|(exit, stdout, stderr)| Reply::Answer(Answer {
            exit,
            stdout,
            stderr
        })),
        any::<u64>().prop_map(Reply::Waiting),
        Just(Reply::Declined),
        ".{0,60}".prop_map(Reply::Unable),
        bytes().prop_map(Reply::Question),
        bytes().prop_map(Reply::Files),
        (".{0,20}", any::<u32>(), any::<[u64; 3]>(), vec(".{0,20}", 0..3)).prop_map(
            |(version, process, [uptime, reviewed, declined], held_back)| Reply::Status(
                ServiceStatus { version, process, uptime, reviewed, declined, held_back }
            )
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn requests_come_back_as_they_went(sent in request()) {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &sent).unwrap();
        let received: Request = read_message(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(received, sent);
    }

    #[test]
    fn replies_come_back_as_they_went(sent in reply()) {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &sent).unwrap();
        let received: Reply = read_message(&mut bytes.as_slice()).unwrap();
        prop_assert_eq!(received, sent);
    }

    /// A prefix is never a message, and neither is a message with something behind its fields.
    #[test]
    fn a_part_of_a_message_is_none(sent in request(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &sent).unwrap();
        let prefix = bytes.get(..cut.index(bytes.len())).unwrap();
        prop_assert!(read_message::<Request>(&mut &*prefix).is_err());
        let longer = u32::try_from(bytes.len() - 8 + 1).unwrap();
        bytes.splice(4..8, longer.to_le_bytes());
        bytes.push(0);
        prop_assert!(read_message::<Request>(&mut bytes.as_slice()).is_err());
    }

    /// Changed bytes give another message or an error; they never panic or take memory that the
    /// bytes do not justify.
    #[test]
    fn changed_messages_are_read_or_refused(
        sent in request(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &sent).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            *bytes.get_mut(place).unwrap() = byte;
        }
        if let Ok(read) = read_message::<Request>(&mut bytes.as_slice()) {
            let mut again = Vec::new();
            write_message(&mut again, &read).unwrap();
            prop_assert!(again.len() <= bytes.len());
        }
    }
}

#[test]
fn other_streams_are_refused() {
    for (bytes, expected) in [
        (&b""[..], "closed"),
        (b"GET / HTTP/1.1\r\n\r\n", "another version"),
        (b"PCH\x02\x01\0\0\0s", "another version"),
        (b"PCH\x01\x01\0\0", "cut off"),
        (b"PCH\x01\x05\0\0\0s", "cut off"),
        (b"PCH\x01\x02\0\0\0ss", "bytes after the end"),
        (b"PCH\x01\x01\0\0\0?", "an unknown request"),
        (b"PCH\x01\xff\xff\xff\xff", "longer than"),
    ] {
        let error = read_message::<Request>(&mut &*bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{bytes:?}: {error}");
    }
    let huge = Reply::Unable("x".repeat(MOST_BYTES as usize));
    assert!(matches!(write_message(&mut Vec::new(), &huge), Err(FrameError::TooLong(_))));
}

#[test]
fn the_socket_is_in_the_state_folder_of_the_review() {
    for (pinned, variables, expected) in [
        (Some("/s"), &[("PORTCULLIS_HOME", "/p")][..], Some("/s/service.sock")),
        (None, &[("PORTCULLIS_HOME", "/p"), ("HOME", "/h")], Some("/p/service.sock")),
        (None, &[("HOME", "/h")], Some("/h/.local/state/portcullis/service.sock")),
        (None, &[("HOME", "/h"), ("XDG_STATE_HOME", "/x")], Some("/x/portcullis/service.sock")),
        (
            None,
            &[("HOME", "/h"), ("XDG_STATE_HOME", "x"), ("PORTCULLIS_HOME", "")],
            Some("/h/.local/state/portcullis/service.sock"),
        ),
        (Some("s"), &[("HOME", "/h")], None),
        (None, &[("PORTCULLIS_HOME", "p"), ("HOME", "/h")], None),
        (None, &[("HOME", "h")], None),
        (None, &[], None),
    ] {
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| OsString::from(value))
        };
        let found = find_socket(pinned.map(Path::new), variable);
        assert_eq!(found.as_deref(), expected.map(Path::new), "{pinned:?} {variables:?}");
    }
}

#[test]
fn only_a_private_socket_of_the_user_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let own = fs::metadata(folder.path()).unwrap().uid();
    let socket = folder.path().join("service.sock");
    let check = |user| check_socket(&socket, user).err().map(|error| error.to_string());
    let has = |found: Option<String>, expected: &str| {
        assert!(found.as_ref().is_some_and(|error| error.contains(expected)), "{found:?}");
    };
    has(check(own), "there is no socket");
    fs::write(&socket, "").unwrap();
    has(check(own), "is not a socket");
    fs::remove_file(&socket).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&socket, 0o600);
    assert_eq!(check(own), None);
    has(check(own + 1), "belongs to another user");
    set(&socket, 0o660);
    has(check(own), "can be changed by other users");
    set(&socket, 0o600);
    set(folder.path(), 0o777);
    has(check(own), "can be changed by other users");
}

#[test]
fn the_socket_of_a_boundary_is_open_to_all_in_a_folder_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let own = fs::metadata(folder.path()).unwrap().uid();
    let socket = folder.path().join("service.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for (of_folder, of_socket, expected) in [
        (0o755, 0o666, None),
        (0o755, 0o600, None),
        (0o775, 0o666, Some("can be changed by other users")),
        (0o1777, 0o666, Some("can be changed by other users")),
    ] {
        set(folder.path(), of_folder);
        set(&socket, of_socket);
        let found = check_boundary_socket(&socket, own).err().map(|error| error.to_string());
        assert_eq!(
            found.as_deref().map(|found| expected.is_some_and(|part| found.contains(part))),
            expected.map(|_| true),
            "{of_folder:o} {of_socket:o}: {found:?}"
        );
    }
    set(folder.path(), 0o755);
    // Root may always put it there.
    let of_other = check_boundary_socket(&socket, own + 1);
    assert_eq!(of_other.is_ok(), own == ROOT, "{of_other:?}");
}
