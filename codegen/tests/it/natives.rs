//! What is said about native definitions.

use expect_test::{Expect, expect};

use crate::support::{CONFIG, Small};

fn check(natives: &str, expected: Expect) {
    expected.assert_eq(&Small::new(CONFIG).natives(natives).shown());
}

#[test]
fn broken_definitions() {
    check(
        "[\n  {\"name\": }\n]",
        expect![[r#"
            error: no list of tool definitions: expected value
              --> src/native/some.tools.json:2:12
              |
            2 |   {"name": }
              |            ^
            hint: a file of native tools is one JSON list of objects with `name`, `description`, `inputSchema`
        "#]],
    );
    check(
        "{}",
        expect![[r#"
            error: no list of tool definitions: invalid type: map, expected a sequence
              --> src/native/some.tools.json:1:1
              |
            1 | {}
              | ^
            hint: a file of native tools is one JSON list of objects with `name`, `description`, `inputSchema`
        "#]],
    );
    check(
        r#"[
  {"title": "no name"},
  {"name": "Bad-Name", "title": "t", "description": "d", "inputSchema": {"type": "object"}},
  {"name": "no_schema", "title": "t", "description": "d"},
  {"name": "no_title", "description": "d", "inputSchema": {"type": "object"}},
  {"name": "requires", "title": "t", "description": "d", "inputSchema": {"type": "object", "required": ["x"]}},
  {"name": "twice", "title": "t", "description": "d", "inputSchema": {"type": "object"}},
  {"name": "twice", "title": "t", "description": "d", "inputSchema": {"type": "object"}}
]"#,
        expect![[r#"
            error: this is no tool definition: it has no `name`
              --> src/native/some.tools.json:2:3
              |
            2 |   {"title": "no name"},
              |   ^
            hint: write an object with a `name`

            error: `Bad-Name` is no name for a native tool
              --> src/native/some.tools.json:3:3
              |
            3 |   {"name": "Bad-Name", "title": "t", "description": "d", "inputSchema": {"type": "object"}},
              |   ^
            hint: use lower-case words joined by `_`, at most 64 characters

            error: the definition of `no_schema` is malformed: it has no `inputSchema`
              --> src/native/some.tools.json:4:3
              |
            4 |   {"name": "no_schema", "title": "t", "description": "d"},
              |   ^
            hint: follow the protocol's type `Tool`

            error: the definition of `no_title` needs a `title` and a `description`
              --> src/native/some.tools.json:5:3
              |
            5 |   {"name": "no_title", "description": "d", "inputSchema": {"type": "object"}},
              |   ^
            hint: a person chooses by the title, a model by the description

            error: `requires` requires the argument `x`, which is not among its properties
              --> src/native/some.tools.json:6:3
              |
            6 |   {"name": "requires", "title": "t", "description": "d", "inputSchema": {"type": "object", "required": ["x"]}},
              |   ^
            hint: add it to `properties`, or take it out of `required`

            error: the native tool `twice` is defined twice
              --> src/native/some.tools.json:8:3
              |
            8 |   {"name": "twice", "title": "t", "description": "d", "inputSchema": {"type": "object"}}
              |   ^
            hint: rename one of them
        "#]],
    );
}
