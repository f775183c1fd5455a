//! Files in parts.

use super::{AT, DAY, keys};
use portcullis_encryption::{DataKeys, DataKind, Day, PartCipher, PartStream};
use std::collections::BTreeSet;

const KIND: DataKind = DataKind::Checkpoints;
const PLACE: &[&str] = &["packs", "p"];

type Part = (Vec<u8>, [u8; PartStream::TAG_BYTES]);

/// Encrypts each letter as a part; returns the id of the text too.
fn encrypt(cipher: &PartCipher, text: &str) -> ([u8; PartStream::ID_BYTES], Vec<Part>) {
    let mut stream = cipher.begin_stream(b"text").unwrap();
    let parts = text.bytes().enumerate().map(|(at, byte)| {
        let mut part = vec![byte];
        let tag = stream.encrypt_part(&mut part, at + 1 == text.len()).unwrap();
        (part, tag)
    });
    let parts = parts.collect();
    (*stream.id(), parts)
}

fn decrypt(mut stream: PartStream, parts: &[Part]) -> Option<String> {
    let mut text = Vec::new();
    for (at, (part, tag)) in parts.iter().enumerate() {
        let mut part = part.clone();
        stream.decrypt_part(&mut part, tag, at + 1 == parts.len()).ok()?;
        text.extend(part);
    }
    String::from_utf8(text).ok()
}

fn make(keys: &DataKeys, at: u64) -> (PartCipher, Vec<u8>) {
    keys.make_cipher(KIND, at, PLACE).unwrap().unwrap()
}

#[test]
fn parts_are_read_in_their_order_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (cipher, header) = make(&keys(folder.path()), AT);
    assert_eq!(header.len(), PartCipher::HEADER_BYTES);
    let (id, parts) = encrypt(&cipher, "abcd");
    assert_ne!(parts[0].0, b"a");
    let opened = keys(folder.path()).open_cipher(KIND, PLACE, &header).unwrap();
    let read = |id, parts: &[Part]| decrypt(opened.open_stream(id, b"text"), parts);
    assert_eq!(read(id, &parts).as_deref(), Some("abcd"));
    assert_eq!(read(id, &[]).as_deref(), Some(""));
    let (other_id, other) = encrypt(&cipher, "abcd");
    let [a, b, c, d] = &parts[..] else { panic!() };
    let mut bit = parts.clone();
    bit[2].0[0] ^= 1;
    let mut tag = parts.clone();
    tag[3].1[15] ^= 1;
    let rows: [(&str, Vec<Part>); 9] = [
        ("the end cut off", parts[..3].to_vec()),
        ("the beginning cut off", parts[1..].to_vec()),
        ("one missing", vec![a.clone(), b.clone(), d.clone()]),
        ("two exchanged", vec![a.clone(), c.clone(), b.clone(), d.clone()]),
        ("one repeated", vec![a.clone(), a.clone(), c.clone(), d.clone()]),
        ("one more", [&parts[..], &other[3..]].concat()),
        ("one of another text", vec![a.clone(), other[1].clone(), c.clone(), d.clone()]),
        ("a bit", bit),
        ("a bit of a tag", tag),
    ];
    for (name, parts) in rows {
        assert_eq!(read(id, &parts), None, "{name}");
    }
    assert_eq!(read(other_id, &parts), None, "the id of another text");
    assert_eq!(decrypt(opened.open_stream(id, b"other"), &parts), None, "another purpose");
    let (stranger, _) = make(&keys(folder.path()), AT);
    assert_eq!(decrypt(stranger.open_stream(id, b"text"), &parts), None, "another file");
}

#[test]
fn a_header_is_bound_to_its_file_and_its_day() {
    let folder = tempfile::tempdir().unwrap();
    let writer = keys(folder.path());
    let (cipher, header) = make(&writer, AT);
    let (id, parts) = encrypt(&cipher, "abc");
    let open = |place: &[&str], header: &[u8]| {
        let opened = keys(folder.path()).open_cipher(KIND, place, header);
        opened.map(|cipher| decrypt(cipher.open_stream(id, b"text"), &parts))
    };
    for (name, place, header) in [
        ("another place", &["packs", "q"][..], header.clone()),
        ("a plain key", PLACE, vec![7; 32]),
        ("nothing", PLACE, Vec::new()),
        ("cut off", PLACE, header[..header.len() - 1].to_vec()),
        ("another text", PLACE, writer.encrypt(KIND, AT, PLACE, b"short").unwrap().unwrap()),
    ] {
        assert!(open(place, &header).is_err(), "{name}");
    }
    // With the key of another day it outlives its own.
    let later = writer.wrap_cipher(&cipher, KIND, AT + 9 * DAY, PLACE).unwrap().unwrap();
    assert_eq!(later.len(), header.len());
    writer.destroy_keys(KIND, Day::of_time(AT + DAY), &BTreeSet::new()).unwrap();
    assert!(open(PLACE, &header).unwrap_err().to_string().contains("is not there"));
    assert_eq!(open(PLACE, &later).unwrap().as_deref(), Some("abc"));
    writer.set_off(true).unwrap();
    assert!(writer.make_cipher(KIND, AT, PLACE).unwrap().is_none());
}
