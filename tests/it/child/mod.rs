//! Child servers, seen from outside: one connection, the life of servers, real processes.

mod connection;
mod life;
mod lists;
mod process;
mod results;
mod scripted;
