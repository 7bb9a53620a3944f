//! Fixed-point arithmetic for scores. `f64::ln` may differ in the last bit between machines, and a last bit can swap two
//! tools in a ranking; whole numbers can't.

/// The number 1: weights, logarithms and document frequencies count in 1024ths.
pub(super) const ONE: u32 = 1024;

/// A word that almost every document holds still counts this much.
const LEAST_IDF: u32 = ONE;

/// `a * b`.
pub(super) fn times(a: u32, b: u32) -> u32 {
    u32::try_from(u64::from(a) * u64::from(b) / u64::from(ONE)).unwrap_or(u32::MAX)
}

/// How much a term tells documents apart: `ln(1 + (N - n + 1/2) / (n + 1/2))` for a term that `n` of `N` documents hold,
/// and at least 1.
pub(super) fn idf(documents: u32, holders: u32) -> u32 {
    // The formula's sum, made one fraction and doubled to rid it of the halves.
    ln(2 * u64::from(documents) + 2, 2 * u64::from(holders) + 1).max(LEAST_IDF)
}

/// What a word counts that stands `count` times in the query: `1 + ln(count)`.
pub(super) fn repetition(count: u32) -> u32 {
    ONE + ln(count.into(), 1)
}

/// The natural logarithm of `numerator / denominator`, both below 2^40; 0 where it would be negative.
fn ln(numerator: u64, denominator: u64) -> u32 {
    /// ln 2 in 65536ths.
    const LN_2: u64 = 45_426;
    let Some(quotient) = numerator.checked_div(denominator).filter(|quotient| *quotient > 0) else { return 0 };
    let whole = u64::from(quotient.ilog2());

    // The binary logarithm, one bit of its fraction at a time: a mantissa in [1, 2), squared, gives the next bit by
    // whether it reached 2. It stands in 2^31sts.
    let mut mantissa = ((u128::from(numerator) << 31) / (u128::from(denominator) << whole)) as u64;
    let mut log2 = whole;
    for _ in 0..16 {
        mantissa = (mantissa * mantissa) >> 31;
        let bit = mantissa >> 32;
        mantissa >>= bit;
        log2 = (log2 << 1) | bit;
    }
    ((log2 * LN_2) >> (16 + 16 - ONE.ilog2())) as u32
}

#[cfg(test)]
mod tests {
    use super::{ONE, idf, ln, repetition};

    #[test]
    fn ln_is_right_to_a_1024th() {
        for (numerator, denominator) in
            [(1, 1), (2, 1), (3, 2), (7, 5), (1 << 39, 1), (1 << 39, (1 << 39) - 1), (1000, 3)]
        {
            let exact = (numerator as f64 / denominator as f64).ln() * f64::from(ONE);
            let got = f64::from(ln(numerator, denominator));
            assert!((got - exact).abs() <= 1.0, "ln({numerator}/{denominator}) = {got}, exactly {exact}");
        }
        assert_eq!(ln(1, 2), 0);
        assert_eq!(ln(1, 0), 0);
    }

    #[test]
    fn rare_terms_count_more_and_none_counts_nothing() {
        assert!(idf(500, 1) > idf(500, 2));
        assert!(idf(500, 2) > idf(500, 100));
        assert_eq!(idf(500, 499), ONE);
        assert_eq!(idf(0, 0), ONE);
        assert!(idf(u32::MAX, 0) > idf(u32::MAX, 1));
    }

    #[test]
    fn a_repeated_word_counts_more_but_not_in_proportion() {
        assert_eq!(repetition(1), ONE);
        assert!(repetition(2) > ONE && repetition(2) < 2 * ONE);
    }
}
