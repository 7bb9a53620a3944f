//! Child servers, seen from outside: one connection, the life of servers, real processes.

mod connection;
#[cfg(feature = "http")]
mod http;
mod life;
mod lists;
mod load;
mod login;
mod process;
mod repeat;
mod results;
mod scripted;
mod sleep;
