//! The file of a scenario, and the older version of it that its receiver may have.

use super::{BadScenario, Finder, Load, layer};
use crate::corpus::Corpus;
use crate::random::Random;
use crate::store::{Content, MemoryFile};
use std::sync::Arc;
use wetstring_proto::file::FileKind;

/// Content that is a function of the offset, see [`crate::pattern`].
const PATTERN: &str = "pattern";
/// Default length of generated content.
const MADE_BYTES: u64 = 128 * 1024;
/// The longest file: it is kept in memory.
const MOST_BYTES: u64 = 1 << 30;

impl<'a> Finder<'a> {
    /// The file, and its length if its content is a pattern.
    pub(super) fn file(&self, load: Load<'_>) -> Result<(MemoryFile, Option<u64>), BadScenario> {
        let made = self.last(|part| part.file.as_ref()?.made.as_ref());
        let bytes = self.last(|part| part.file.as_ref()?.bytes.as_ref());
        let bytes = bytes.map(|(_, bytes)| *bytes.get_ref());
        if made.is_some_and(|(_, made)| made.get_ref() == PATTERN) {
            let name = self.last(|part| part.file.as_ref()?.name.as_ref());
            let file = MemoryFile::new(name.map_or(PATTERN, |(_, name)| name.get_ref()), []);
            return Ok((file, Some(bytes.unwrap_or(MADE_BYTES))));
        }
        Ok((self.kept_file(load)?, None))
    }

    fn kept_file(&self, load: Load<'_>) -> Result<MemoryFile, BadScenario> {
        let part = |pick: fn(&'a layer::File) -> Option<&'a toml::Spanned<String>>| {
            self.last(|part| part.file.as_ref().and_then(pick))
        };
        let bytes = self.last(|part| part.file.as_ref()?.bytes.as_ref());
        let seed = self.last(|part| part.file.as_ref()?.seed).map_or(1, |(_, seed)| seed);
        let text = self.last(|part| part.file.as_ref()?.text).is_some_and(|(_, text)| text);
        if let Some((layer, value)) = bytes
            && *value.get_ref() > MOST_BYTES
        {
            let say = format!("expected at most {MOST_BYTES} bytes, got {}", value.get_ref());
            return Err(layer.bad(value, "file.bytes", say));
        }
        let bytes = bytes.map(|(_, bytes)| *bytes.get_ref());
        // The last layer that names one of the three decides.
        let chosen = self.last(|part| {
            let file = part.file.as_ref()?;
            (file.corpus.is_some() || file.made.is_some() || file.path.is_some()).then_some(file)
        });
        let made = |kind: &str| {
            made(kind, seed, bytes.unwrap_or(MADE_BYTES) as usize).map(|bytes| (kind.into(), bytes))
        };
        let (name, content): (String, Arc<[u8]>) = match chosen {
            None => made("random").unwrap_or_default(),
            Some((layer, file)) => {
                if let Some(value) = &file.corpus {
                    let corpus = Corpus::named(value.get_ref()).ok_or_else(|| {
                        let names = Corpus::names().collect::<Vec<_>>().join(", ");
                        layer.bad(value, "file.corpus", format!("expected one of {names}"))
                    })?;
                    let whole: Arc<[u8]> = corpus.bytes(seed).into();
                    (corpus.name().into(), fit(whole, bytes))
                } else if let Some(value) = &file.made {
                    made(value.get_ref()).ok_or_else(|| {
                        let say = "expected random, zeros, text, ramp, runs or pattern".to_owned();
                        layer.bad(value, "file.made", say)
                    })?
                } else if let Some(value) = &file.path {
                    let path = value.get_ref();
                    let whole = load(path).map_err(|error| layer.bad(value, "file.path", error))?;
                    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
                    (last.into(), fit(whole.into(), bytes))
                } else {
                    made("random").unwrap_or_default()
                }
            }
        };
        let name = part(|file| file.name.as_ref()).map_or(name, |(_, name)| name.get_ref().clone());
        let kind = if text { FileKind::Text } else { FileKind::Binary };
        Ok(MemoryFile { kind, ..MemoryFile::new(&name, content) })
    }

    /// The older version of the file, if the receiver has one; `is_bare` if there is nothing to compare it with, or
    /// no engine that does.
    pub(super) fn older(
        &self,
        file: &MemoryFile,
        is_bare: bool,
    ) -> Result<Option<Arc<[u8]>>, BadScenario> {
        let Some((layer, value)) = self.last(|part| part.file.as_ref()?.old.as_ref()) else {
            return Ok(None);
        };
        let bad = |say: String| Err(layer.bad(value, "file.old", say));
        if is_bare || file.kind == FileKind::Text {
            let say = "expected no older version of a text or a pattern, nor with a protocol that is none of bytes";
            return bad(say.to_owned());
        }
        let layer::Old { changed, share } = *value.get_ref();
        if changed == 0 || !(share > 0.0 && share <= 1.0) {
            return bad(format!(
                "expected changed from 1, and share above 0 and at most 1, got {changed} and {share}"
            ));
        }
        let len = file.bytes.len() as u64;
        let each = (len as f64 * share) as u64 / u64::from(changed);
        if each == 0 {
            return bad(format!(
                "expected a byte for each of {changed} places, got {share} of {len} bytes for all"
            ));
        }
        let seed = self.last(|part| part.file.as_ref()?.seed).map_or(1, |(_, seed)| seed);
        Ok(Some(changed_in(&file.bytes, changed.into(), each, seed)))
    }
}

/// The same with other bytes in this number of places of this length, one in each part of the file.
fn changed_in(bytes: &[u8], places: u64, each: u64, seed: u64) -> Arc<[u8]> {
    let random = &mut Random::stream(seed, "content", "older");
    let mut older = bytes.to_vec();
    let part = bytes.len() as u64 / places;
    for place in 0..places {
        let at = (place * part + random.below(part - each + 1)) as usize;
        random.fill(&mut older[at..at + each as usize]);
    }
    older.into()
}

/// Made content of one of the kinds.
fn made(kind: &str, seed: u64, len: usize) -> Option<Arc<[u8]>> {
    let content = match kind {
        "random" => Content::Random(seed),
        "zeros" => Content::Zeros,
        "text" => Content::Text(seed),
        "ramp" => Content::Ramp,
        "runs" => Content::Runs,
        _ => return None,
    };
    Some(content.bytes(len).into())
}

/// The content at this length: cut, or repeated from its beginning.
fn fit(content: Arc<[u8]>, len: Option<u64>) -> Arc<[u8]> {
    match len {
        None => content,
        Some(len) if len == content.len() as u64 => content,
        Some(len) => content.iter().copied().cycle().take(len as usize).collect(),
    }
}
