//! What programs and libraries say about themselves in their dynamic sections.

use super::Family;
use anyhow::Context;
use goblin::elf::Elf;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The dynamic section of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// Libraries it needs (DT_NEEDED).
    pub needed: Vec<String>,
    /// Symbols it defines for others.
    pub exported: Vec<String>,
}

impl Dynamic {
    /// Reads the dynamic section of `path`; `None` if the file is not in ELF format.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        let shown = || path.display().to_string();
        let mut file = File::open(path).with_context(shown)?;
        let mut bytes = Vec::new();
        (&mut file).take(4).read_to_end(&mut bytes).with_context(shown)?;
        if bytes != *b"\x7fELF" {
            return Ok(None);
        }
        file.read_to_end(&mut bytes).with_context(shown)?;
        Self::parse(&bytes).with_context(shown).map(Some)
    }

    /// The dynamic section of a file in ELF format.
    ///
    /// # Errors
    /// If the file is damaged.
    pub fn parse(bytes: &[u8]) -> anyhow::Result<Self> {
        let elf = Elf::parse(bytes)?;
        let visible = elf.dynsyms.iter().filter(|s| !s.is_import() && s.st_shndx != 0 && s.st_bind() != 0);
        let exported = visible.filter_map(|s| elf.dynstrtab.get_at(s.st_name)).map(str::to_owned).collect();
        Ok(Self { needed: elf.libraries.iter().map(|&s| s.to_owned()).collect(), exported })
    }

    /// The MPI family the file is linked to, if it names one.
    pub fn family(&self) -> Option<Family> {
        self.needed.iter().find_map(|name| Family::of_needed(name))
    }
}
