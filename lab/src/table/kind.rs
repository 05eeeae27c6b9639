//! The kinds of values that are compared.

/// What kind of value a cell has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// How long a transfer took, or how fast it was.
    Rate,
    /// Processor time.
    Processor,
    /// How long something took to arrive.
    Delay,
    /// A rate of a series of transfers: the least, the greatest, the mean or the median.
    Statistic,
    /// Another amount: bytes of an acknowledgement, messages under way, a place on an axis.
    Amount,
    /// A deviation.
    Spread,
    /// A count, in which chance decides.
    Count,
    /// How many transfers came to the fastest and the slowest that was published.
    Extreme,
    /// A published zero.
    Zero,
    /// A correlation.
    Correlation,
    /// How many transfers were faster, as fast and slower, or of which length the fastest were.
    Pairs,
    /// An order.
    Order,
    /// A statement in words, or a range of percentages.
    Words,
    /// Success or failure.
    Outcome,
    /// Nothing was published.
    Own,
}

impl Kind {
    /// All that are published.
    pub const ALL: [Self; 14] = [
        Self::Rate,
        Self::Processor,
        Self::Delay,
        Self::Statistic,
        Self::Amount,
        Self::Spread,
        Self::Count,
        Self::Extreme,
        Self::Zero,
        Self::Correlation,
        Self::Pairs,
        Self::Order,
        Self::Words,
        Self::Outcome,
    ];

    /// Whether ours divided by published says how near it is.
    pub const fn has_ratio(self) -> bool {
        matches!(
            self,
            Self::Rate
                | Self::Processor
                | Self::Delay
                | Self::Statistic
                | Self::Amount
                | Self::Spread
        )
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Processor => "processor",
            Self::Delay => "delay",
            Self::Statistic => "statistic",
            Self::Amount => "amount",
            Self::Spread => "spread",
            Self::Count => "count",
            Self::Extreme => "extreme",
            Self::Zero => "zero",
            Self::Correlation => "correlation",
            Self::Pairs => "pairs",
            Self::Order => "order",
            Self::Words => "words",
            Self::Outcome => "outcome",
            Self::Own => "own",
        }
    }

    /// Its name for readers.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Rate => "times and rates of transfers",
            Self::Processor => "processor times",
            Self::Delay => "delays",
            Self::Statistic => "rates of series",
            Self::Amount => "other amounts",
            Self::Spread => "deviations",
            Self::Count => "counts",
            Self::Extreme => "how many came to the extremes",
            Self::Zero => "published zeros",
            Self::Correlation => "correlations",
            Self::Pairs => "wins, ties and losses; where the fastest are",
            Self::Order => "orders",
            Self::Words => "statements in words",
            Self::Outcome => "success or failure",
            Self::Own => "not published",
        }
    }
}
