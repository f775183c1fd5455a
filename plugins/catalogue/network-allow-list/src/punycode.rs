//! Punycode (RFC 3492): how names with letters outside ASCII are written in the domain name system.

const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 128;
/// The longest label of the domain name system; longer ones are refused, so that no text costs much.
const LONGEST: usize = 63;

/// Encodes a label without its `xn--`; none if it is too long.
pub(crate) fn encode(label: &str) -> Option<String> {
    let letters: Vec<u32> = label.chars().map(u32::from).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(out.len()).ok()?;
    if basic > 0 {
        out.push('-');
    }
    let (mut n, mut delta, mut bias, mut handled) = (INITIAL_N, 0_u32, INITIAL_BIAS, basic);
    while handled < u32::try_from(letters.len()).ok()? {
        let next = letters.iter().copied().filter(|letter| *letter >= n).min()?;
        delta = delta.checked_add((next - n).checked_mul(handled + 1)?)?;
        n = next;
        for letter in letters.iter().copied() {
            if letter < n {
                delta = delta.checked_add(1)?;
            }
            if letter == n {
                push_number(&mut out, delta, bias);
                bias = adapt(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        n += 1;
    }
    Some(out)
}

/// Decodes a label without its `xn--`; none if it is not punycode.
pub(crate) fn decode(label: &str) -> Option<String> {
    if label.len() > LONGEST || !label.is_ascii() {
        return None;
    }
    let (basic, extended) = label.rsplit_once('-').unwrap_or(("", label));
    let mut out: Vec<char> = basic.chars().collect();
    let mut digits = extended.bytes();
    let (mut n, mut at, mut bias) = (INITIAL_N, 0_u32, INITIAL_BIAS);
    while digits.len() > 0 {
        let before = at;
        at = at.checked_add(read_number(&mut digits, bias)?)?;
        let many = u32::try_from(out.len()).ok()?.checked_add(1)?;
        bias = adapt(at - before, many, before == 0);
        n = n.checked_add(at / many)?;
        at %= many;
        out.insert(usize::try_from(at).ok()?, char::from_u32(n)?);
        at += 1;
    }
    Some(out.into_iter().collect())
}

const fn threshold(k: u32, bias: u32) -> u32 {
    if k <= bias + T_MIN {
        T_MIN
    } else if k >= bias + T_MAX {
        T_MAX
    } else {
        k - bias
    }
}

fn push_number(out: &mut String, mut number: u32, bias: u32) {
    let mut k = BASE;
    loop {
        let t = threshold(k, bias);
        if number < t {
            break;
        }
        out.push(digit(t + (number - t) % (BASE - t)));
        number = (number - t) / (BASE - t);
        k += BASE;
    }
    out.push(digit(number));
}

fn read_number(digits: &mut std::str::Bytes<'_>, bias: u32) -> Option<u32> {
    let (mut number, mut weight, mut k) = (0_u32, 1_u32, BASE);
    loop {
        let digit = match digits.next()? {
            byte @ b'a'..=b'z' => u32::from(byte - b'a'),
            byte @ b'A'..=b'Z' => u32::from(byte - b'A'),
            byte @ b'0'..=b'9' => u32::from(byte - b'0') + 26,
            _ => return None,
        };
        number = number.checked_add(digit.checked_mul(weight)?)?;
        let t = threshold(k, bias);
        if digit < t {
            return Some(number);
        }
        weight = weight.checked_mul(BASE - t)?;
        k += BASE;
    }
}

fn digit(value: u32) -> char {
    let byte = u8::try_from(value).unwrap_or_default();
    char::from(if byte < 26 { b'a' + byte } else { b'0' + byte - 26 })
}

const fn adapt(delta: u32, many: u32, first: bool) -> u32 {
    let mut delta = if first { delta / DAMP } else { delta / 2 };
    delta += delta / many;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_encoded_and_decoded() {
        for (label, encoded) in [
            ("bücher", "bcher-kva"),
            ("münchen", "mnchen-3ya"),
            ("gіthub", "gthub-n2e"),
            ("аррӏе", "80ak6aa92e"),
            ("例え", "r8jz45g"),
            ("straße", "strae-oqa"),
            ("☃", "n3h"),
        ] {
            assert_eq!(encode(label).as_deref(), Some(encoded));
            assert_eq!(decode(encoded).as_deref(), Some(label));
        }
    }

    #[test]
    fn what_is_no_punycode_is_refused() {
        for label in ["bcher-kv!", "99999999", "bücher", &"a".repeat(64)] {
            assert_eq!(decode(label), None, "{label}");
        }
        assert_eq!(encode(&"ü".repeat(64)), None);
    }
}
