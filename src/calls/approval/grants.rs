//! Standing consent: what a person has allowed until the session ends. A grant is given by a person's answer alone and
//! lives in this process; its file in the state folder is the record of it, and removing that takes the grant back. So
//! nobody can make one by writing a file. Bounded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evokore_catalog::canonical::hex;

use super::{Call, random};
use crate::state::grants::{Record, Records, Scope};

/// Grants at once; of more the oldest is taken back.
const MAX_GRANTS: usize = 64;

/// The grants of this process.
#[derive(Debug)]
pub(super) struct Grants {
    records: Records,
    given: Mutex<Vec<Grant>>,
}

#[derive(Debug)]
struct Grant {
    id: String,
    /// What it is good for.
    of: [u8; 32],
}

impl Grants {
    pub(super) fn new(records: Records) -> Grants {
        Grants { records, given: Mutex::default() }
    }

    /// Gives one. A grant that cannot be recorded, and so not be taken back, is none: the person is asked again.
    pub(super) async fn give(&self, call: &Call<'_>, scope: Scope) {
        let of = key(call, scope);
        if self.given().iter().any(|grant| grant.of == of) {
            return;
        }
        let Ok(random) = random::<4>() else { return };
        let id = hex(&random);
        let arguments = (scope == Scope::Arguments).then_some(call.proposal.arguments.unwrap_or("{}"));
        let record = Record::new(&id, call.proposal.tool, arguments, call.proposal.role);
        if let Err(why) = self.records.add(record).await {
            crate::log::line(&format!("a standing approval is not kept: {why}"));
            return;
        }
        let oldest = {
            let mut given = self.given();
            let oldest = (given.len() >= MAX_GRANTS).then(|| given.remove(0).id);
            given.push(Grant { id, of });
            oldest
        };
        if let Some(oldest) = oldest {
            self.records.remove(&oldest).await;
        }
    }

    /// Whether one that has not been taken back covers the call.
    pub(super) async fn cover(&self, call: &Call<'_>) -> bool {
        // Looked for by the narrower scope first; most processes have none at all.
        for scope in [Scope::Arguments, Scope::Tool] {
            let of = key(call, scope);
            let found = self.given().iter().find(|grant| grant.of == of).map(|grant| grant.id.clone());
            let Some(id) = found else { continue };
            if self.records.is_there(&id).await {
                return true;
            }
            self.given().retain(|grant| grant.id != id);
        }
        false
    }

    fn given(&self) -> MutexGuard<'_, Vec<Grant>> {
        // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(call: &Call<'_>, scope: Scope) -> [u8; 32] {
    match scope {
        Scope::Arguments => call.digest(),
        Scope::Tool => call.digest_of_tool(),
    }
}
