//! How the memory is laid out in the bytes of the state: each record field by field.

use crate::memory::{Failure, FileMemory, Memory, Range, Return, State};
use portcullis_plugin::codec::{Reader, Writer};

/// A value that is a part of the state.
pub trait Part: Sized {
    /// Appends it to the bytes.
    fn encode(&self, out: &mut Writer);
    /// Takes it from the bytes; none if they are no such value.
    fn decode(input: &mut Reader<'_>) -> Option<Self>;
}

impl Part for u32 {
    fn encode(&self, out: &mut Writer) {
        out.number(usize::try_from(*self).unwrap_or(usize::MAX));
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        Self::try_from(input.number()?).ok()
    }
}

impl Part for u64 {
    fn encode(&self, out: &mut Writer) {
        out.eight(self.to_le_bytes());
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        input.eight().map(Self::from_le_bytes)
    }
}

impl Part for i64 {
    fn encode(&self, out: &mut Writer) {
        out.eight(self.to_le_bytes());
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        input.eight().map(Self::from_le_bytes)
    }
}

impl Part for String {
    fn encode(&self, out: &mut Writer) {
        out.text(self);
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        input.text()
    }
}

impl<T: Part> Part for Vec<T> {
    fn encode(&self, out: &mut Writer) {
        out.number(self.len());
        for value in self {
            value.encode(out);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        (0..input.number()?).map(|_| T::decode(input)).collect()
    }
}

impl Part for State {
    fn encode(&self, out: &mut Writer) {
        let (tag, print) = match *self {
            Self::Base => (0, None),
            Self::Gone => (1, None),
            Self::Unknown => (2, None),
            Self::Written(print) => (3, Some(print)),
            Self::Printed(print) => (4, Some(print)),
            Self::Lines(print) => (5, Some(print)),
            Self::Empty(print) => (6, Some(print)),
        };
        out.byte(tag);
        if let Some(print) = print {
            print.encode(out);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        Some(match input.byte()? {
            0 => Self::Base,
            1 => Self::Gone,
            2 => Self::Unknown,
            3 => Self::Written(u64::decode(input)?),
            4 => Self::Printed(u64::decode(input)?),
            5 => Self::Lines(u64::decode(input)?),
            6 => Self::Empty(u64::decode(input)?),
            _ => return None,
        })
    }
}

impl Part for (Return, u32) {
    fn encode(&self, out: &mut Writer) {
        match self.0 {
            Return::Whole(state) => {
                out.byte(0);
                state.encode(out);
            }
            Return::Part(first, state) => {
                out.byte(1);
                first.encode(out);
                state.encode(out);
            }
        }
        self.1.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let state = match input.byte()? {
            0 => Return::Whole(State::decode(input)?),
            1 => Return::Part(State::decode(input)?, State::decode(input)?),
            _ => return None,
        };
        Some((state, u32::decode(input)?))
    }
}

/// Encodes and decodes a record field by field.
macro_rules! parts {
    ($($record:ident { $($field:ident,)+ })+) => {
        $(impl Part for $record {
            fn encode(&self, out: &mut Writer) {
                $(self.$field.encode(out);)+
            }

            fn decode(input: &mut Reader<'_>) -> Option<Self> {
                Some(Self { $($field: Part::decode(input)?,)+ })
            }
        })+
    };
}
parts! {
    Memory {
        prompt, edits, files, failures, fewest, seen, read, idle, idle_count, idle_since, waited,
        waits, wait_since, wait_reported,
    }
    FileMemory { path, edits, first, whole, parts, returns, }
    Failure { id, runs, same, reason, shapes, programs, errors, first, edits, }
    Range { path, from, to, }
}
