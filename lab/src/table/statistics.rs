//! What a table says of many transfers together.

/// Mean, and the standard deviation of a sample (divided by n - 1, as statistics programs do).
/// Nothing, of no values.
pub fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    (!values.is_empty()).then_some((mean, deviation))
}

/// The value in the middle; of an even number, the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// Pearson's coefficient of correlation; nothing where one of the two does not vary.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let column = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).collect::<Vec<f64>>();
    let (x_mean, _) = mean_and_deviation(&column(|pair| pair.0))?;
    let (y_mean, _) = mean_and_deviation(&column(|pair| pair.1))?;
    let mut sums = [0.0; 3];
    for (x, y) in pairs {
        let (dx, dy) = (x - x_mean, y - y_mean);
        sums[0] += dx * dy;
        sums[1] += dx * dx;
        sums[2] += dy * dy;
    }
    let [both, x, y] = sums;
    (x > 0.0 && y > 0.0).then(|| both / (x.sqrt() * y.sqrt()))
}

/// Of 1 in 20, on both sides together: the quantile of the normal distribution.
const TWO_SIDED: f64 = 1.959_964;

/// Whether two correlations of `n` pairs each differ at 5 %, by Fisher's z.
pub fn correlations_differ(a: f64, b: f64, n: usize) -> bool {
    let error = (2.0 / (n as f64 - 3.0).max(0.5)).sqrt();
    let z = |r: f64| r.clamp(-0.999_999, 0.999_999).atanh();
    (z(a) - z(b)).abs() > TWO_SIDED * error
}

/// Whether two counts of equal chances differ at 5 %: given their sum, each is of a fair coin. Exact.
pub fn counts_differ(a: u64, b: u64) -> bool {
    sign_test(a, b) < 0.05
}

/// How likely heads and tails of a fair coin are as far apart as these, or further.
pub fn sign_test(heads: u64, tails: u64) -> f64 {
    let n = heads + tails;
    // By its logarithm: the first term of many would be 0.
    let mut likely = n as f64 * 0.5f64.ln();
    let mut sum = 0.0;
    for k in 0..=heads.min(tails) {
        sum += likely.exp();
        likely += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    (2.0 * sum).min(1.0)
}

/// Whether two rows of counts are of different distributions at 5 %: chi-squared, over the columns that have any.
///
/// # Panics
///
/// Beyond nine such columns.
pub fn tables_differ(a: &[u32], b: &[u32]) -> bool {
    const LIMITS: [f64; 8] = [3.841, 5.991, 7.815, 9.488, 11.070, 12.592, 14.067, 15.507];
    let sum = |row: &[u32]| row.iter().copied().map(f64::from).sum::<f64>();
    let (all_a, all_b) = (sum(a), sum(b));
    let mut chi = 0.0;
    let mut columns: usize = 0;
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        if a + b > 0.0 {
            columns += 1;
            let wanted = [all_a, all_b].map(|row| (a + b) * row / (all_a + all_b));
            for (found, wanted) in [a, b].iter().zip(wanted) {
                chi += if wanted > 0.0 { (found - wanted).powi(2) / wanted } else { 0.0 };
            }
        }
    }
    assert!(columns <= LIMITS.len() + 1, "expected at most nine columns, got {columns}");
    let limit = columns.checked_sub(2).and_then(|freedom| LIMITS.get(freedom));
    // With nothing in one of the rows there is nothing to compare.
    limit.is_some_and(|limit| chi > *limit) || (all_a > 0.0) != (all_b > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_at_five_percent() {
        // z of 0.24 is 0.2448, and the error of the difference of 558 pairs 0.0600.
        assert!(!correlations_differ(0.24, 0.33, 558) && correlations_differ(0.24, 0.36, 558));
        // The limit is tanh(1.96 sqrt(2 / 41)) = 0.4077.
        assert!(!correlations_differ(0.0, 0.407, 44) && correlations_differ(0.0, 0.409, 44));
        // 1 of 6 and 5 of 6 heads: 14 of 64 are as far apart; 0 of 6: 2 of 64.
        assert!((sign_test(1, 5) - 14.0 / 64.0).abs() < 1e-12);
        assert!((sign_test(0, 6) - 2.0 / 64.0).abs() < 1e-12);
        assert!((sign_test(3, 3) - 1.0).abs() < 1e-12 && sign_test(0, 0) > 0.999);
        // Of many: 1.96 deviations of sqrt(4000) / 2 are 62, so 1938 is within, 1937 not.
        assert!(sign_test(1938, 2062) > 0.05 && sign_test(1937, 2063) < 0.05);
        assert!(counts_differ(0, 6) && !counts_differ(1, 6) && !counts_differ(11, 20));
        // By hand: 2 (10 - 15)^2 / 15 for each row of two columns, 6.67 with one degree of freedom.
        assert!(tables_differ(&[10, 20], &[20, 10]) && !tables_differ(&[10, 12], &[12, 10]));
        assert!(!tables_differ(&[6, 14, 5], &[5, 8, 7]) && tables_differ(&[1, 2], &[0, 0]));
        assert!(!tables_differ(&[0, 3], &[0, 5]));
    }

    #[test]
    fn known_values() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let (mean, deviation) = mean_and_deviation(&values).unwrap();
        assert!((mean - 5.0).abs() < 1e-12 && (deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(median(&values), Some(4.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!((median(&[]), mean_and_deviation(&[])), (None, None));
        let line: Vec<(f64, f64)> = (0..9).map(|x| (f64::from(x), 3.0 - f64::from(x))).collect();
        assert!((correlation(&line).unwrap() + 1.0).abs() < 1e-12);
        // Anscombe's first set.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let set: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        assert!((correlation(&set).unwrap() - 0.816).abs() < 0.0005);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
