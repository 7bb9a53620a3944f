//! What is said about `permissions.yml`: nothing in it may be misread in silence.

use evokore_catalog::permission::Policy;
use expect_test::{Expect, expect};

use crate::support::{CONFIG, Small};

fn check(policy: &str, expected: Expect) {
    expected.assert_eq(&Small::new(CONFIG).policy(policy).shown());
}

#[test]
fn levels() {
    check(
        "rules:\n  fs_read_file: Allow\n  fs_write_file: denied # no\n  discover_tools: no\n  describe_tool: false\n  execute_skill:\n",
        expect![[r#"
            error: the access to `fs_read_file` is `Allow`, which is no level
              --> permissions.yml:2:17
              |
            2 |   fs_read_file: Allow
              |                 ^^^^^
            hint: did you mean `allow`?

            error: the access to `fs_write_file` is `denied`, which is no level
              --> permissions.yml:3:18
              |
            3 |   fs_write_file: denied # no
              |                  ^^^^^^
            hint: write `allow`, `require_approval` or `deny`

            error: the access to `discover_tools` is `no`, which is no level
              --> permissions.yml:4:19
              |
            4 |   discover_tools: no
              |                   ^^
            hint: write `allow`, `require_approval` or `deny`

            error: the access to `describe_tool` must be a level, but is a boolean
              --> permissions.yml:5:18
              |
            5 |   describe_tool: false
              |                  ^^^^^
            hint: write `allow`, `require_approval` or `deny`

            error: the access to `execute_skill` must be a level, but is empty
              --> permissions.yml:6:3
              |
            6 |   execute_skill:
              |   ^^^^^^^^^^^^^
            hint: write `allow`, `require_approval` or `deny`
        "#]],
    );
}

#[test]
fn names() {
    check(
        "rules:\n  fs_reed_file: deny\n  \"fz_*\": deny\n  git_status: allow\n  slack_post: deny\nroles:\n  r:\n    \
         default_permission: deny\n    overrides:\n      fs_write_fil: allow\n",
        expect![[r#"
            error: this rule is for the unknown tool `fs_reed_file`
              --> permissions.yml:2:3
              |
            2 |   fs_reed_file: deny
              |   ^^^^^^^^^^^^
            hint: did you mean `fs_read_file`?

            error: this rule is for no tool: nothing fits `fz_*`
              --> permissions.yml:3:3
              |
            3 |   "fz_*": deny
              |   ^^^^^^
            hint: no tool's name fits; compare `generated/permissions.tsv`, where all stand

            error: this rule is for the unknown tool `slack_post`
              --> permissions.yml:5:3
              |
            5 |   slack_post: deny
              |   ^^^^^^^^^^
            hint: it is no native tool, and no configured server id starts it (`<id>_<tool>`)

            error: this rule is for the unknown tool `fs_write_fil`
              --> permissions.yml:10:7
               |
            10 |       fs_write_fil: allow
               |       ^^^^^^^^^^^^
            hint: did you mean `fs_write_file`?

            note: server `git` has no lock, so 1 of its tool names cannot be checked, among them `git_status`
            hint: record its tools: evokore lock git
        "#]],
    );
}

#[test]
fn shapes() {
    check(
        "rules:\n  - fs_read_file: deny\n",
        expect![[r#"
        error: `rules` must be a mapping, but is a list
          --> permissions.yml:1:1
          |
        1 | rules:
          | ^^^^^
        hint: write `name: value`, one a line
    "#]],
    );
    check(
        "rule:\n  fs_read_file: deny\nversion: 1\n_note: x\nx-more: y\n",
        expect![[r#"
            error: unknown key `rule` in the policy
              --> permissions.yml:1:1
              |
            1 | rule:
              | ^^^^
            hint: did you mean `rules`?

            error: unknown key `version` in the policy
              --> permissions.yml:3:1
              |
            3 | version: 1
              | ^^^^^^^
            hint: known keys: `rules`, `roles`, `active_role`, `modes`, `active_mode`, `approvals`
        "#]],
    );
    check(
        "rules:\n\tfs_read_file: deny\n",
        expect![[r#"
        error: a tab indents this line, which YAML does not allow
          --> permissions.yml:2:1
          |
        2 |  fs_read_file: deny
          | ^
        hint: use blanks
    "#]],
    );
    check(
        "rules:\n  fs_read_file: deny\n  fs_read_file: allow\n",
        expect![[r#"
        error: the key `fs_read_file` stands twice in `rules`
          --> permissions.yml:3:3
          |
        3 |   fs_read_file: allow
          |   ^^^^^^^^^^^^
        hint: delete one of the two
    "#]],
    );
    check(
        "rules: { fs_read_file: deny\n",
        expect![[r#"
            error: no valid YAML: did not find expected ',' or '}'
              --> permissions.yml:1:28
              |
            1 | rules: { fs_read_file: deny
              |                            ^
        "#]],
    );
    check(
        "just text\n",
        expect![[r#"
        error: the policy must be a mapping, but is a string
          --> permissions.yml
        hint: write `name: value`, one a line
    "#]],
    );
    check(
        "rules:\n  1: deny\n",
        expect![[r#"
        error: `rules` has a key that is a number, not a name
          --> permissions.yml:1:1
          |
        1 | rules:
          | ^^^^^
        hint: put the key into quotes
    "#]],
    );
    check("# nothing\n", expect![[""]]);
}

#[test]
fn roles() {
    check(
        "active_role: admn\nroles:\n  admin:\n    description: all\n    default_permision: allow\n  other:\n    \
         default_permission: some\n  third: deny\n",
        expect![[r#"
            error: the active role `admn` is not defined
              --> permissions.yml:1:14
              |
            1 | active_role: admn
              |              ^^^^
            hint: did you mean `admin`?

            error: the role `admin` has no `default_permission`
              --> permissions.yml:3:3
              |
            3 |   admin:
              |   ^^^^^
            hint: add `default_permission: deny`, or another level

            error: unknown key `default_permision` in the role `admin`
              --> permissions.yml:5:5
              |
            5 |     default_permision: allow
              |     ^^^^^^^^^^^^^^^^^
            hint: did you mean `default_permission`?

            error: `default_permission` of the role `other` is `some`, which is no level
              --> permissions.yml:7:25
              |
            7 |     default_permission: some
              |                         ^^^^
            hint: write `allow`, `require_approval` or `deny`

            error: the role `third` must be a mapping, but is a string
              --> permissions.yml:8:3
              |
            8 |   third: deny
              |   ^^^^^
            hint: write `name: value`, one a line
        "#]],
    );
    check(
        "active_role: admin\n",
        expect![[r#"
        error: the active role `admin` is not defined
          --> permissions.yml:1:14
          |
        1 | active_role: admin
          |              ^^^^^
        hint: there are no roles
    "#]],
    );
    check(
        "active_role: [admin]\n",
        expect![[r#"
        error: `active_role` must be the name of a role, but is a list
          --> permissions.yml:1:14
          |
        1 | active_role: [admin]
          |              ^^^^^^^
        hint: name one of `roles`, or delete the line
    "#]],
    );
}

#[test]
fn a_policy_compiles_to_what_it_says() {
    let compilation = Small::new(CONFIG)
        .policy(
            "rules: {fs_write_file: require_approval, fs_read_file: allow}\nactive_role: r\nroles:\n  r:\n    \
             default_permission: deny\n    overrides: {\"fs_read_file\": allow}\n",
        )
        .compile();
    assert_eq!(compilation.problems, []);
    expect![[r#"
        Policy {
            rules: Rules {
                exact: [
                    Rule {
                        tools: "fs_read_file",
                        pattern: Pattern {
                            name: "fs_read_file",
                            hints: [],
                        },
                        access: Allow,
                        line: 0,
                    },
                    Rule {
                        tools: "fs_write_file",
                        pattern: Pattern {
                            name: "fs_write_file",
                            hints: [],
                        },
                        access: RequireApproval,
                        line: 0,
                    },
                ],
                patterns: [],
            },
            roles: [
                Role {
                    name: "r",
                    index: 0,
                    description: "",
                    default_permission: Deny,
                    overrides: Rules {
                        exact: [
                            Rule {
                                tools: "fs_read_file",
                                pattern: Pattern {
                                    name: "fs_read_file",
                                    hints: [],
                                },
                                access: Allow,
                                line: 0,
                            },
                        ],
                        patterns: [],
                    },
                },
            ],
            active_role: Some(
                "r",
            ),
            modes: [],
            active_mode: "dev",
            approvals: Operator,
        }"#]]
    .assert_eq(&format!("{:#?}", Policy { modes: &[], ..compilation.model.policy }));
}

#[test]
fn patterns() {
    check(
        "rules:\n  \"fs_*\": deny\n  \"git_*[!readOnlyHint]\": deny\n  \"[destructiveHint]\": deny\n  \"hub_*\": deny\n  \
         \"fs_*[openWorldHint, readOnlyHint]\": allow\n  \"fs_*[readonlyHint]\": allow\n  \"fs_*[readOnlyHint\": allow\n  \
         \"fs_?\": deny\n  \"*[readOnlyHint, !readOnlyHint]\": deny\n",
        expect![[r#"
            error: this rule is for no tool: nothing fits `hub_*`
              --> permissions.yml:5:3
              |
            5 |   "hub_*": deny
              |   ^^^^^^^
            hint: no tool's name fits; compare `generated/permissions.tsv`, where all stand

            error: `fs_*[readonlyHint]` asks for the unknown hint `readonlyHint`
              --> permissions.yml:7:3
              |
            7 |   "fs_*[readonlyHint]": allow
              |   ^^^^^^^^^^^^^^^^^^^^
            hint: did you mean `readOnlyHint`?

            error: the hints of `fs_*[readOnlyHint` have no end
              --> permissions.yml:8:3
              |
            8 |   "fs_*[readOnlyHint": allow
              |   ^^^^^^^^^^^^^^^^^^^
            hint: end the key with `]`, as in `"fs_*[readOnlyHint]"`

            error: `fs_?` has the character `?`, which no tool's name has
              --> permissions.yml:9:3
              |
            9 |   "fs_?": deny
              |   ^^^^^^
            hint: names have letters, digits, `_` and `-`; `*` stands for any of them

            error: `*[readOnlyHint, !readOnlyHint]` asks for `readOnlyHint` and its opposite
              --> permissions.yml:10:3
               |
            10 |   "*[readOnlyHint, !readOnlyHint]": deny
               |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            hint: no tool fits that; delete one of the two
        "#]],
    );
    check(
        "rules:\n  *_file: deny\n",
        expect![[r#"
        error: no valid YAML: unknown anchor
          --> permissions.yml:2:3
          |
        2 |   *_file: deny
          |   ^
        hint: what starts with `*` stands in quotes
    "#]],
    );
}

#[test]
fn modes() {
    check(
        "modes:\n  research:\n    rulez:\n    rules:\n      \"*[!readOnlyHint]\": denny\n      fs_reed_file: deny\n    on_drift: \
         blok\n    hostile_content: yes\n  calm: {}\nactive_mode: reserch\n",
        expect![[r#"
            error: unknown key `rulez` in the mode `research`
              --> permissions.yml:3:5
              |
            3 |     rulez:
              |     ^^^^^
            hint: did you mean `rules`?

            error: the access to `*[!readOnlyHint]` is `denny`, which is no level
              --> permissions.yml:5:27
              |
            5 |       "*[!readOnlyHint]": denny
              |                           ^^^^^
            hint: did you mean `deny`?

            error: this rule is for the unknown tool `fs_reed_file`
              --> permissions.yml:6:7
              |
            6 |       fs_reed_file: deny
              |       ^^^^^^^^^^^^
            hint: did you mean `fs_read_file`?

            error: `on_drift` of the mode `research` is `blok`, which means nothing
              --> permissions.yml:7:15
              |
            7 |     on_drift: blok
              |               ^^^^
            hint: did you mean `block`?

            error: `hostile_content` of the mode `research` is `yes`, which means nothing
              --> permissions.yml:8:22
              |
            8 |     hostile_content: yes
              |                      ^^^
            hint: write one of `report`, `block`

            error: the active mode `reserch` is not defined
              --> permissions.yml:10:14
               |
            10 | active_mode: reserch
               |              ^^^^^^^
            hint: did you mean `research`?
        "#]],
    );
    check(
        "active_mode: 3\n",
        expect![[r#"
        error: `active_mode` must be the name of a mode, but is a number
          --> permissions.yml:1:14
          |
        1 | active_mode: 3
          |              ^
        hint: name one of the modes, or delete the line
    "#]],
    );
    check(
        "active_mode: quiet\n",
        expect![[r#"
        error: the active mode `quiet` is not defined
          --> permissions.yml:1:14
          |
        1 | active_mode: quiet
          |              ^^^^^
        hint: known modes: `debug`, `dev`, `research`, `review`, `security-audit`, `swarm`
    "#]],
    );
}

#[test]
fn how_calls_are_approved_is_said_to_the_letter() {
    check(
        "approvals: {mode: tokn}\n",
        expect![[r#"
        error: `approvals.mode` is `tokn`, which is no way to approve
          --> permissions.yml
        hint: did you mean `token`?
    "#]],
    );
    check(
        "approvals:\n  mode: Token\n",
        expect![[r#"
        error: `approvals.mode` is `Token`, which is no way to approve
          --> permissions.yml:2:9
          |
        2 |   mode: Token
          |         ^^^^^
        hint: did you mean `token`?
    "#]],
    );
    check(
        "approvals:\n  mod: token\n",
        expect![[r#"
        error: unknown key `mod` in `approvals`
          --> permissions.yml:2:3
          |
        2 |   mod: token
          |   ^^^
        hint: did you mean `mode`?
    "#]],
    );
    check(
        "approvals: token\n",
        expect![[r#"
        error: `approvals` must be a mapping, but is a string
          --> permissions.yml:1:1
          |
        1 | approvals: token
          | ^^^^^^^^^
        hint: write `name: value`, one a line
    "#]],
    );
    check(
        "approvals: {mode: true}\n",
        expect![[r#"
        error: `approvals.mode` must be a word, but is a boolean
          --> permissions.yml
        hint: write `operator` or `token`
    "#]],
    );
    check("approvals:\n  mode: operator\n", expect![[r#""#]]);
    check("approvals:\n  mode: token\n", expect![[r#""#]]);
}

#[test]
fn the_digest_is_of_what_is_decided() {
    let of = |policy: &str| Small::new(CONFIG).policy(policy).compile().model.policy_sha256;
    let plain = of("rules:\n  fs_read_file: deny\n  fs_write_file: allow\n");
    assert_eq!(plain, of("# why\nrules:\n\n  fs_write_file: allow # so\n  fs_read_file: deny\n"));
    for other in [
        "rules:\n  fs_read_file: allow\n  fs_write_file: allow\n",
        "rules:\n  fs_read_file: deny\n  fs_write_file: allow\nactive_mode: review\n",
        "rules:\n  fs_read_file: deny\n  fs_write_file: allow\nmodes:\n  dev: { on_drift: block }\n",
        "rules:\n  fs_read_file: deny\n  fs_write_file: allow\napprovals: { mode: token }\n",
    ] {
        assert_ne!(plain, of(other), "{other}");
    }
}

#[test]
fn presets_are_there_and_give_way_to_configured_modes() {
    let compiled = |policy: &str| {
        let compilation = Small::new(CONFIG).policy(policy).compile();
        assert!(!compilation.has_errors(), "{:?}", compilation.problems);
        let policy = compilation.model.policy;
        let rules = policy.modes.iter().map(|mode| (mode.name, mode.rules.iter().count())).collect::<Vec<_>>();
        // Each has a column of its own, behind those of the roles.
        let columns = policy.modes.iter().map(|mode| usize::from(mode.column));
        assert!(columns.eq((0..policy.modes.len()).map(|at| 1 + policy.roles.len() + at)));
        (policy.active_mode, rules)
    };
    let presets = [("debug", 2), ("dev", 0), ("research", 2), ("review", 2), ("security-audit", 2), ("swarm", 0)];
    assert_eq!(compiled("rules: {}\n"), ("dev", presets.to_vec()));
    let policy = "roles:\n  r: { default_permission: deny }\nmodes:\n  dev:\n    rules: { fs_write_file: deny }\n  quiet: {}\n\
                  active_mode: quiet\n";
    let mut expected = presets.to_vec();
    expected[1].1 = 1;
    expected.insert(2, ("quiet", 0));
    assert_eq!(compiled(policy), ("quiet", expected));
}

#[cfg(unix)]
#[test]
fn a_policy_that_is_not_where_it_belongs_opens_nothing() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("policy-place");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mcp.config.json"), "{}").unwrap();
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let errors = || {
        let roots = evokore_codegen::inputs::Roots::new(repository, Some(folder.display().to_string()), None);
        let problems = evokore_codegen::inputs::Inputs::read(&roots).problems;
        problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(errors(), [""; 0], "no policy is one, too");
    for name in ["permissions.yaml", "Permissions.yml", "permission.yml", ".permissions.yml.swp"] {
        std::fs::write(folder.join(name), "rules: {}\n").unwrap();
        assert_eq!(errors(), [format!("there is no `permissions.yml`, but a `{name}`, which is not read")]);
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", folder.join("permissions.yml")).unwrap();
    assert_eq!(errors(), ["`permissions.yml` is a link that leads nowhere"]);
    std::fs::remove_file(folder.join("permissions.yml")).unwrap();
    std::fs::write(folder.join("permissions.yaml"), "rules: {}\n").unwrap();
    std::fs::write(folder.join("permissions.yml"), "rules: {}\n").unwrap();
    assert_eq!(errors(), [""; 0]);
}
