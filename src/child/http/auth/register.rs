//! How an authorization server knows us: as the configuration says, or by registering there (RFC 7591).

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
    if let Some(id) = &login.client_id {
        let known = &authority.token_endpoint_auth_methods_supported;
        let takes = |method: &str| known.iter().any(|known| known == method);
        let in_body = takes("client_secret_post") && !takes("client_secret_basic");
        return Ok(Identity { id: id.clone(), secret: login.client_secret.clone(), in_body });
    }
    register(client, authority, redirect, scope).await
}

async fn register(client: &Client, authority: &Authority, redirect: &str, scope: &str) -> Result<Identity, LoginError> {
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
        LoginError::new(format!("the authorization server {issuer} lets nobody register by themselves"), ASK)
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
