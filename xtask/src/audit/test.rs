//! The tests of significance, by other ways than the laboratory's: probabilities instead of limits.

use super::Cell;

/// The value in the middle.
pub(super) fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some(f64::midpoint(sorted[low], sorted[high]))
}

/// Whether what is said of a setting holds. What needs the tolerance of its table is taken from the verdict.
pub(super) fn holds(group: &[&Cell], finest: &[&Cell]) -> bool {
    let first = finest[0];
    match first.kind.as_str() {
        "count" => group.iter().all(|cell| count(cell, group)),
        "extreme" => fair_coin(first.numbers[0] as u64, first.values[0] as u64) >= 0.05,
        "correlation" => match (first.numbers.first(), first.values.first(), first.of) {
            (Some(a), Some(b), Some(n)) => fisher(*a, *b, n) >= 0.05,
            _ => false,
        },
        "pairs" => homogeneous(&first.numbers, &first.values) >= 0.05,
        _ => finest.iter().all(|cell| ["reproduced", "within chance"].contains(&&*cell.verdict)),
    }
}

/// Whether the published counts of what this cell counts could be of ours.
fn count(cell: &Cell, group: &[&Cell]) -> bool {
    let what = |cell: &Cell| cell.col.split(' ').next_back().map(str::to_owned);
    let same = group.iter().filter(|other| what(other) == what(cell));
    let published: Vec<f64> = same.flat_map(|other| other.numbers.clone()).collect();
    let ours = &cell.values;
    let (n, m) = (published.len() as f64, ours.len() as f64);
    if published.is_empty() || ours.is_empty() {
        return false;
    }
    if published.len() == 1 {
        let round = |value: &f64| (value + 0.5).floor();
        return ours.iter().any(|value| round(value) <= published[0])
            && ours.iter().any(|value| round(value) >= published[0]);
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let centre = mean(ours);
    let variance =
        ours.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (m - 1.0).max(1.0);
    (mean(&published) - centre).abs() <= 2.024 * (variance * (1.0 / n + 1.0 / m)).sqrt()
}

/// How likely two correlations of n pairs each are as far apart, if they are of one kind.
fn fisher(a: f64, b: f64, n: u64) -> f64 {
    let z = |r: f64| 0.5 * ((1.0 + r) / (1.0 - r)).ln();
    let bound = |r: f64| r.clamp(-0.999_999, 0.999_999);
    let apart = (z(bound(a)) - z(bound(b))).abs() / (2.0 / (n as f64 - 3.0).max(0.5)).sqrt();
    upper_gamma(0.5, apart * apart / 2.0)
}

/// How likely the sides of a fair coin are as far apart.
pub(super) fn fair_coin(a: u64, b: u64) -> f64 {
    let n = a + b;
    let choose = |k: u64| (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum::<f64>();
    let half = n as f64 * 0.5f64.ln();
    let tail: f64 = (0..=a.min(b)).map(|k| (choose(k) + half).exp()).sum();
    (2.0 * tail).min(1.0)
}

/// How likely two rows of counts are as different, if they are of one kind.
fn homogeneous(a: &[f64], b: &[f64]) -> f64 {
    let (all_a, all_b): (f64, f64) = (a.iter().sum(), b.iter().sum());
    if (all_a > 0.0) != (all_b > 0.0) {
        return 0.0;
    }
    let columns: Vec<(f64, f64)> =
        a.iter().copied().zip(b.iter().copied()).filter(|(a, b)| a + b > 0.0).collect();
    // As a sum over columns of the squared difference of the two shares.
    let chi: f64 = columns
        .iter()
        .map(|(a, b)| (a / all_a - b / all_b).powi(2) * all_a * all_b / (a + b))
        .sum();
    if columns.len() < 2 { 1.0 } else { upper_gamma((columns.len() - 1) as f64 / 2.0, chi / 2.0) }
}

/// The regularized upper incomplete gamma function, for halves.
fn upper_gamma(s: f64, x: f64) -> f64 {
    // From one half or one upward: Q(s + 1, x) = Q(s, x) + x^s e^-x / Gamma(s + 1).
    let whole = (s * 2.0).round() as i64 % 2 == 0;
    let (mut at, mut q, mut gamma) = if whole {
        (1.0, (-x).exp(), 1.0)
    } else {
        (0.5, error_rest(x.sqrt()), std::f64::consts::PI.sqrt())
    };
    while at + 0.25 < s {
        gamma *= at;
        q += x.powf(at) * (-x).exp() / gamma;
        at += 1.0;
    }
    q.clamp(0.0, 1.0)
}

/// 1 - erf(x), by the series near 0 and the continued fraction beyond.
fn error_rest(x: f64) -> f64 {
    let root_pi = std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - 2.0 / root_pi * sum;
    }
    let tail = (1..60).rev().fold(0.0, |tail, k| f64::from(k) / 2.0 / (x + tail));
    (-x * x).exp() / root_pi / (x + tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_probabilities() {
        assert!((error_rest(1.0) - 0.157_299_207).abs() < 1e-8);
        assert!((error_rest(2.5) - 0.000_406_952).abs() < 1e-8);
        // Limits of chi-squared at 5 %.
        for (freedom, limit) in
            [(1.0, 3.841_459), (2.0, 5.991_465), (3.0, 7.814_728), (5.0, 11.070_498)]
        {
            let p: f64 = upper_gamma(freedom / 2.0, limit / 2.0);
            assert!((p - 0.05).abs() < 1e-6, "{freedom}: {p}");
        }
        assert!((fair_coin(0, 6) - 2.0 / 64.0).abs() < 1e-12 && fair_coin(3, 3) > 0.999);
        // 5 % is at tanh(1.959964 * sqrt(2 / 41)) = 0.4077.
        assert!(fisher(0.0, 0.407, 44) > 0.05 && fisher(0.0, 0.409, 44) < 0.05);
        assert!(homogeneous(&[10.0, 20.0], &[20.0, 10.0]) < 0.05);
        assert_eq!(middle(&[3.0, 1.0, 2.0, 9.0]), Some(2.5));
        assert_eq!(middle(&[]), None);
    }
}
