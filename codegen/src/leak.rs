//! Texts and lists for the catalog. Its structs hold `'static` data so that the compiler and the runtime share one
//! type; the compiler is a short process, so what it puts into them is leaked.

/// `text`, for good.
pub fn leak(text: &str) -> &'static str {
    if text.is_empty() { "" } else { text.to_owned().leak() }
}

/// `items`, for good.
pub fn leak_all<T>(items: impl IntoIterator<Item = T>) -> &'static [T] {
    items.into_iter().collect::<Vec<_>>().leak()
}
