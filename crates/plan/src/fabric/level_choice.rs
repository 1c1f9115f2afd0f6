//! Which of the levels of a network count, as a file or a command line says it.

/// Which of the levels of a network count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LevelChoice {
    /// All, but the leaf level only in groups where a leaf has thin uplinks.
    #[default]
    Default,
    /// All.
    All,
    /// Those of these names.
    Named(Vec<String>),
}

impl LevelChoice {
    /// `default`, `all` or `none` alone; else the names of levels, in any order.
    ///
    /// ```
    /// use nagare_plan::fabric::LevelChoice;
    /// assert_eq!(LevelChoice::from_words(vec!["all".to_owned()]), LevelChoice::All);
    /// assert_eq!(LevelChoice::from("none"), LevelChoice::Named(Vec::new()));
    /// assert_eq!(LevelChoice::from("pod, leaf"), LevelChoice::Named(vec!["pod".to_owned(), "leaf".to_owned()]));
    /// ```
    pub fn from_words(words: Vec<String>) -> Self {
        match words.as_slice() {
            [word] if word == "default" => Self::Default,
            [word] if word == "all" => Self::All,
            [word] if word == "none" => Self::Named(Vec::new()),
            _ => Self::Named(words),
        }
    }

    /// What [`LevelChoice::from_words`] makes the same choice of; `None` for the default, of which nothing is said.
    pub(super) fn words(&self) -> Option<Vec<&str>> {
        match self {
            Self::Default => None,
            Self::All => Some(vec!["all"]),
            Self::Named(names) => Some(names.iter().map(String::as_str).collect()),
        }
    }
}

impl From<&str> for LevelChoice {
    /// Words divided by commas.
    fn from(text: &str) -> Self {
        Self::from_words(text.split(',').map(|word| word.trim().to_owned()).collect())
    }
}
