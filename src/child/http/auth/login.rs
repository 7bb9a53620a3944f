//! A person's login at a server, from beginning to end.

use bytes::Bytes;
use evokore_catalog::server::{Dialect, ServerSpec};
use hyper::StatusCode;
use hyper::body::Incoming;

use super::browser::WayBack;
use super::challenge::Challenge;
use super::discovery::{self, Authority, Resource};
use super::register::{self, Identity};
use super::{LoginError, form, grant, place, scope, secret};
use crate::child::http::client::Client;
use crate::child::http::endpoint::{Ask, Endpoint, SESSION};
use crate::child::http::session::Ticket;
use crate::child::settings::ChildSettings;
use crate::state::tokens;

/// For the server to say that it wants a login.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// Logs in at the server of `spec`, which gets to know whoever opens the address given to `show` in a browser. Its name
/// for the authorization server is given back; the tokens are on disk then.
///
/// # Errors
/// Anything that kept it from that. No secret is in it.
pub async fn login(spec: &ServerSpec, settings: &ChildSettings, show: impl FnOnce(&str)) -> Result<String, LoginError> {
    let (remote, path) = place(spec, settings)?;
    let client = Client::new(settings.lookup.clone());
    let endpoint = Endpoint::new(&remote.url, &remote.headers, client.clone());
    let endpoint = endpoint.map_err(|what| LoginError::new(what, "correct its entry"))?;
    if endpoint.has_credentials() {
        let what = "it has an `Authorization` of its own among its `headers`, which requests carry in place of a token";
        return Err(LoginError::new(what, "take that out first"));
    }
    let (status, challenge) = challenge(&endpoint, remote.dialect).await?;
    let resource = match discovery::resource(&client, &endpoint.url, &challenge).await? {
        Some(resource) => resource,
        None if status == StatusCode::UNAUTHORIZED => Resource::of_old(&endpoint.url),
        None => {
            let what = format!("it asks for no login (it answered with HTTP {})", status.as_u16());
            return Err(LoginError::new(what, "`evokore doctor` says whether it works as it is"));
        }
    };
    let authority = discovery::authority(&client, &resource.issuer).await?;
    // A file that cannot be read is written anew.
    let before = tokens::read(&path, &remote.url).ok().flatten();
    if let Some(before) = before.as_ref().filter(|before| before.issuer != authority.issuer)
        && register::is_bound(&remote.login)
    {
        let what = format!(
            "its authorization server is {} now and was {}, to which its `clientId` is known",
            authority.issuer, before.issuer
        );
        return Err(LoginError::new(
            what,
            "if that is right, correct `oauth` of its entry, and log out before you log in",
        ));
    }
    let scope = scope::of_login(&remote.login, &challenge, &resource, &authority, before.as_ref());
    let back = WayBack::open(remote.login.redirect_port).await?;
    let identity = register::identity(&client, &authority, &remote.login, &back.url, &scope).await?;

    let (state, verifier) = (secret::random()?, secret::random()?);
    show(&way_out(&authority, &identity, &resource, &back.url, &scope, &state, &verifier));
    let code = back.code(&state, &authority).await?;
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", &back.url),
        ("code_verifier", &verifier),
        ("resource", &resource.name),
    ];
    let granted = grant::ask(&client, &authority.token_endpoint, &identity, &pairs).await;
    let granted = granted.map_err(grant::Denied::error)?;
    let is_configured = remote.login.client_secret.is_some();
    let tokens = tokens::Tokens {
        url: remote.url,
        issuer: authority.issuer,
        token_endpoint: authority.token_endpoint,
        resource: resource.name,
        client_id: identity.id,
        client_secret: identity.secret.filter(|_| !is_configured),
        secret_in_body: identity.in_body,
        access_token: granted.access_token,
        refresh_token: granted.refresh_token,
        expires_at: granted.expires_at,
        revocation_endpoint: authority.revocation_endpoint,
        scopes: granted.scopes.unwrap_or_else(|| scope::read(&scope)),
        wanted_scopes: Vec::new(),
    };
    tokens::write(&path, &tokens).map_err(|error| {
        LoginError::new(format!("`{}` cannot be written: {error}", path.display()), "see to it that it can be")
    })?;
    Ok(tokens.issuer)
}

/// What the server says when it is asked without a token: if it does not want one, nothing but the status.
async fn challenge(endpoint: &Endpoint, dialect: Dialect) -> Result<(StatusCode, Challenge), LoginError> {
    let hello = Bytes::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-11-25\",\
         \"capabilities\":{{}},\"clientInfo\":{{\"name\":\"evokore\",\"version\":\"{}\"}}}}}}",
        env!("CARGO_PKG_VERSION")
    ));
    let first = if dialect == Dialect::Sse { Ask::Listen(None) } else { Ask::Post(&hello, None) };
    let mut response = ask(endpoint, first, &Ticket::default()).await?;
    // A server of 2024-11-05 may want a token for its stream alone.
    if dialect == Dialect::Either && matches!(response.status().as_u16(), 400 | 404 | 405) {
        response = ask(endpoint, Ask::Listen(None), &Ticket::default()).await?;
    }
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED {
        return Ok((status, Challenge::of(response.headers())));
    }
    if let Some(session) = response.headers().get(SESSION) {
        let ticket = Ticket { id: Some(session.clone()), ..Ticket::default() };
        // It ends by itself otherwise.
        let _ = ask(endpoint, Ask::Leave, &ticket).await;
    }
    Ok((status, Challenge::default()))
}

async fn ask(endpoint: &Endpoint, what: Ask<'_>, ticket: &Ticket) -> Result<hyper::Response<Incoming>, LoginError> {
    let asked = tokio::time::timeout(PATIENCE, endpoint.send(what, ticket)).await;
    let asked = asked.map_err(|_| LoginError::new("it did not answer", "try again later"))?;
    asked.map_err(|failure| LoginError::new(format!("it {}", failure.first_line()), "check its `url`"))
}

/// The address that a browser is to open.
fn way_out(
    authority: &Authority,
    identity: &Identity,
    resource: &Resource,
    redirect: &str,
    scope: &str,
    state: &str,
    verifier: &str,
) -> String {
    let promise = secret::promise(verifier);
    let mut pairs = vec![
        ("response_type", "code"),
        ("client_id", &identity.id),
        ("redirect_uri", redirect),
        ("state", state),
        ("code_challenge", &promise),
        ("code_challenge_method", "S256"),
        ("resource", &resource.name),
    ];
    if !scope.is_empty() {
        pairs.push(("scope", scope));
    }
    let endpoint = &authority.authorization_endpoint;
    let joint = if endpoint.contains('?') { '&' } else { '?' };
    format!("{endpoint}{joint}{}", form::encode(&pairs))
}
