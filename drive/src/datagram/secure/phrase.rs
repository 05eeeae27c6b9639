//! The code phrase that two people tell each other: a number and two words, `7-crossover-clockwork`.
//!
//! It has some 25 bits, too few against unlimited guesses. So it is never a key itself: SPAKE2 (`code`) derives
//! a key from it, and each guess costs a run with one of the ends.

use super::random;
use std::fmt;
use std::str::FromStr;

/// The first number, and one after the last.
const NUMBERS: (u32, u32) = (1, 100);

/// Words that differ in their first four letters, and of which none becomes another by changing one letter.
const WORDS: &str = "\
    abbey acorn actor advent agent album alder algebra almond alpaca ambush anchor ankle anvil apple
    arbor arcade arrow artist aspen asphalt atlas attic auburn autumn avenue azure baboon badger baker
    balcony bamboo bandit banjo barley barn basalt basket bayou beacon beaver beehive belfry berry
    biscuit bison blanket blizzard bobcat bonfire border botany bouquet bracket bramble breeze brick
    brigade bronze bubble bucket budget bugle bundle butler button buzzard cabin cactus canary candle
    canvas canyon caper caravan carbon carpet carrot castle catalog cavern cellar cement chalk chapel
    cherry chess chimney chorus cider circus citrus clarinet clever cliff cobbler coconut comet compass
    concert coral cork cosmic cotton country courier cowboy cradle crater cricket crimson crouton
    crystal cuckoo curtain custard cypress daffodil daisy damsel dancer decade decimal dentist deputy
    desert dinner diver domino donkey dragon drawer drizzle duchess duckling dumpling dungeon eagle
    earring easel eclipse edifice elephant elk emerald emperor enamel ensign envelope equator ermine
    errand estuary evening explorer eyelid falcon family farmer feather fennel festival fiddle filbert
    finch firefly flamingo flannel flotilla flute forest formula fortune fountain foxglove freckle
    freight frost fudge furnace galaxy gallop gargoyle garlic garnet gecko geyser ginger giraffe glider
    globe goblet golden gondola gopher gorilla granite grape gravel grotto grove gulf gumdrop gypsum
    habit haddock hammer hamster harp harvest hawk hazel hedgehog hemlock herald hexagon hickory
    highland hobby holiday hopscotch horizon hostel hunter hydrant iceberg icicle iguana indigo ink
    insect iris island isotope ivy jackal jasmine javelin jelly jewel jigsaw journey jubilee jukebox
    juniper jury kayak kestrel keyhole kingdom kitchen knapsack knight lacquer ladder lantern lapwing
    larch lattice laundry lavender lawyer lemon lemur lentil lettuce library lifeboat lilac linen lion
    lizard lobster locket lodge lotus lullaby lunar lynx magnet magpie mallet mammoth mandolin maple
    marble marigold marmot matinee meadow medal menthol mercury meteor midnight mineral minnow mirror
    moccasin molasses monsoon moonlit mosaic muffin mulberry museum musket napkin narwhal nebula needle
    neon nickel nomad notebook novel nugget nylon oak oatmeal oboe octagon octopus office omelet onion
    opal opera orbit orchid organ osprey ostrich outpost owl oxygen paddle pagoda pancake panda papaya
    parade parcel pasture patrol peanut pebble pendant penguin pepper phantom pheasant pickle picnic
    pilgrim pillow pilot pioneer pistachio plaster plum pollen poncho pony porridge portrait potato
    prairie pretzel proverb pudding pulley pumpkin purple puzzle pyramid quail quarry quill quince
    rabbit raccoon radar raft rainbow rampart rancher recipe reindeer relish rhubarb ribbon robin rodeo
    rosemary rowboat rubber runway russet sailor salad salmon sapphire satchel sausage savanna school
    scooter scribe season sequoia shamrock shelter shingle shovel shrimp silver siren skyline sleigh
    snorkel snowman soccer sorbet spaniel spindle spiral sponge squid stadium stencil stirrup strudel
    submarine suitcase summit sundial surgeon swallow swift symbol syrup tadpole talon tangerine
    tapestry teacup teapot temple terrace theater thimble thistle thunder timber tinsel tomato topaz
    tortoise toucan tractor treasure trellis trident trombone trumpet tugboat tulip tunnel turban turtle
    tuxedo typhoon umbrella umpire uranium urchin vacuum vanilla velvet venison veranda viaduct victor
    vineyard violet viper volcano voyage waffle wagon walnut walrus warbler western wheat wicker widget
    window winter wisdom wombat wonder wreath wrench yeast yellow yogurt zenith zephyr zinc zipper";

/// A valid phrase: a number and two words of the list, in lower case.
#[derive(Clone, PartialEq, Eq)]
pub struct Phrase(String);

impl fmt::Debug for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Phrase")
    }
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Phrase {
    /// A random one; all are equally likely.
    pub fn make() -> Result<Self, String> {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        let number = NUMBERS.0 + below(NUMBERS.1 - NUMBERS.0)?;
        let word = || below(words.len() as u32).map(|at| words[at as usize]);
        Ok(Self(format!("{number}-{}-{}", word()?, word()?)))
    }

    /// The password for SPAKE2.
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A number below `bound`, without bias.
fn below(bound: u32) -> Result<u32, String> {
    let most = u32::MAX - u32::MAX % bound;
    loop {
        let draw = u32::from_be_bytes(random()?);
        if draw < most {
            return Ok(draw % bound);
        }
    }
}

impl FromStr for Phrase {
    type Err = String;

    /// As people type: any case, blanks for hyphens. A word that is not in the list is a typing error, which is
    /// found here before it costs a guess.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let parts: Vec<&str> = lower
            .split(|c: char| c == '-' || c == '_' || c.is_whitespace())
            .filter(|part| !part.is_empty())
            .collect();
        let [number, first, second] = parts[..] else { return Err(expected(text)) };
        let digits = number.len() <= 2 && number.bytes().all(|digit| digit.is_ascii_digit());
        let number: u32 = number.parse().ok().filter(|_| digits).ok_or_else(|| expected(text))?;
        if !(NUMBERS.0..NUMBERS.1).contains(&number) {
            return Err(expected(text));
        }
        for word in [first, second] {
            if !WORDS.split_whitespace().any(|known| known == word) {
                let meant =
                    near(word).map_or(String::new(), |near| format!("; did you mean {near}?"));
                return Err(format!(
                    "expected words of the list in a code phrase, got {word:?}{meant}; wst send \
                     --code makes a phrase"
                ));
            }
        }
        Ok(Self(format!("{number}-{first}-{second}")))
    }
}

fn expected(text: &str) -> String {
    let text: String = text.chars().take(60).collect();
    format!("expected a code phrase such as 7-walnut-compass, got {text:?}")
}

/// The word of the list that was probably meant.
fn near(word: &str) -> Option<&'static str> {
    let known = || WORDS.split_whitespace();
    let beginning = |known: &&str| word.get(..4).is_some_and(|four| known.starts_with(four));
    known().find(beginning).or_else(|| known().find(|known| is_slip(word, known)))
}

/// Whether one letter was changed, omitted, inserted, or swapped with the next.
fn is_slip(typed: &str, word: &str) -> bool {
    let (typed, word) = (typed.as_bytes(), word.as_bytes());
    let same = typed.iter().zip(word).take_while(|(a, b)| a == b).count();
    let (typed, word) = (&typed[same..], &word[same..]);
    let same_behind = |skipped: usize, of_word: usize| {
        let rests = (typed.get(skipped..), word.get(of_word..));
        matches!(rests, (Some(one), Some(other)) if one == other)
    };
    let swapped = same_behind(2, 2) && typed[..2] == [word[1], word[0]];
    let (changed, added, left_out) = (same_behind(1, 1), same_behind(1, 0), same_behind(0, 1));
    changed || swapped || added || left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct() {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        assert_eq!(words.len(), 512);
        for (at, word) in words.iter().enumerate() {
            assert!((3..=9).contains(&word.len()), "{word}");
            assert!(word.bytes().all(|letter| letter.is_ascii_lowercase()), "{word}");
            for other in &words[at + 1..] {
                assert!(!is_slip(word, other) && !is_slip(other, word), "{word} {other}");
                let four = |word: &'static str| word.get(..4).unwrap_or(word);
                assert_ne!(four(word), four(other));
            }
        }
    }

    #[test]
    fn phrases_parse_however_they_are_typed() {
        let mut made: Vec<String> = Vec::new();
        for _ in 0..200 {
            let phrase = Phrase::make().unwrap();
            let typed = format!("  {} ", phrase.to_string().replace('-', " ").to_uppercase());
            assert_eq!(typed.parse(), Ok(phrase.clone()));
            made.push(phrase.to_string());
        }
        made.sort();
        made.dedup();
        // Of 26 million, 200 are all different but once in 1,300 runs; two pairs never.
        assert!(made.len() >= 199, "{}", made.len());
    }

    #[test]
    fn typing_errors_cost_no_guess() {
        for (typed, said) in [
            ("7-walnut", "such as 7-walnut-compass"),
            ("walnut-compass", "such as"),
            ("0-walnut-compass", "such as"),
            ("100-walnut-compass", "such as"),
            ("+7-walnut-compass", "such as"),
            ("7-walnut-compass-walnut", "such as"),
            ("7-walmut-compass", "did you mean walnut?"),
            ("7-wlanut-compass", "did you mean walnut?"),
            ("7-walnut-xq", "got \"xq\""),
        ] {
            let say = typed.parse::<Phrase>().unwrap_err();
            assert!(say.contains(said), "{typed}: {say}");
        }
    }
}
