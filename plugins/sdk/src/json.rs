//! The minimal JSON that is written while a plugin is compiled: texts, numbers, punctuation.
//!
//! Everything is `const fn`, so there are loops in place of iterators. It reads no JSON and builds
//! no tree; none of it is left at run time.

/// The output buffer, filled as far as there is room. `at` keeps counting past the end, so that a
/// first pass without any room computes the length.
pub(crate) struct Sink<'a> {
    pub(crate) room: &'a mut [u8],
    pub(crate) at: usize,
}

impl Sink<'_> {
    const fn byte(&mut self, byte: u8) {
        if let Some((_, rest)) = self.room.split_at_mut_checked(self.at)
            && let Some(slot) = rest.first_mut()
        {
            *slot = byte;
        }
        self.at += 1;
    }

    /// Writes punctuation, names, numbers: text as it is.
    pub(crate) const fn raw(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while let Some((byte, tail)) = rest.split_first() {
            self.byte(*byte);
            rest = tail;
        }
    }

    /// Writes a comma, if more follows.
    pub(crate) const fn comma(&mut self, more: bool) {
        if more {
            self.byte(b',');
        }
    }

    /// Writes a JSON string.
    pub(crate) const fn text(&mut self, text: &str) {
        self.byte(b'"');
        let mut rest = text.as_bytes();
        while let Some((byte, tail)) = rest.split_first() {
            match *byte {
                quoted @ (b'"' | b'\\') => {
                    self.byte(b'\\');
                    self.byte(quoted);
                }
                control @ 0..=0x1f => {
                    self.raw("\\u00");
                    self.byte(hex(control >> 4));
                    self.byte(hex(control & 15));
                }
                other => self.byte(other),
            }
            rest = tail;
        }
        self.byte(b'"');
    }

    /// Writes a whole number.
    pub(crate) const fn integer(&mut self, number: i64) {
        if number < 0 {
            self.byte(b'-');
        }
        self.digits(number.unsigned_abs(), 1);
    }

    /// Writes a number with up to three decimals.
    pub(crate) const fn thousandths(&mut self, thousandths: i64) {
        if thousandths < 0 {
            self.byte(b'-');
        }
        let magnitude = thousandths.unsigned_abs();
        self.digits(magnitude / 1000, 1);
        let (mut fraction, mut width) = (magnitude % 1000, 3);
        if fraction > 0 {
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                width -= 1;
            }
            self.byte(b'.');
            self.digits(fraction, width);
        }
    }

    const fn digits(&mut self, number: u64, width: u32) {
        if number >= 10 || width > 1 {
            self.digits(number / 10, width.saturating_sub(1));
        }
        self.byte(b'0' + (number % 10) as u8);
    }
}

const fn hex(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }
}
