//! Shares of the time as text.

/// Thousandths as percent: whole ones, or with one decimal below ten.
pub(super) fn percent(permille: u64) -> String {
    if permille >= 100 {
        format!("{} %", (permille + 5) / 10)
    } else {
        format!("{}.{} %", permille / 10, permille % 10)
    }
}
