//! The parts of a tool or skill in which a word can stand, and what that makes the word worth.

/// A part of a document. Tools and skills share the five, since the parts of both differ in the same way: in length, and
/// in how much one word in them says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// A tool's exposed name; a skill's name.
    Name,
    /// The description.
    Description,
    /// A tool's parameter names; a skill's tags, aliases and category.
    Labels,
    /// A tool's parameter descriptions and enumerated values; a skill's headings.
    Details,
    /// A skill's body.
    Body,
}

/// How a field enters the BM25F formula.
pub(super) struct Shape {
    /// What one occurrence of a word counts (`w`).
    pub(super) weight: f64,
    /// How far length makes each word count less: 0 not at all, 1 in full proportion (`b`).
    pub(super) length_effect: f64,
    /// The length, in words, at which a word counts neither more nor less. A constant, not the mean of the documents at
    /// hand, so that what a document is worth doesn't depend on its neighbours: live tools rank among compiled ones as
    /// if all had been indexed together.
    pub(super) usual_length: f64,
}

impl Field {
    /// How many fields there are.
    pub(super) const COUNT: usize = 5;

    /// All fields, in the order of arrays by field.
    pub(super) const ALL: [Self; Self::COUNT] =
        [Self::Name, Self::Description, Self::Labels, Self::Details, Self::Body];

    pub(super) fn shape(self) -> Shape {
        let (weight, length_effect, usual_length) = match self {
            Self::Name => (4.0, 0.3, 3.0),
            Self::Description => (1.0, 0.6, 20.0),
            Self::Labels => (0.6, 0.75, 5.0),
            Self::Details => (0.4, 0.75, 30.0),
            Self::Body => (0.15, 0.9, 800.0),
        };
        Shape { weight, length_effect, usual_length }
    }
}
