//! Child servers, seen from outside: one connection, the life of servers, real processes.

mod connection;
#[cfg(all(unix, feature = "http"))]
pub(crate) mod far;
#[cfg(feature = "http")]
mod http;
#[cfg(all(unix, feature = "http"))]
mod http_faults;
#[cfg(all(unix, feature = "http"))]
mod http_old;
mod life;
mod lists;
mod load;
#[cfg(all(unix, feature = "http"))]
pub(crate) mod login;
mod memory;
mod process;
mod questions;
mod repeat;
mod results;
mod scripted;
mod sleep;
mod tasks;
