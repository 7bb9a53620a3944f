//! The running sums of one search: what each document has scored so far.

use super::number::{ONE, times};
use super::reading::Sense;
use super::segment::Segment;

/// Memory that searches reuse: one value for each thread of searches. What is in it never matters.
#[derive(Debug, Default)]
pub struct Scratch {
    /// One a document, segment after segment.
    cells: Vec<Cell>,
    /// For each segment, the place of its first document in `cells`.
    starts: Vec<usize>,
    /// Places of the documents that have scored.
    scored: Vec<u32>,
    /// Places of the documents that the current word has scored in.
    touched: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Sum over the words so far.
    score: u32,
    /// The current word's share of it: the best of its senses.
    best: u32,
}

impl Scratch {
    /// Forgets the last search.
    pub(super) fn reset(&mut self, segments: &[&Segment]) {
        self.starts.clear();
        let mut documents = 0;
        for segment in segments {
            self.starts.push(documents);
            // A posting names its document in two bytes: whatever a damaged head says, there are no more.
            documents += segment.documents().min(1 << 16) as usize;
        }
        self.cells.clear();
        self.cells.resize(documents, Cell::default());
        self.scored.clear();
        self.touched.clear();
    }

    /// How many documents there are.
    pub(super) fn documents(&self) -> u32 {
        self.cells.len() as u32
    }

    /// Adds a sense of the current word, which counts `unit` (in 1024ths) where the impact is full.
    pub(super) fn add(&mut self, segments: &[&Segment], sense: &Sense, unit: u32) {
        for (segment, range) in &sense.lists {
            for (document, impact) in segments[*segment].postings(range.clone()) {
                let place = self.starts[*segment] + usize::from(document);
                let cell = &mut self.cells[place];
                let value = unit.saturating_mul(impact.into());
                if value <= cell.best {
                    continue;
                }
                if cell.score == 0 {
                    self.scored.push(place as u32);
                }
                if cell.best == 0 {
                    self.touched.push(place as u32);
                }
                cell.score = cell.score.saturating_add(value - cell.best);
                cell.best = value;
            }
        }
    }

    /// Ends the current word.
    pub(super) fn end_word(&mut self) {
        for place in self.touched.drain(..) {
            self.cells[place as usize].best = 0;
        }
    }

    /// The documents that have scored: segment, document, score (255 * 1024 is a full match of a word that counts 1).
    pub(super) fn scores(&self) -> impl Iterator<Item = (usize, u16, u32)> {
        self.scored.iter().map(|&place| {
            let place = place as usize;
            let segment = self.starts.partition_point(|start| *start <= place) - 1;
            (segment, (place - self.starts[segment]) as u16, self.cells[place].score)
        })
    }
}

/// What a word counts where the impact is full.
pub(super) fn unit(idf: u32, repetition: u32, weight: u32) -> u32 {
    debug_assert!(weight <= ONE, "no sense counts more than its word");
    times(times(idf, repetition), weight)
}
