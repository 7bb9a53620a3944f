//! An immutable view of the library: compiled skills, overlaid by those on disk.
//!
//! Without an overlay every look-up is one in a compiled table. A skill on disk takes the place of the compiled one with
//! the same path or the same name in the same folder; a compiled skill that is not on disk stays.

use std::collections::{BTreeMap, HashMap, HashSet};

use evokore_catalog::documents;
use evokore_catalog::search::{Segment, write_segment};
use evokore_catalog::skill::SkillEntry;
use evokore_catalog::skill_library::{self, Skill, lookup_keys};

use super::skill::{DiskSkill, SkillRef};
use crate::catalog::{CATALOG, SKILL_BY_NAME, SKILL_BY_URI};

/// What was compiled in, with the tables into it.
#[derive(Debug, Clone, Copy)]
pub struct Compiled {
    /// Sorted by category, name and path.
    pub skills: &'static [SkillEntry],
    /// Search segment over `skills`.
    pub index: &'static [u8],
    /// Index by one of a skill's lower-case keys.
    pub by_key: fn(&str) -> Option<u16>,
    /// Index by URI.
    pub by_uri: fn(&str) -> Option<u16>,
}

impl Compiled {
    /// What this binary holds.
    pub fn catalog() -> Compiled {
        Compiled {
            skills: CATALOG.skills,
            index: CATALOG.skill_index,
            by_key: |key| SKILL_BY_NAME.get(key).copied(),
            by_uri: |uri| SKILL_BY_URI.get(uri).copied(),
        }
    }
}

/// All skills of one moment. Skills are named by their position, `0..len()`.
#[derive(Debug)]
pub struct Snapshot {
    compiled: Compiled,
    overlay: Option<Overlay>,
}

#[derive(Debug)]
struct Overlay {
    disk: Vec<DiskSkill>,
    /// All skills, sorted by category, name and path.
    order: Vec<Slot>,
    by_key: HashMap<String, usize>,
    by_uri: HashMap<String, usize>,
    /// Position of each compiled skill that is still there, by its index.
    of_compiled: Vec<Option<usize>>,
    /// Position of each skill of `disk`.
    of_disk: Vec<usize>,
    /// Search segment over `disk`; `None` when there are no skills in it.
    index: Option<Segment>,
}

#[derive(Debug, Clone, Copy)]
enum Slot {
    Compiled(usize),
    Disk(usize),
}

impl Snapshot {
    /// The compiled skills alone.
    pub fn compiled(compiled: Compiled) -> Snapshot {
        Snapshot { compiled, overlay: None }
    }

    /// The compiled skills with those of `library` over them, and how many compiled ones are not in `library`.
    pub fn overlaid(compiled: Compiled, library: skill_library::Library) -> (Snapshot, usize) {
        let by_path: HashMap<&str, usize> =
            compiled.skills.iter().enumerate().map(|(at, skill)| (skill.path, at)).collect();
        let mut by_full_key: HashMap<String, usize> = HashMap::new();
        for (at, skill) in compiled.skills.iter().enumerate() {
            by_full_key.entry(full_key(SkillRef::Compiled(skill))).or_insert(at);
        }
        let mut met = HashSet::new();
        let mut gone = HashSet::new();
        let mut disk = Vec::new();
        for skill in library.skills {
            let full_key = lookup_keys(&skill.category, &skill.subcategory, &skill.name).pop().unwrap_or_default();
            let twin = by_path.get(skill.path.as_str()).or_else(|| by_full_key.get(&full_key)).copied();
            let next_steps = twin.map_or(&[][..], |at| compiled.skills[at].next_steps);
            let skill = DiskSkill { skill, next_steps };
            met.extend(twin);
            if twin.is_some_and(|at| SkillRef::Disk(&skill).is_same(SkillRef::Compiled(&compiled.skills[at]))) {
                continue;
            }
            gone.extend(twin);
            disk.push(skill);
        }
        let missing = compiled.skills.len() - met.len();
        (Snapshot { compiled, overlay: Some(Overlay::new(compiled, disk, &gone)) }, missing)
    }

    /// How many skills there are.
    pub fn len(&self) -> usize {
        self.overlay.as_ref().map_or(self.compiled.skills.len(), |overlay| overlay.order.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The skill at position `at`.
    pub fn get(&self, at: usize) -> Option<SkillRef<'_>> {
        match &self.overlay {
            None => self.compiled.skills.get(at).map(SkillRef::Compiled),
            Some(overlay) => overlay.order.get(at).map(|slot| overlay.skill(self.compiled, *slot)),
        }
    }

    /// All skills, sorted by category, name and path.
    pub fn iter(&self) -> impl Iterator<Item = SkillRef<'_>> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Position of the skill called `name`: its bare name, `category/name`, or the folders between as well. Case does
    /// not matter, spelling does.
    pub fn find(&self, name: &str) -> Option<usize> {
        let key = name.trim().to_lowercase();
        match &self.overlay {
            None => (self.compiled.by_key)(&key).map(usize::from),
            Some(overlay) => overlay.by_key.get(&key).copied(),
        }
    }

    /// The skill whose resource is `uri`. Some clients write the first part of a URI in small letters, as in a host name.
    pub fn find_uri(&self, uri: &str) -> Option<SkillRef<'_>> {
        let at = match &self.overlay {
            None => (self.compiled.by_uri)(uri).map(usize::from),
            Some(overlay) => overlay.by_uri.get(uri).copied(),
        };
        match at {
            Some(at) => self.get(at),
            None => self.iter().find(|skill| skill.uri().eq_ignore_ascii_case(uri)),
        }
    }

    /// The shortest name that [`Snapshot::find`] understands as the skill at `at`.
    pub fn address(&self, at: usize) -> String {
        let Some(skill) = self.get(at) else { return String::new() };
        let keys = lookup_keys(skill.category(), skill.subcategory(), skill.name());
        let reaches = keys.iter().position(|key| self.find(key) == Some(at));
        match reaches {
            None | Some(0) => skill.name().to_owned(),
            Some(1) => format!("{}/{}", skill.category(), skill.name()),
            Some(_) => format!("{}/{}/{}", skill.category(), skill.subcategory(), skill.name()),
        }
    }

    /// Categories with how many skills each has, sorted by name.
    pub fn categories(&self) -> BTreeMap<&str, usize> {
        let mut categories = BTreeMap::new();
        for skill in self.iter() {
            *categories.entry(skill.category()).or_insert(0) += 1;
        }
        categories
    }

    /// The segment over the skills on disk.
    pub(super) fn disk_index(&self) -> Option<&Segment> {
        self.overlay.as_ref()?.index.as_ref()
    }

    /// Position of the compiled skill with index `document`; `None` when the disk has overruled it.
    pub(super) fn of_compiled(&self, document: usize) -> Option<usize> {
        match &self.overlay {
            None => Some(document).filter(|at| *at < self.compiled.skills.len()),
            Some(overlay) => overlay.of_compiled.get(document).copied().flatten(),
        }
    }

    /// Position of the skill that is document `document` of [`Snapshot::disk_index`].
    pub(super) fn of_disk(&self, document: usize) -> Option<usize> {
        self.overlay.as_ref()?.of_disk.get(document).copied()
    }

    /// The skills by the key that no two share.
    pub(super) fn by_full_key(&self) -> BTreeMap<String, SkillRef<'_>> {
        self.iter().map(|skill| (full_key(skill), skill)).collect()
    }
}

impl Overlay {
    fn new(compiled: Compiled, mut disk: Vec<DiskSkill>, gone: &HashSet<usize>) -> Overlay {
        let mut uris: HashSet<String> = HashSet::new();
        let kept = (0..compiled.skills.len()).filter(|at| !gone.contains(at));
        let mut order: Vec<Slot> = kept.map(Slot::Compiled).collect();
        uris.extend(order.iter().filter_map(|slot| match slot {
            Slot::Compiled(at) => Some(compiled.skills[*at].uri.to_owned()),
            Slot::Disk(_) => None,
        }));
        for (at, skill) in disk.iter_mut().enumerate() {
            own_uri(&mut skill.skill, &mut uris);
            order.push(Slot::Disk(at));
        }
        let documents: Vec<_> = disk.iter().map(|skill| documents::of_skill(&skill.skill)).collect();
        // A library is bounded well below what a segment can number.
        let index = write_segment(&documents).ok().and_then(|bytes| Segment::new(bytes).ok());
        let mut overlay = Overlay {
            of_compiled: vec![None; compiled.skills.len()],
            of_disk: vec![0; disk.len()],
            index: index.filter(|_| !disk.is_empty()),
            disk,
            order: Vec::new(),
            by_key: HashMap::new(),
            by_uri: HashMap::new(),
        };
        order.sort_by(|a, b| {
            let key = |slot: &Slot| {
                let skill = overlay.skill(compiled, *slot);
                (skill.category(), skill.name(), skill.path())
            };
            key(a).cmp(&key(b))
        });
        for (at, slot) in order.iter().enumerate() {
            let (keys, uri) = {
                let skill = overlay.skill(compiled, *slot);
                (lookup_keys(skill.category(), skill.subcategory(), skill.name()), skill.uri().to_owned())
            };
            for key in keys {
                overlay.by_key.entry(key).or_insert(at);
            }
            overlay.by_uri.insert(uri, at);
            match slot {
                Slot::Compiled(index) => overlay.of_compiled[*index] = Some(at),
                Slot::Disk(index) => overlay.of_disk[*index] = at,
            }
        }
        overlay.order = order;
        overlay
    }

    fn skill(&self, compiled: Compiled, slot: Slot) -> SkillRef<'_> {
        match slot {
            Slot::Compiled(at) => SkillRef::Compiled(&compiled.skills[at]),
            Slot::Disk(at) => SkillRef::Disk(&self.disk[at]),
        }
    }
}

/// Gives `skill` a URI that nobody in `uris` has: a compiled skill that stayed may look like it.
fn own_uri(skill: &mut Skill, uris: &mut HashSet<String>) {
    let plain = skill.uri.clone();
    let mut number = 2u32;
    while !uris.insert(skill.uri.clone()) {
        skill.uri = format!("{plain}-{number}");
        number += 1;
    }
}

fn full_key(skill: SkillRef<'_>) -> String {
    lookup_keys(skill.category(), skill.subcategory(), skill.name()).pop().unwrap_or_default()
}
