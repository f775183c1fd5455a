//! Short code in a language that nothing here reads: harmless if every name in it is one of those
//! that only compute and print.

/// The longest text that is looked at.
const LENGTH: usize = 400;

#[rustfmt::skip]
const RAKU: &[&str] = &[
    "Bool", "Date", "DateTime", "False", "Int", "Inf", "Num", "Rat", "Str", "True", "abs", "and", "chars", "comb", "ceiling", "div",
    "elems", "else", "elsif", "eq", "first", "floor", "fmt", "for", "gcd", "ge", "given", "gt", "if", "is-prime", "join", "keys",
    "lc", "lcm", "le", "lt", "map", "max", "min", "mod", "my", "ne", "not", "note", "now", "or", "our", "pick", "print", "printf",
    "put", "reduce", "reverse", "roll", "round", "say", "sort", "split", "sprintf", "sqrt", "sum", "tc", "today", "uc", "unique",
    "unless", "values", "when", "while", "words", "x", "xx",
];

/// Names of other languages that only compute and print.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "Int", "String", "abs", "and", "cos", "count", "disp", "display", "div", "do", "echo", "else", "end", "exp", "false", "fact",
    "filter", "fold", "foldl", "foldr", "for", "func", "fun", "head", "if", "in", "length", "let", "log", "map", "max", "min", "mod",
    "not", "odd", "of", "or", "pi", "print", "print_endline", "print_int", "print_string", "printf", "product", "puts", "putStrLn",
    "rec", "replicate", "return", "reverse", "show", "sin", "sort", "sqrt", "string", "sum", "take", "tail", "then", "true", "var",
    "where", "zip", "zipWith", "newline", "List", "Printf", "string_of_int", "printNl", "displayNl",
];

#[rustfmt::skip]
const LISP: &[&str] = &[
    "and", "append", "apply", "assoc", "atom", "begin", "car", "cdr", "collect", "concatenate", "cond", "cons", "count", "dec",
    "display", "do", "dotimes", "drop", "emacs-version", "evenp", "even", "expt", "filter", "first", "floor", "for", "format", "from",
    "funcall", "gcd", "get", "if", "in", "inc", "lambda", "last", "lcm", "length", "let", "list", "loop", "map", "mapcar", "max",
    "message", "min", "mod", "newline", "nil", "not", "null", "oddp", "odd", "or", "pprint", "prin1", "princ", "print", "println", "progn",
    "quote", "quotient", "range", "reduce", "remainder", "rest", "reverse", "round", "second", "sort", "sqrt", "str", "string",
    "string-append", "string-upcase", "sum", "t", "take", "terpri", "third", "to", "true", "false", "truncate", "vec", "vector",
    "version", "write-line", "zerop",
];

/// Signs of an order of gnuplot that starts a program or reads other orders.
const SHELLS_OUT: &[&str] = &[
    "!", "`", "<", "|", "call", "eval", "import", "load", "output", "print", "save", "shell",
    "system", "write",
];

/// Returns true for code that can do nothing but compute and print.
pub(super) fn is_plain(language: &str, code: &str) -> bool {
    let names = match language {
        "raku" => RAKU,
        "lisp" | "scheme" => LISP,
        "crystal" | "gap" | "haskell" | "maxima" | "nim" | "ocaml" | "octave" | "smalltalk"
        | "swift" => COMMON,
        "gnuplot" => return !SHELLS_OUT.iter().any(|sign| code.contains(sign)),
        _ => return false,
    };
    // Texts in which code may stand, dynamic variables, and what the reader itself runs.
    let odd = ["`", "{", "#.", "$*", "%*", "@*", "<<", "\u{fffd}", "::", "&"];
    let blocks = language == "raku";
    if code.len() > LENGTH
        || odd.iter().any(|sign| code.contains(sign) && !(blocks && *sign == "{" && !in_text(code)))
    {
        return false;
    }
    let mut before = ' ';
    let mut quote = false;
    let mut word = String::new();
    for c in code.chars().chain([' ']) {
        if c == '"' {
            quote = !quote;
        }
        if quote || blocks && c == '\'' {
            continue;
        }
        if c.is_alphanumeric() || matches!(c, '-' | '_') && !word.is_empty() {
            // A variable may have any name.
            if word.is_empty() && matches!(before, '$' | '@' | '%') {
                word.push('$');
            }
            word.push(c);
        } else {
            let is_name = word.starts_with(|c: char| c.is_alphabetic());
            let low = word.trim_end_matches('-');
            // A single letter is a variable or a number's exponent in these languages.
            if is_name && !names.contains(&low) && low.chars().count() > 1 {
                return false;
            }
            word.clear();
        }
        before = c;
    }
    // A quote that is still open may have hidden code.
    !quote
}

/// Returns true if a text in quotes holds a block, which is run.
fn in_text(code: &str) -> bool {
    code.split('"').skip(1).step_by(2).any(|text| text.contains('{'))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn only_what_computes_and_prints_is_plain() {
        for (language, code) in [
            ("raku", "say 1 + 2"),
            ("raku", "my $total = 0; for 1..10 { $total += $_ }; say $total"),
            ("haskell", "sum [1..10]"),
            ("swift", "print(1 + 2)"),
            ("nim", "echo 1 + 2"),
            ("lisp", "(print (+ 1 2))"),
            ("lisp", "(println (map inc (range 3)))"),
            ("lisp", "(format t \"~a~%\" (expt 2 10))"),
        ] {
            assert!(is_plain(language, code), "{code}");
        }
        for (language, code) in [
            ("raku", "run 'ls'"),
            ("raku", "say \"{run 'ls'}\""),
            ("raku", "say qx/ls/"),
            ("raku", "unlink 'a'"),
            ("raku", "say %*ENV"),
            ("lisp", "(delete-file \"a\")"),
            ("lisp", "(print #.(run-program \"ls\"))"),
            ("lisp", "(sb-ext:run-program \"/bin/ls\" nil)"),
            ("lisp", "(println (slurp \"a\"))"),
            ("octave", "system(\"ls\")"),
            ("nim", "removeDir \"a\""),
            ("gnuplot", "system(\"ls\")"),
            ("haskell", "System.Process.callCommand \"ls\""),
        ] {
            assert!(!is_plain(language, code), "{code}");
        }
    }
}
