//! Files: each record is there once, whatever was killed, and full ones are put aside.

use portcullis_sinks::{Cargo, FileSink, OpenSink, Sink, SinkFailure, SinkPosition};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

fn sink(path: &Path) -> FileSink {
    FileSink { path: path.to_owned(), rotate_bytes: 1 << 20, rotate_after: None, keep: 2 }
}

fn open(sink: &FileSink, position: &SinkPosition) -> Result<OpenSink, SinkFailure> {
    OpenSink::open(&Sink::File(sink.clone()), &|_: &str| None, position)
}

fn write(sink: &mut OpenSink, text: &str, now: u64) -> bool {
    let first = sink.starts_document(now).unwrap();
    let cargo = Cargo::Document { bytes: text.as_bytes(), content_type: "text/plain" };
    let deadline = Instant::now() + Duration::from_secs(60);
    sink.deliver(&cargo, now, deadline).unwrap();
    first
}

#[test]
fn what_was_not_acknowledged_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let sink = sink(&path);
    let mut open_sink = open(&sink, &SinkPosition::default()).unwrap();
    assert!(write(&mut open_sink, "a\n", 1));
    let acknowledged = open_sink.position();
    assert!(!write(&mut open_sink, "b\n", 2));
    drop(open_sink);
    // A process was killed before it noted `b`, and another in the middle of a write.
    fs::write(&path, "a\nb\nc").unwrap();
    let mut again = open(&sink, &acknowledged).unwrap();
    assert!(!write(&mut again, "b\n", 3));
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A position that is lost, or of another file, cuts nothing off.
    let mut lost = open(&sink, &SinkPosition::default()).unwrap();
    write(&mut lost, "d\n", 4);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\nd\n");
}

#[test]
fn full_and_old_files_are_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    let settings =
        FileSink { rotate_bytes: 4, rotate_after: Some(Duration::from_secs(60)), ..sink(&path) };
    let mut open_sink = open(&settings, &SinkPosition::default()).unwrap();
    let rows = [
        ("one\n", 1_000, true),
        ("two", 2_000, true),
        ("!\n", 3_000, false),
        ("three\n", 4_000, true),
        ("x\n", 5_000, true),
        ("y\n", 70_000, true),
    ];
    for (text, now, first) in rows {
        assert_eq!(write(&mut open_sink, text, now), first, "{text}");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        (read("out.csv"), read("out.csv.1"), read("out.csv.2")),
        ("y\n".into(), "x\n".into(), "three\n".into())
    );
    assert!(!folder.path().join("out.csv.3").exists(), "the oldest is removed");
}

#[test]
fn a_file_that_somebody_else_renamed_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    let mut open_sink = open(&sink(&path), &SinkPosition::default()).unwrap();
    write(&mut open_sink, "one\n", 1);
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    assert!(write(&mut open_sink, "two\n", 2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(folder.path().join("elsewhere")).unwrap(), "one\n");
}

#[test]
fn a_place_that_is_not_ours_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("target"), "kept").unwrap();
    symlink(at("target"), at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("open"), "kept").unwrap();
    fs::set_permissions(at("open"), Permissions::from_mode(0o666)).unwrap();
    for (path, holds) in [
        (at("link"), "is a link"),
        (at("folder"), ""),
        (at("open"), "others can write it"),
        (at("nowhere/out"), "there is no folder"),
        ("relative".into(), "is not absolute"),
        ("/".into(), "is not absolute"),
    ] {
        let failure = open(&sink(&path), &SinkPosition::default()).unwrap_err().to_string();
        assert!(failure.contains(holds), "{}: {failure}", path.display());
    }
    assert_eq!(fs::read_to_string(at("target")).unwrap(), "kept");
}
