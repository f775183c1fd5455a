//! The fields of a message's body: numbers of 8 bytes, and bytes behind their length, little
//! endian.

use crate::frame::FrameError;

/// Writes the body of a message.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn tagged(tag: u8) -> Self {
        Self(vec![tag])
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(crate) fn list<'a>(&mut self, items: impl Iterator<Item = &'a [u8]> + Clone) {
        self.number(items.clone().count() as u64);
        items.for_each(|item| self.bytes(item));
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the body of a message.
pub(crate) struct Fields<'a>(&'a [u8]);

/// The fewest bytes of a field.
const LEAST_FIELD: u64 = 8;

impl<'a> Fields<'a> {
    pub(crate) fn of(body: &'a [u8]) -> Self {
        Self(body)
    }

    pub(crate) fn tag(&mut self) -> Result<u8, FrameError> {
        let (first, rest) = self.0.split_first().ok_or(FrameError::Malformed("an empty body"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, FrameError> {
        let (number, rest) =
            self.0.split_first_chunk().ok_or(FrameError::Malformed("a number that is cut off"))?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    pub(crate) fn small(&mut self) -> Result<u32, FrameError> {
        u32::try_from(self.number()?).map_err(|_| FrameError::Malformed("a number above 32 bits"))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], FrameError> {
        let cut_off = FrameError::Malformed("a field that is cut off");
        let length = usize::try_from(self.number()?).map_err(|_| cut_off)?;
        let (bytes, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(FrameError::Malformed("a field that is cut off"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<String, FrameError> {
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| FrameError::Malformed("a text that is not UTF-8"))
    }

    pub(crate) fn list(&mut self) -> Result<Vec<Vec<u8>>, FrameError> {
        let length = self.number()?;
        // A length that no body can hold must not reserve memory.
        if length > self.0.len() as u64 / LEAST_FIELD {
            return Err(FrameError::Malformed("a list that is cut off"));
        }
        (0..length).map(|_| self.bytes().map(<[u8]>::to_vec)).collect()
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>, FrameError> {
        let not_text = |_| FrameError::Malformed("a text that is not UTF-8");
        self.list()?.into_iter().map(|text| String::from_utf8(text).map_err(not_text)).collect()
    }

    pub(crate) fn end(&self) -> Result<(), FrameError> {
        if self.0.is_empty() { Ok(()) } else { Err(FrameError::Malformed("bytes after the end")) }
    }
}
