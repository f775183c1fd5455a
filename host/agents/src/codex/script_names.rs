//! The tools that a script of Codex CLI's code mode names: each call of `tools.NAME` is seen by a
//! hook but for one tool, so a script that reaches a tool by another way may mean that one.
//!
//! This reads names, not JavaScript: what it does not understand counts as hidden.

/// Words with which a script makes code of a text, or reaches everything by name.
const OPENING: &[&str] = &["eval", "Function", "globalThis", "import", "Reflect", "Proxy"];
/// The object that holds the tools.
const TOOLS: &str = "tools";

/// A piece of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A name or a number.
    Word(String),
    /// A text without what it computes.
    Text(String),
    Sign(char),
}

/// Returns true if a script may use a tool whose name it does not write.
pub(super) fn hides_a_tool(script: &str, tool: &str) -> bool {
    let tokens = tokens_of(script);
    let is_word =
        |at: usize, word: &str| matches!(tokens.get(at), Some(Token::Word(found)) if found == word);
    let is_sign = |at: usize, sign: char| tokens.get(at) == Some(&Token::Sign(sign));
    (0..tokens.len()).any(|at| {
        if OPENING.iter().any(|word| is_word(at, word)) {
            return true;
        }
        let is_member = at.checked_sub(1).is_some_and(|before| is_sign(before, '.'));
        if !is_word(at, TOOLS) || is_member {
            return false;
        }
        let dot = if is_sign(at + 1, '?') { at + 2 } else { at + 1 };
        let is_named = match (tokens.get(dot), tokens.get(dot + 1)) {
            // A letter that is escaped goes on with the name.
            (Some(Token::Sign('.')), Some(Token::Word(name))) => {
                name != tool && !is_sign(dot + 2, '\\')
            }
            (Some(Token::Sign('[')), Some(Token::Text(name))) => {
                is_sign(dot + 2, ']') && !name.is_empty() && name != tool
            }
            _ => takes_names(&tokens, at),
        };
        // The tool's own name is judged by what it is given.
        let is_own = matches!(tokens.get(dot + 1), Some(Token::Word(name) | Token::Text(name)) if name == tool);
        !is_named && !is_own
    })
}

/// Returns true if the tools at a place are taken apart by plain names: `const {a, b: c} = tools`.
fn takes_names(tokens: &[Token], at: usize) -> bool {
    let Some(end) = at.checked_sub(2) else { return false };
    if tokens.get(at - 1) != Some(&Token::Sign('=')) || tokens.get(end) != Some(&Token::Sign('}')) {
        return false;
    }
    let names = tokens.get(..end).unwrap_or_default().iter().rev();
    let mut names = names.take_while(|token| **token != Token::Sign('{'));
    names.all(|token| matches!(token, Token::Word(_) | Token::Sign(',' | ':')))
}

/// Returns the pieces of a script. A name with an escaped letter has a sign in it.
fn tokens_of(script: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = script.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '/' if rest.peek() == Some(&'/') => {
                rest.by_ref().take_while(|letter| *letter != '\n').for_each(drop);
            }
            '/' if rest.peek() == Some(&'*') => {
                let mut before = ' ';
                rest.next();
                for letter in rest.by_ref() {
                    if before == '*' && letter == '/' {
                        break;
                    }
                    before = letter;
                }
            }
            '"' | '\'' | '`' => read_text(letter, &mut rest, &mut tokens),
            letter if is_name(letter) => {
                let mut word = String::from(letter);
                while let Some(letter) = rest.next_if(|letter| is_name(*letter)) {
                    word.push(letter);
                }
                tokens.push(Token::Word(word));
            }
            letter if letter.is_whitespace() => {}
            sign => tokens.push(Token::Sign(sign)),
        }
    }
    tokens
}

/// Reads a text to its end. One that is computed in part has the code of that part behind it.
fn read_text(
    quote: char,
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    tokens: &mut Vec<Token>,
) {
    let (mut text, mut code, mut is_plain) = (String::new(), String::new(), true);
    while let Some(letter) = rest.next() {
        match letter {
            letter if letter == quote => break,
            '\\' => {
                is_plain = false;
                rest.next();
            }
            '$' if quote == '`' && rest.peek() == Some(&'{') => {
                is_plain = false;
                code.extend(rest.by_ref().skip(1).take_while(|letter| *letter != '}'));
                code.push(' ');
            }
            letter => text.push(letter),
        }
    }
    tokens.push(if is_plain { Token::Text(text) } else { Token::Text(String::new()) });
    if !code.is_empty() {
        tokens.extend(tokens_of(&code));
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_a_script_does_not_write_is_hidden() {
        for script in [
            "tools['write_' + 'stdin']({chars: 'x'})",
            "tools[name](options)",
            "tools[`write_${'stdin'}`](options)",
            r"tools['write_\x73tdin'](options)",
            r"tools.write_\u0073tdin(options)",
            "for (const tool of Object.values(tools)) tool(options)",
            "const all = tools; all.send(options)",
            "const {exec_command, ...rest} = tools",
            "const {[name]: send} = tools",
            "run(tools)",
            "`${tools[name](options)}`",
            "eval(text)",
            "new Function('t', text)(1)",
            "globalThis['to' + 'ols']",
            "Reflect.get(it, name)",
        ] {
            assert!(hides_a_tool(script, "write_stdin"), "{script}");
        }
    }

    #[test]
    fn ordinary_scripts_hide_nothing() {
        for script in [
            "await tools.exec_command({cmd: 'ls tools/eval'})",
            "const {exec_command, view_image: view} = tools; exec_command({cmd: 'ls'})",
            "tools['exec_command']({cmd: \"cat tools.txt\"})",
            "// all tools are here\ntools.update_plan({})",
            "/* tools */ tools?.update_plan({})",
            "text('the tools are fine')",
            "const out = `done: ${(await tools.exec_command({cmd: 'ls'})).output}`",
            "kit.tools.pick(1)",
            "mytools[0]",
            "",
        ] {
            assert!(!hides_a_tool(script, "write_stdin"), "{script}");
        }
    }
}
