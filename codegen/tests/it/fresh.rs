//! The shipped configuration compiles without a word, and `generated/` is what it makes.

use evokore_catalog::project::always_visible_compiled;
use evokore_codegen::inputs::{Inputs, Roots};
use evokore_codegen::model::{Counting, compile};
use evokore_codegen::{emit, review};

use crate::support::{repository, show};

#[test]
fn generated_is_up_to_date() {
    let compilation = compile(&Inputs::read(&Roots::new(repository(), None, None)), Counting::Everything);
    assert!(compilation.problems.is_empty(), "{}", show(&compilation));
    let differences = review::compare(&repository().join("generated"), &review::render(&compilation.model))
        .expect("generated/ is there");
    let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert!(differences.is_empty(), "generated/ is stale:\n{}\nhint: run `cargo codegen`", shown.join("\n"));
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let roots = Roots::new(repository(), None, None);
    let mut known = Inputs::read(&roots);
    known.known_counts.add_table(&std::fs::read_to_string(roots.token_counts()).expect("the table is committed"));
    let build = compile(&known, Counting::Configured);
    assert_eq!(build.model.counter.counted, 0, "the committed counts cover every text, so a build loads no tokenizer");
    let review = compile(&Inputs::read(&roots), Counting::Everything);
    assert_eq!(emit::emit(&build.model), emit::emit(&review.model));
}

#[test]
fn every_working_profile_reaches_the_seven_mandatory_skills() {
    let compilation = compile(&Inputs::read(&Roots::new(repository(), None, None)), Counting::Configured);
    for name in ["coding", "research", "voice"] {
        let profile = compilation.model.profiles.iter().find(|profile| profile.entry.name == name).unwrap();
        assert_eq!(profile.entry.mandatory_skills.len(), 7, "{name}");
        for tool in ["execute_skill", "resolve_workflow"] {
            let index = compilation.model.tools.iter().position(|known| known.name == tool).unwrap();
            assert!(always_visible_compiled(&profile.entry, index), "{name} shows no {tool}");
        }
    }
}
