//! Components that come with the program, loaded once for all plugins that are in them.
//!
//! Each plugin of such a component is asked in an instance of its own, as anyone's is: what is shared is machine
//! code, which nobody can write to.

use crate::cache::Stamp;
use crate::load_error::LoadError;
use crate::world::World;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A component that is ready to be instantiated, and the stamp of the file that its machine code came from.
pub(crate) type Ready = (Arc<World>, Option<Stamp>);

/// What was loaded, by digest.
#[derive(Default)]
pub(crate) struct Shared(Mutex<BTreeMap<&'static str, Arc<Mutex<Option<Ready>>>>>);

impl Shared {
    /// The component with that digest; whoever comes first loads it, the others wait for it. A failure is not kept.
    pub(crate) fn get_or_load(&self, digest: &'static str, load: impl FnOnce() -> Result<Ready, LoadError>) -> Result<Ready, LoadError> {
        let cell = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(digest).or_default());
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cell {
            Some(ready) => Ok(ready.clone()),
            None => Ok(cell.insert(load()?).clone()),
        }
    }
}
