//! Components that come with the program, loaded once for all plugins that are in them.
//!
//! Each plugin of such a component is called in its own instance, like any other: only the machine
//! code is shared, and nobody can write to that.

use crate::cache::Stamp;
use crate::load_error::LoadError;
use crate::world::BoundPlugin;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A component that can be instantiated, and the stamp of the file that its machine code came from.
pub(crate) type SharedComponent = (Arc<BoundPlugin>, Option<Stamp>);

/// The loaded components, by digest.
#[derive(Default)]
pub(crate) struct Shared(Mutex<BTreeMap<&'static str, Arc<Mutex<Option<SharedComponent>>>>>);

impl Shared {
    /// Returns the component with that digest; the first caller loads it, the others wait. A
    /// failure is not kept.
    pub(crate) fn get_or_load(
        &self,
        digest: &'static str,
        load: impl FnOnce() -> Result<SharedComponent, LoadError>,
    ) -> Result<SharedComponent, LoadError> {
        let cell = Arc::clone(
            self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(digest).or_default(),
        );
        let mut cell = cell.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cell {
            Some(shared) => Ok(shared.clone()),
            None => Ok(cell.insert(load()?).clone()),
        }
    }
}
