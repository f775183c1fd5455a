//! Writes each builtin component as `<name>.wasm` into a folder: the files that a release ships,
//! and that `PORTCULLIS_BUILTIN_DIR` accepts.

use portcullis_builtin::COMPONENTS;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("name the folder to write to")?);
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    for component in COMPONENTS {
        let path = folder.join(component.name).with_extension("wasm");
        fs::write(&path, component.bytes())
            .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    }
    Ok(())
}
