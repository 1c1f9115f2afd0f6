//! What programs and libraries say about themselves in their headers and dynamic sections.

use super::Family;
use anyhow::Context;
use goblin::elf::Elf;
use goblin::elf::header::{EI_CLASS, EI_DATA, ELFCLASS64, ELFDATA2LSB, Header, machine_to_str};
use std::fmt::{Display, Formatter};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The dynamic section of a file, and how it is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dynamic {
    /// Libraries it needs (DT_NEEDED).
    pub needed: Vec<String>,
    /// Symbols it defines for others.
    pub exported: Vec<String>,
    /// Whether it is started by a dynamic linker (PT_INTERP).
    pub has_interpreter: bool,
    /// What it runs on.
    pub machine: Machine,
}

/// A processor architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    number: u16,
    bits: u8,
    little_endian: bool,
}

impl Machine {
    /// That of this program, with which the libraries beside it are built.
    pub fn own() -> Option<Self> {
        let mut bytes = Vec::new();
        // The header alone.
        File::open("/proc/self/exe").ok()?.take(64).read_to_end(&mut bytes).ok()?;
        Some(Self::of(&Elf::parse_header(&bytes).ok()?))
    }

    fn of(header: &Header) -> Self {
        let bits = if header.e_ident[EI_CLASS] == ELFCLASS64 { 64 } else { 32 };
        Self { number: header.e_machine, bits, little_endian: header.e_ident[EI_DATA] == ELFDATA2LSB }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        let order = if self.little_endian { "" } else { ", big-endian" };
        write!(f, "{} ({} bits{order})", machine_to_str(self.number), self.bits)
    }
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
        Ok(Self {
            needed: elf.libraries.iter().map(|&s| s.to_owned()).collect(),
            exported,
            has_interpreter: elf.interpreter.is_some(),
            machine: Machine::of(&elf.header),
        })
    }

    /// The MPI family the file is linked to, if it names one.
    pub fn family(&self) -> Option<Family> {
        self.needed.iter().find_map(|name| Family::of_needed(name))
    }
}
