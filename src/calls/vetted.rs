//! What servers ask of clients of 2026-07-28, looked at before it is passed on.

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::json;
use serde_json::value::RawValue;

use super::bridge::MISSING_CAPABILITY;
use super::outcome::Outcome;
use super::rounds::question;
use super::{CallContext, Era};
use crate::child::Client;
use crate::wire::envelope::INTERNAL_ERROR;

/// What a task of a client of 2026-07-28 says, which may ask for input.
///
/// # Errors
/// The answer where it asks for what the client does not offer.
pub(crate) fn fit_for(ctx: &CallContext, task: Bytes) -> Result<Bytes, Outcome> {
    let Some(client) = ctx.client.as_ref().filter(|_| ctx.era == Era::Modern) else { return Ok(task) };
    match vetted(&**client, &task) {
        Ok(task) => Ok(task.into()),
        Err(Unfit::Undeclared(refusal)) => Err(refusal),
        Err(Unfit::Malformed(why)) => Err(Outcome::Error {
            code: INTERNAL_ERROR,
            message: format!("the task asks for input that it cannot get: {why}"),
        }),
    }
}

/// Why what a server asks for is not passed on.
pub(super) enum Unfit {
    /// The refusal of a request whose client does not offer that.
    Undeclared(Outcome),
    Malformed(String),
}

/// The result `needs` as a client of 2026-07-28 may get it: every member stands in it once, so that the client cannot read
/// another request in it than the one that was looked at, and each request is one that the client has declared.
pub(super) fn vetted(client: &dyn Client, needs: &[u8]) -> Result<String, Unfit> {
    let malformed = || Unfit::Malformed("its `input_required` result is malformed".to_owned());
    let text = std::str::from_utf8(needs).map_err(|_| malformed())?;
    let mut needs = Members::parse(text).map_err(|_| malformed())?.unique();
    let Some(requests) = needs.get("inputRequests") else { return Ok(needs.to_json()) };
    let requests = Members::parse(requests.get()).map_err(|_| malformed())?.unique();
    let capabilities = client.capabilities();
    let mut fit = Vec::with_capacity(requests.0.len());
    for (key, request) in &requests.0 {
        let question = question(request).map_err(Unfit::Malformed)?;
        if let Some(lacking) = capabilities.lacks(&question) {
            let message = "the server asks for what the client does not offer in this request";
            let data = json!({ "requiredCapabilities": lacking });
            let error = json!({"code": MISSING_CAPABILITY, "message": message, "data": data});
            return Err(Unfit::Undeclared(Outcome::RawError(error.to_string().into())));
        }
        fit.push((key.clone(), once(request).map_err(|_| malformed())?));
    }
    let fit = Members(fit.iter().map(|(key, request)| (key.clone(), &**request)).collect()).to_json();
    let fit = RawValue::from_string(fit).map_err(|_| malformed())?;
    for (key, value) in &mut needs.0 {
        if key == "inputRequests" {
            *value = &fit;
        }
    }
    Ok(needs.to_json())
}

/// A request with each of its members, and each of those of its `params`, once.
fn once(request: &RawValue) -> Result<Box<RawValue>, serde_json::Error> {
    let mut members = Members::parse(request.get())?.unique();
    let params = members.get("params").and_then(|params| Members::parse(params.get()).ok());
    let params = params.map(|params| RawValue::from_string(params.unique().to_json())).transpose()?;
    if let Some(params) = &params {
        for (key, value) in &mut members.0 {
            if key == "params" {
                *value = params;
            }
        }
    }
    RawValue::from_string(members.to_json())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Answering, Capabilities, Level, Question};
    use std::sync::Arc;

    #[derive(Debug)]
    struct Offering(&'static str);

    impl Client for Offering {
        fn capabilities(&self) -> Arc<Capabilities> {
            Arc::new(Capabilities::of(self.0))
        }
        fn level(&self) -> Option<Level> {
            None
        }
        fn log(&self, _: &'static str, _: &[u8]) -> bool {
            true
        }
        fn ask(&self, _: Question) -> Answering {
            Box::pin(async { None })
        }
        fn tell(&self, _: &'static str, _: Option<&[u8]>) {}
    }

    #[test]
    fn a_client_gets_what_was_looked_at_and_nothing_that_it_did_not_declare() {
        let client = Offering(r#"{"elicitation":{}}"#);
        let form = r#"{"method":"elicitation/create","params":{"mode":"form","x":1.10}}"#;
        let said = |needs: &str| match vetted(&client, needs.as_bytes()) {
            Ok(needs) => needs,
            Err(Unfit::Undeclared(Outcome::RawError(error))) => {
                assert!(error.starts_with(b"{\"code\":-32021"), "{error:?}");
                "undeclared".to_owned()
            }
            Err(Unfit::Undeclared(other)) => panic!("{other:?}"),
            Err(Unfit::Malformed(why)) => why,
        };
        let asking =
            |requests: &str| format!(r#"{{"resultType":"input_required","inputRequests":{requests},"z":1.0}}"#);
        let plain = asking(&format!(r#"{{"a":{form}}}"#));
        assert_eq!(said(&plain), plain);
        let sampling = r#"{"method":"sampling/createMessage","params":{}}"#;
        let url = r#"{"method":"elicitation/create","params":{"mode":"url"}}"#;
        for undeclared in [
            asking(&format!(r#"{{"a":{sampling}}}"#)),
            asking(&format!(r#"{{"a":{form},"b":{sampling}}}"#)),
            asking(&format!(r#"{{"a":{url}}}"#)),
            asking(&format!(r#"{{"a":{form},"\u0061":{sampling}}}"#)),
            asking(r#"{"a":{"method":"elicitation/create","method":"sampling/createMessage"}}"#),
            asking(r#"{"a":{"method":"elicitation/create","params":{"mode":"form","mode":"url"}}}"#),
        ] {
            assert_eq!(said(&undeclared), "undeclared", "{undeclared}");
        }
        // The first one of twins reaches no client, whichever it would read.
        for (twins, left) in [
            (
                format!(r#"{{"inputRequests":{{"a":{sampling}}},"inputRequests":{{"a":{form}}}}}"#),
                format!(r#"{{"inputRequests":{{"a":{form}}}}}"#),
            ),
            (asking(&format!(r#"{{"a":{sampling},"a":{form}}}"#)), plain.clone()),
            (
                asking(
                    r#"{"a":{"method":"sampling/createMessage","method":"elicitation/create","params":{"mode":"url","mode":"form","x":1.10}}}"#,
                ),
                plain.clone(),
            ),
            (
                asking(
                    r#"{"a":{"method":"elicitation/create","params":{"mode":"url"},"params":{"mode":"form","x":1.10}}}"#,
                ),
                plain.clone(),
            ),
        ] {
            assert_eq!(said(&twins), left, "{twins}");
        }
        for malformed in [
            asking(r#"{"a":7}"#),
            asking(r#"{"a":{}}"#),
            asking(r#"{"a":{"method":"tools/call"}}"#),
            asking("[]"),
            "7".to_owned(),
        ] {
            let why = said(&malformed);
            assert!(!why.starts_with('{') && why != "undeclared", "{malformed}: {why}");
        }
    }
}
