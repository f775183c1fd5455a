//! Text as it reads: without invisible characters, in plain letters, in lower case.

/// Folded text.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) text: String,
    /// The content of invisible characters (the tags of Unicode's plane 14).
    pub(super) smuggled: String,
    pub(super) hidden: bool,
}

/// Folds a text. Line breaks stay.
pub(super) fn fold(text: &str) -> Folded {
    let (mut out, mut smuggled) = (String::with_capacity(text.len()), String::new());
    let mut word_start = 0;
    let (mut latin, mut foreign) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if matches!(chars.peek(), Some('n' | 'r' | 't')) => {
                // A line break as JSON writes it.
                chars.next();
                unmask(&mut out, word_start, latin && foreign);
                out.push('\n');
                (word_start, latin, foreign) = (out.len(), false, false);
            }
            // Tag characters show nothing and mirror ASCII, so whole sentences hide in them.
            '\u{e0020}'..='\u{e007e}' => smuggled.extend(char::from_u32(u32::from(c) - 0xe0000)),
            c if is_unseen(c) => {}
            c if c.is_alphabetic() => {
                latin |= c.is_ascii();
                foreign |= look_alike(c).is_some();
                push(&mut out, c);
            }
            c => {
                unmask(&mut out, word_start, latin && foreign);
                push(&mut out, c);
                (word_start, latin, foreign) = (out.len(), false, false);
            }
        }
    }
    unmask(&mut out, word_start, latin && foreign);
    let smuggled = smuggled.to_ascii_lowercase();
    Folded { text: out, hidden: !smuggled.is_empty(), smuggled }
}

/// Returns the text without invisible characters.
pub(super) fn seen(text: &str) -> String {
    text.chars().filter(|c| !is_unseen(*c)).collect()
}

/// Replaces a word of mixed scripts, which is Latin in disguise.
fn unmask(out: &mut String, start: usize, mixed: bool) {
    if mixed {
        let word: String = out
            .get(start..)
            .unwrap_or_default()
            .chars()
            .map(|c| look_alike(c).unwrap_or(c))
            .collect();
        out.truncate(start);
        out.push_str(&word);
    }
}

fn push(out: &mut String, c: char) {
    if c.is_ascii() {
        return out.push(c.to_ascii_lowercase());
    }
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' => out.push('\''),
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' => out.push('"'),
        '\u{2010}'..='\u{2015}' => out.push_str(" - "),
        '\u{2026}' => out.push('.'),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => out.push(' '),
        '\u{3002}' | '\u{ff01}' | '\u{ff1f}' => out.push_str(". "),
        '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{ff10}'..='\u{ff19}' => {
            out.extend(char::from_u32(u32::from(c) - 0xfee0).map(|c| c.to_ascii_lowercase()));
        }
        // Bold, italic, script and the like: alphabets of 26 capitals and 26 small letters.
        '\u{1d400}'..='\u{1d6a3}' => {
            let at = (u32::from(c) - 0x1d400) % 26;
            out.extend(char::from_u32(u32::from('a') + at));
        }
        c => match plain_letter(c) {
            Some(plain) => out.push(plain),
            None => out.extend(c.to_lowercase()),
        },
    }
}

/// Returns true for characters that take no room: joiners, direction marks, soft hyphens,
/// selectors, combining marks.
const fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{300}'..='\u{36f}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}

/// Returns a Latin letter without its mark.
const fn plain_letter(c: char) -> Option<char> {
    Some(match c {
        'à'..='å' | 'À'..='Å' | 'ā' | 'ă' | 'ą' | 'Ā' | 'Ă' | 'Ą' | 'ǎ' | 'ạ' | 'ả' => {
            'a'
        }
        'ç' | 'Ç' | 'ć' | 'ĉ' | 'ċ' | 'č' | 'Ć' | 'Č' => 'c',
        'ď' | 'đ' | 'Ď' | 'Đ' => 'd',
        'è'..='ë' | 'È'..='Ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'Ē' | 'Ę' | 'Ě' | 'ẹ' | 'ẻ' | 'ẽ' => {
            'e'
        }
        'ĝ' | 'ğ' | 'ġ' | 'ģ' | 'Ğ' => 'g',
        'ĥ' | 'ħ' => 'h',
        'ì'..='ï' | 'Ì'..='Ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'İ' | 'ị' => 'i',
        'ĵ' => 'j',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' | 'ł' | 'Ł' => 'l',
        'ñ' | 'Ñ' | 'ń' | 'ņ' | 'ň' | 'Ń' | 'Ň' => 'n',
        'ò'..='ö' | 'Ò'..='Ö' | 'ø' | 'Ø' | 'ō' | 'ŏ' | 'ő' | 'ọ' | 'ỏ' => 'o',
        'ŕ' | 'ŗ' | 'ř' | 'Ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'Ś' | 'Ş' | 'Š' => 's',
        'ţ' | 'ť' | 'ŧ' | 'Ť' => 't',
        'ù'..='ü' | 'Ù'..='Ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ụ' | 'ủ' => 'u',
        'ŵ' => 'w',
        'ý' | 'ÿ' | 'Ý' | 'ŷ' => 'y',
        'ź' | 'ż' | 'ž' | 'Ź' | 'Ż' | 'Ž' => 'z',
        _ => return None,
    })
}

/// Returns the Latin letter that a Cyrillic or Greek one looks like.
const fn look_alike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'А' | 'α' | 'Α' => 'a',
        'в' | 'В' | 'β' | 'Β' | 'ь' => 'b',
        'с' | 'С' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'Е' | 'ё' | 'ε' | 'Ε' => 'e',
        'ғ' => 'f',
        'ɡ' | 'ց' => 'g',
        'н' | 'Н' | 'һ' | 'Һ' | 'Η' => 'h',
        'і' | 'І' | 'ї' | 'ι' | 'Ι' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'ӏ' | 'Ӏ' => 'l',
        'м' | 'М' | 'Μ' => 'm',
        'п' | 'η' | 'Ν' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' | 'ш' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' => 'y',
        'Ζ' => 'z',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn hidden_text_is_read() {
        let cases = [
            ("Ignore ALL", "ignore all"),
            ("ig\u{200b}no\u{ad}re", "ignore"),
            ("ÍGNÓRÉ ẹ", "ignore e"),
            ("i\u{301}gnore", "ignore"),
            ("ign\u{43e}re \u{430}ll", "ignore all"),
            ("ｉｇｎｏｒｅ", "ignore"),
            ("\u{1d422}\u{1d420}", "ig"),
            ("забудь все", "забудь все"),
            (r"a\nignore\tb", "a\nignore\nb"),
            ("a\u{2014}b \u{201c}c\u{201d}", "a - b \"c\""),
        ];
        for (text, expected) in cases {
            assert_eq!(fold(text).text, expected, "{text}");
        }
        let smuggled = "a\u{e0049}\u{e0047}b";
        assert_eq!((fold(smuggled).text.as_str(), fold(smuggled).smuggled.as_str()), ("ab", "ig"));
    }
}
