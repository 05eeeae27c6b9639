//! A SLIP line over what carries its bytes: any elements of a scenario, so it is put together here. The
//! description itself ([`SlipModel`]) knows them only as text.

use super::elements::{BadElement, Outside, Stretch, stretch};
use crate::element::{Element, Unit};
use crate::slip::{SlipLine, SlipModel};

impl SlipModel {
    /// Characters per 1000 s that what carries the bytes takes from A to B, if that takes any time.
    pub fn line_millicps(&self) -> Option<u64> {
        self.stretch().ok()?.limit_millicps
    }

    /// What carries the bytes.
    pub(crate) fn stretch(&self) -> Result<Stretch, BadElement> {
        stretch(&self.line, self.seed, &[None; 2], Unit::Bytes, &Outside::default())
    }

    /// The element that this describes.
    ///
    /// # Panics
    ///
    /// If what carries the bytes was not checked by reading it.
    pub fn build(&self) -> SlipLine {
        self.build_over(|line| line)
    }

    /// The same over the element that carries the bytes.
    pub(crate) fn build_over(
        &self,
        around: impl FnOnce(Box<dyn Element>) -> Box<dyn Element>,
    ) -> SlipLine {
        let stretch = self.stretch().expect("elements that were checked when they were read");
        let rates = stretch.ports.map(|port| u64::from(port.rate_bps));
        SlipLine::new(self, around(stretch.element), rates)
    }
}
