//! Formats generated Go as `gofmt` does: nobody needs Go to build the program that carries it. It
//! knows the Go that the generator writes, no more; `tests/plugins` compares it with `gofmt`.

/// Formats a file.
pub(crate) fn format(source: &str) -> String {
    let mut lines = indent(source);
    sort_imports(&mut lines);
    let mut text = align(separate(lines)).join("\n");
    text.push('\n');
    text
}

/// Indents by open brackets, and leaves at most one empty line in a row.
fn indent(source: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    for line in source.lines().map(str::trim) {
        if line.is_empty() {
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            continue;
        }
        let code = code(line);
        let count = |brackets: &[char]| code.matches(brackets).count();
        let closing = code.chars().take_while(|letter| "})]".contains(*letter)).count();
        let label = (code.starts_with("case ") || code == "default:") && code.ends_with(':');
        let tabs = depth.saturating_sub(closing + usize::from(label));
        lines.push("\t".repeat(tabs) + &space(line));
        depth = (depth + count(&['{', '(', '['])).saturating_sub(count(&['}', ')', ']']));
    }
    while lines.pop_if(|last| last.is_empty()).is_some() {}
    lines
}

/// Returns a line without its comment and the contents of its strings.
fn code(line: &str) -> String {
    let outside = |(index, part): (usize, &str)| (index % 2 == 0).then(|| part.to_owned());
    let code: String = line.split('"').enumerate().filter_map(outside).collect();
    code.split("//").next().unwrap_or_default().to_owned()
}

/// Spaces the arithmetic of a line: none around the operators of an argument, and some around the
/// weakest operator of what stands in brackets of its own.
fn space(line: &str) -> String {
    if line.starts_with("//") {
        return line.to_owned();
    }
    let line = line.trim_end_matches(';').replace(")  {", ") {").replace(" * ", "*");
    let mut spaced = String::new();
    let mut rest = line.as_str();
    while let Some((before, after)) = rest.split_once('(') {
        spaced.push_str(before);
        spaced.push('(');
        rest = after;
        let Some((inner, _)) = after.split_once(')') else { break };
        let is_sum = inner.contains(['+', '*'])
            && inner.chars().all(|letter| letter.is_ascii_digit() || "+*".contains(letter));
        if is_sum && !before.ends_with('*') {
            let weakest = if inner.contains('+') { "+" } else { "*" };
            spaced.push_str(&inner.replace(weakest, &format!(" {weakest} ")));
            rest = after.get(inner.len()..).unwrap_or_default();
        }
    }
    spaced + rest
}

fn sort_imports(lines: &mut [String]) {
    let path = |line: &String| line.split('"').nth(1).map(str::to_owned);
    let mut imports = lines.split_mut(|line| line == "import (" || line == ")");
    if let Some(imports) = imports.nth(1) {
        imports.sort_by_key(path);
    }
}

/// Puts an empty line before each declaration with a comment, or of another kind than the last.
fn separate(lines: Vec<String>) -> Vec<String> {
    const KINDS: &[&str] = &["//", "type ", "func ", "const ", "var ", "import "];
    let mut separated: Vec<String> = Vec::new();
    let mut last = "";
    for line in lines {
        if let Some(kind) = KINDS.iter().find(|kind| line.starts_with(**kind)) {
            let follows = |above: &String| !above.is_empty() && !above.starts_with("//");
            if separated.last().is_some_and(follows) && (*kind == "//" || *kind != last) {
                separated.push(String::new());
            }
            if *kind != "//" {
                last = kind;
            }
        }
        separated.push(line);
    }
    separated
}

/// Aligns the columns of fields and constants that follow each other.
fn align(lines: Vec<String>) -> Vec<String> {
    let mut aligned: Vec<String> = Vec::new();
    let mut run: Vec<String> = Vec::new();
    let mut inside = false;
    for line in lines {
        let column = inside && line.starts_with('\t') && !line.starts_with("\t//");
        if column {
            run.push(line);
            continue;
        }
        aligned.append(&mut columns(&std::mem::take(&mut run)));
        inside = line == "const ("
            || (line.starts_with("type ") && line.ends_with(" struct {"))
            || (inside && !line.starts_with([')', '}']));
        aligned.push(line);
    }
    aligned
}

/// Pads the name of each line and, where a value follows, its type.
fn columns(run: &[String]) -> Vec<String> {
    let cells = |line: &String| -> Vec<String> {
        let count = if line.contains(" = ") { 3 } else { 2 };
        line.trim_start().splitn(count, ' ').map(str::to_owned).collect()
    };
    let rows: Vec<Vec<String>> = run.iter().map(cells).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or_default()
    };
    let widths = [width(0), width(1)];
    let pad = |row: &Vec<String>| {
        let padded = row.iter().enumerate().map(|(column, cell)| {
            let last = column + 1 == row.len();
            let width = widths.get(column).copied().filter(|_| !last).unwrap_or_default();
            format!("{cell:<width$}")
        });
        format!("\t{}", padded.collect::<Vec<_>>().join(" "))
    };
    rows.iter().map(pad).collect()
}
