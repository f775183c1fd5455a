//! The examples of the catalogue: each comes out as its entry says.

use portcullis_programs::document::{self, Document};
use portcullis_programs::list_files;
use portcullis_shell_reader::examples::find_difference;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns every file, by the name of its field.
pub(crate) fn fields() -> BTreeMap<String, Document> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue");
    let read = |path: &Path| {
        let field = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        (field, document::parse(&path.display().to_string(), &text).unwrap())
    };
    list_files(&folder).unwrap().iter().map(|path| read(path)).collect()
}

#[test]
fn the_examples_come_out_as_they_say() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (field, document) in fields() {
        for example in document.entry.iter().flat_map(|entry| &entry.get_ref().examples) {
            count += 1;
            wrong.extend(
                find_difference(example).map(|mistake| format!("{field}: {}", mistake.what)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 0, "no file has an example");
}
