//! One cell: made safe for spreadsheets, then quoted.

/// Adds a cell.
pub(super) fn push_cell(out: &mut String, text: &str) {
    let formula = is_formula(text);
    // Some readers trim blanks around a bare text.
    let quoted = formula || text.contains(['"', ',', '\t', '\r', '\n']) || text.trim() != text;
    if !quoted {
        out.push_str(text);
        return;
    }
    out.push('"');
    if formula {
        out.push('\'');
    }
    for character in text.chars() {
        if character == '"' {
            out.push('"');
        }
        out.push(character);
    }
    out.push('"');
}

/// Returns true if a spreadsheet would interpret it as a formula: it begins, perhaps after white
/// space that an import trims, with a sign that starts one. The wide forms count too, since some
/// programs fold them.
fn is_formula(text: &str) -> bool {
    let first = text.trim_start_matches(|character: char| {
        character.is_whitespace() || character.is_control() || character == '\u{feff}'
    });
    text.starts_with(['\t', '\r'])
        || first.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("a;b", "a;b"),
            ("a,b", "\"a,b\""),
            ("say \"no\"", "\"say \"\"no\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            (" kept ", "\" kept \""),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-rf", "\"'-rf\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("\tplain", "\"'\tplain\""),
            ("\r=1", "\"'\r=1\""),
            ("\rplain", "\"'\rplain\""),
            ("\n=1", "\"'\n=1\""),
            ("  =1", "\"'  =1\""),
            ("\u{a0}=1", "\"'\u{a0}=1\""),
            ("\u{feff}=1", "\"'\u{feff}=1\""),
            ("\0=1", "\"'\0=1\""),
            ("＝1", "\"'＝1\""),
            ("a=1", "a=1"),
            ("'=1", "'=1"),
            ("=\"x\"", "\"'=\"\"x\"\"\""),
        ] {
            let mut out = String::new();
            push_cell(&mut out, text);
            assert_eq!(out, expected, "{text:?}");
        }
    }
}
