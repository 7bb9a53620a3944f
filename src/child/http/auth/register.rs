//! How an authorization server knows us, by the first of these that works (MCP 2026-07-28, Client Registration): the
//! client of the configuration; the document at the address that the configuration gives as the client's id; by
//! registering there (RFC 7591).

use serde::{Deserialize, Serialize};

use super::discovery::Authority;
use super::fetch::{self, address};
use super::{LoginError, TELL};
use crate::child::http::client::Client;
use crate::child::remote::Login;

/// Who we are.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// Whether the secret goes into the body instead of a header (`client_secret_post`).
    pub(super) in_body: bool,
}

/// Who we are to `authority`, which sends browsers back to `redirect`.
pub(super) async fn identity(
    client: &Client,
    authority: &Authority,
    login: &Login,
    redirect: &str,
    scope: &str,
) -> Result<Identity, LoginError> {
    let document = login.client_id.as_deref().filter(|_| !is_bound(login));
    match (&login.client_id, document) {
        (Some(id), None) => {
            let known = &authority.token_endpoint_auth_methods_supported;
            let takes = |method: &str| known.iter().any(|known| known == method);
            let in_body = takes("client_secret_post") && !takes("client_secret_basic");
            Ok(Identity { id: id.clone(), secret: login.client_secret.clone(), in_body })
        }
        // Whoever has a document has no secret (Client ID Metadata Document, 4.1).
        (_, Some(url)) if authority.client_id_metadata_document_supported => {
            Ok(Identity { id: url.to_owned(), secret: None, in_body: false })
        }
        (_, document) => register(client, authority, document, redirect, scope).await,
    }
}

/// Whether the configured client is known to one authorization server alone, so that no other must see it (MCP
/// 2026-07-28, Authorization Server Binding).
pub(super) fn is_bound(login: &Login) -> bool {
    login.client_id.as_deref().is_some_and(|id| login.client_secret.is_some() || !is_document(id))
}

/// Whether a client's id is the address of a document about it: `https`, with a path, and nothing that could be written
/// in another way (Client ID Metadata Document, 3).
fn is_document(id: &str) -> bool {
    let Some((_, path)) = id.strip_prefix("https://").and_then(|rest| rest.split_once('/')) else { return false };
    let is_plain = !path.split('/').any(|part| matches!(part, "." | "..")) && !id.contains(['#', '@']);
    !path.is_empty() && is_plain && address(id, "its `clientId`").is_ok()
}

async fn register(
    client: &Client,
    authority: &Authority,
    document: Option<&str>,
    redirect: &str,
    scope: &str,
) -> Result<Identity, LoginError> {
    #[derive(Serialize)]
    struct Request<'a> {
        client_name: &'a str,
        redirect_uris: [&'a str; 1],
        grant_types: [&'a str; 2],
        response_types: [&'a str; 1],
        token_endpoint_auth_method: &'a str,
        application_type: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        scope: &'a str,
    }
    #[derive(Deserialize)]
    struct Registered {
        client_id: String,
        client_secret: Option<String>,
        token_endpoint_auth_method: Option<String>,
    }
    const ASK: &str = "register evokore there by hand, and write its `clientId` into `oauth` of the server";
    let issuer = &authority.issuer;
    let endpoint = authority.registration_endpoint.as_deref().ok_or_else(|| {
        let what = match document {
            Some(_) => "reads no documents of clients, such as the one that `clientId` names, and ",
            None => "",
        };
        LoginError::new(format!("the authorization server {issuer} {what}lets nobody register by themselves"), ASK)
    })?;
    let endpoint = address(endpoint, "its registration endpoint")?;
    let request = Request {
        client_name: "evokore",
        redirect_uris: [redirect],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "native",
        scope,
    };
    let body = serde_json::to_vec(&request).map_err(|error| LoginError::new(error.to_string(), TELL))?;
    let answer = fetch::post(client, &endpoint, "application/json", body.into(), None).await?;
    if !answer.status.is_success() {
        let what = format!("the authorization server {issuer} does not register evokore ({})", answer.told());
        return Err(LoginError::new(what, ASK));
    }
    let registered: Registered = answer.json("the answer to the registration")?;
    let in_body = registered.token_endpoint_auth_method.as_deref() == Some("client_secret_post");
    Ok(Identity { id: registered.client_id, secret: registered.client_secret, in_body })
}

#[cfg(test)]
mod tests {
    use super::is_document;

    #[test]
    fn addresses_of_documents() {
        for (id, expected) in [
            ("https://a.example/client.json", true),
            ("https://a.example:8/b/c?d", true),
            ("https://a.example", false),
            ("https://a.example/", false),
            ("http://a.example/client.json", false),
            ("https://a.example/../client.json", false),
            ("https://a.example/client.json#me", false),
            ("https://me@a.example/client.json", false),
            ("a1b2c3", false),
        ] {
            assert_eq!(is_document(id), expected, "{id}");
        }
    }
}
