//! A small binary codec, without a library, for the bytes that a plugin prepares or remembers.
//!
//! Numbers are little-endian, texts are length-prefixed. The format does not describe itself: begin
//! with a version byte of your own, since a newer plugin may get an older one's bytes.

/// Collects bytes.
///
/// ```
/// use portcullis_plugin::codec::{Reader, Writer};
///
/// let mut out = Writer::default();
/// out.byte(1);
/// out.text("seen");
/// out.eight(7_u64.to_le_bytes());
/// let bytes = out.into_bytes();
///
/// let mut input = Reader::new(&bytes);
/// assert_eq!((input.byte(), input.text()), (Some(1), Some("seen".to_owned())));
/// assert_eq!(input.eight().map(u64::from_le_bytes), Some(7));
/// assert!(input.is_empty());
/// ```
#[derive(Clone, Debug, std::default::Default)]
pub struct Writer(Vec<u8>);

/// ```
/// use portcullis_plugin::codec::Writer;
///
/// let mut out = Writer::default();
/// out.byte(1);
/// out.eight((-7_i64).to_le_bytes());
/// out.number(2);
/// out.text("ab");
/// assert_eq!(out.into_bytes().len(), 1 + 8 + 4 + (4 + 2));
/// ```
impl Writer {
    /// Writes one byte.
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Writes eight bytes: a `u64`, `i64` or `f64` by its `to_le_bytes`.
    pub fn eight(&mut self, bytes: [u8; 8]) {
        self.0.extend_from_slice(&bytes);
    }

    /// Writes a length or count, capped at 2^32 - 1.
    pub fn number(&mut self, number: usize) {
        self.0.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }

    /// Writes a text with its length.
    pub fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Returns the collected bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads the bytes back; every method returns none when too few are left.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

/// ```
/// use portcullis_plugin::codec::{Reader, Writer};
///
/// let mut out = Writer::default();
/// out.byte(1);
/// out.eight(0.5_f64.to_le_bytes());
/// out.number(1);
/// out.text("seen");
/// let bytes = out.into_bytes();
///
/// let mut input = Reader::new(&bytes);
/// assert_eq!((input.byte(), input.eight().map(f64::from_le_bytes)), (Some(1), Some(0.5)));
/// assert_eq!((input.number(), input.text()), (Some(1), Some("seen".to_owned())));
/// assert!(input.is_empty() && input.text().is_none());
/// ```
impl<'a> Reader<'a> {
    /// Starts at the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns true if nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Reads eight bytes.
    pub fn eight(&mut self) -> Option<[u8; 8]> {
        self.take(8)?.try_into().ok()
    }

    /// Reads a length or count.
    pub fn number(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take(4)?.try_into().ok()?)).ok()
    }

    /// Reads a text; none also when it is not UTF-8.
    pub fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }
}
