//! A request of OTLP in protobuf. The numbers are those of the fields in the protocol's definition.

use super::{AnyValue, Attribute, LogRecord, Logs, SCHEMA};

/// The kinds of a field's value: a number of any length, eight bytes, bytes with their length.
const VARINT: u64 = 0;
const FIXED: u64 = 1;
const BYTES: u64 = 2;

pub(super) fn write_request(logs: &Logs) -> Vec<u8> {
    let mut request = Vec::new();
    put_message(&mut request, 1, &resource_logs(logs));
    request
}

fn resource_logs(logs: &Logs) -> Vec<u8> {
    let mut resource = Vec::new();
    put_attributes(&mut resource, 1, &logs.resource);
    let mut out = Vec::new();
    put_message(&mut out, 1, &resource);
    put_message(&mut out, 2, &scope_logs(logs));
    put_text(&mut out, 3, SCHEMA);
    out
}

fn scope_logs(logs: &Logs) -> Vec<u8> {
    let mut scope = Vec::new();
    put_text(&mut scope, 1, "portcullis");
    put_text(&mut scope, 2, env!("CARGO_PKG_VERSION"));
    let mut out = Vec::new();
    put_message(&mut out, 1, &scope);
    for record in &logs.records {
        put_message(&mut out, 2, &log_record(record));
    }
    put_text(&mut out, 3, SCHEMA);
    out
}

fn log_record(record: &LogRecord) -> Vec<u8> {
    let (number, text) = record.severity;
    let mut out = Vec::new();
    put_fixed(&mut out, 1, record.time);
    put_varint(&mut out, 2, u64::from(number));
    put_text(&mut out, 3, text);
    let mut body = Vec::new();
    // A text that is empty is still a text.
    put_message(&mut body, 1, record.body.as_bytes());
    put_message(&mut out, 5, &body);
    put_attributes(&mut out, 6, &record.attributes);
    put_fixed(&mut out, 11, record.time);
    put_text(&mut out, 12, &record.name);
    out
}

fn put_attributes(out: &mut Vec<u8>, field: u64, attributes: &[Attribute]) {
    for (key, value) in attributes {
        let mut pair = Vec::new();
        put_text(&mut pair, 1, key);
        put_message(&mut pair, 2, &any_value(value));
        put_message(out, field, &pair);
    }
}

fn any_value(value: &AnyValue) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        AnyValue::Text(text) => put_message(&mut out, 1, text.as_bytes()),
        // A negative number is the same bits as a number without sign.
        AnyValue::Integer(number) => put_varint(&mut out, 3, number.cast_unsigned()),
        AnyValue::Decimal(number) => put_fixed(&mut out, 4, number.to_bits()),
        AnyValue::Texts(texts) => {
            let mut array = Vec::new();
            for text in texts {
                let mut item = Vec::new();
                put_message(&mut item, 1, text.as_bytes());
                put_message(&mut array, 1, &item);
            }
            put_message(&mut out, 5, &array);
        }
    }
    out
}

/// Adds a text, unless it is empty, which is the same as none.
fn put_text(out: &mut Vec<u8>, field: u64, text: &str) {
    if !text.is_empty() {
        put_message(out, field, text.as_bytes());
    }
}

fn put_message(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_number(out, field << 3 | BYTES);
    put_number(out, bytes.len() as u64);
    out.extend(bytes);
}

fn put_fixed(out: &mut Vec<u8>, field: u64, bits: u64) {
    put_number(out, field << 3 | FIXED);
    out.extend(bits.to_le_bytes());
}

fn put_varint(out: &mut Vec<u8>, field: u64, number: u64) {
    put_number(out, field << 3 | VARINT);
    put_number(out, number);
}

/// Adds a number in groups of seven bits, the lowest first.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}
