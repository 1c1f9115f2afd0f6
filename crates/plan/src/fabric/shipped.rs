//! The fabrics that come with Nagare, available by name without a file.

/// Name and text of each shipped fabric.
pub const SHIPPED: &[(&str, &str)] = &[
    ("fattree", include_str!("../../../../fabrics/fattree.toml")),
    ("mlfm36", include_str!("../../../../fabrics/mlfm36.toml")),
    ("star16", include_str!("../../../../fabrics/star16.toml")),
    ("star16-shallow", include_str!("../../../../fabrics/star16-shallow.toml")),
    ("torus16", include_str!("../../../../fabrics/torus16.toml")),
    ("tree8", include_str!("../../../../fabrics/tree8.toml")),
    ("tree8-shallow", include_str!("../../../../fabrics/tree8-shallow.toml")),
    ("wan2x8", include_str!("../../../../fabrics/wan2x8.toml")),
];

/// The text of a shipped fabric's file.
pub fn shipped(name: &str) -> Option<&'static str> {
    let found = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
    found.map(|&(_, text)| text)
}
