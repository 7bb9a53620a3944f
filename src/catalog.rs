//! What the build compiled in: the catalog, the tables into it, and the enum of native tools.

include!(concat!(env!("OUT_DIR"), "/catalog.rs"));
