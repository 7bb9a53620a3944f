//! Child servers, seen from outside: one connection, the life of servers, real processes.

mod connection;
mod life;
mod lists;
mod load;
mod process;
mod repeat;
mod results;
mod scripted;
mod sleep;
