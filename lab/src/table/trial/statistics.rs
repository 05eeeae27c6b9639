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

#[cfg(test)]
mod tests {
    use super::*;

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
