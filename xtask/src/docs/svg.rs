//! What all pictures have: paper that follows the reader's light or dark, letters that can be read at the width of a
//! phone, a title and a description.

use std::fmt::Write as _;

/// Width of a chart. On a phone of 420 pixels it is shown at three quarters of its size.
pub(super) const WIDTH: f64 = 520.0;
/// Size of letters in a chart, and about how wide one is.
pub(super) const LETTERS: (f64, f64) = (16.0, 8.4);

/// Colours of series that are kinds, light and dark: Okabe and Ito's (2008), lightened for dark paper.
const KINDS: [(&str, &str); 8] = [
    ("#0072b2", "#5cb3ec"),
    ("#b87800", "#f0b840"),
    ("#008a66", "#3ccf9f"),
    ("#d55e00", "#ff8f4d"),
    ("#b35a8c", "#e8a3c8"),
    ("#3a8fc4", "#a5d8f7"),
    ("#666666", "#a0a4aa"),
    ("#8a7f00", "#d8cc50"),
];

/// The style of a chart: classes `paper`, `ink`, `soft`, `grid`, `axis`, and `fN` and `lN` for areas and lines of kind N.
fn style() -> String {
    let scheme = |dark: bool| {
        let pick = |both: (&'static str, &'static str)| if dark { both.1 } else { both.0 };
        let mut rules = String::new();
        for (class, both) in [
            ("paper{fill:", ("#ffffff", "#16181b")),
            ("ink{fill:", ("#222222", "#e4e4e2")),
            ("soft{fill:", ("#555555", "#b4b7bb")),
            ("grid{fill:none;stroke:", ("#dddddd", "#3a3d42")),
            ("axis{fill:none;stroke:", ("#222222", "#e4e4e2")),
        ] {
            let _ = write!(rules, ".{class}{}}}", pick(both));
        }
        for (index, both) in KINDS.into_iter().enumerate() {
            let colour = pick(both);
            let _ = write!(rules, ".f{index}{{fill:{colour}}}");
            let _ = write!(rules, ".l{index}{{fill:none;stroke:{colour}}}");
        }
        rules
    };
    format!("{}\n@media (prefers-color-scheme:dark){{{}}}", scheme(false), scheme(true))
}

/// Text of a document.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Where a text stands by its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// Right of it.
    Start,
    /// Around it.
    Middle,
    /// Left of it.
    End,
}

/// A picture in the making.
pub(super) struct Picture {
    body: String,
}

impl Picture {
    pub(super) fn new() -> Self {
        Self { body: String::new() }
    }

    /// Adds a line of the document. Writing to a string cannot fail.
    pub(super) fn add(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// A text whose base line is at `y`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor} class=\"{class}\">{text}</text>"
        ));
    }

    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        self.add(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\"/>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.add(&format!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" class=\"{class}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// An area, or a line if its class has no area.
    pub(super) fn path(&mut self, points: &[(f64, f64)], class: &str) {
        let mut way = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(way, "{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
        }
        self.add(&format!("<path d=\"{way}\" class=\"{class}\"/>"));
    }

    /// The chart as a file: what it is, and what it says, for those who do not see it.
    pub(super) fn chart(self, height: f64, title: &str, says: &str) -> String {
        let size = LETTERS.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" font-family=\"system-ui,sans-serif\" font-size=\"{size}\" role=\"img\" \
             aria-labelledby=\"title says\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"says\">{}</desc>\n<style>{}</style>\n\
             <rect width=\"100%\" height=\"100%\" rx=\"6\" class=\"paper\"/>\n{}</svg>\n",
            escaped(title),
            escaped(says),
            style(),
            self.body
        )
    }
}
