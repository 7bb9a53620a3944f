//! A person's login at a server, from beginning to end.

use bytes::Bytes;
use evokore_catalog::server::ServerSpec;
use hyper::StatusCode;

use super::browser::WayBack;
use super::challenge::Challenge;
use super::discovery::{self, Authority, Resource};
use super::register::{self, Identity};
use super::{LoginError, form, grant, secret};
use crate::child::http::client::Client;
use crate::child::http::endpoint::{Ask, Endpoint, SESSION};
use crate::child::http::session::Ticket;
use crate::child::remote::{self, Login, Remote};
use crate::child::settings::ChildSettings;
use crate::state::{self, tokens};

/// Asks for a token that renews others, where that is a scope.
const OFFLINE: &str = "offline_access";
/// For the server to say that it wants a login.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// Logs in at the server of `spec`, which gets to know whoever opens the address given to `show` in a browser. Its name
/// for the authorization server is given back; the tokens are on disk then.
///
/// # Errors
/// Anything that kept it from that. No secret is in it.
pub async fn login(spec: &ServerSpec, settings: &ChildSettings, show: impl FnOnce(&str)) -> Result<String, LoginError> {
    let remote = remote::of(spec, settings).map_err(|what| LoginError::new(what, "correct its entry"))?;
    let path = store(settings, &remote)?;
    let client = Client::new(settings.lookup.clone());
    let endpoint = Endpoint::new(&remote.url, &remote.headers, client.clone());
    let endpoint = endpoint.map_err(|what| LoginError::new(what, "correct its entry"))?;
    if endpoint.has_credentials() {
        let what = "it has an `Authorization` of its own among its `headers`, which requests carry in place of a token";
        return Err(LoginError::new(what, "take that out first"));
    }
    let challenge = challenge(&endpoint).await?;
    let resource = discovery::resource(&client, &endpoint.url, &challenge).await?;
    let authority = discovery::authority(&client, &resource.issuer).await?;
    let scope = scope(&remote.login, &challenge, &resource, &authority);
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
    };
    tokens::write(&path, &tokens).map_err(|error| {
        LoginError::new(format!("`{}` cannot be written: {error}", path.display()), "see to it that it can be")
    })?;
    Ok(tokens.issuer)
}

/// Forgets the login at the server of `spec`; false if there was none.
///
/// # Errors
/// There is nothing to forget at such a server, or the file cannot be removed.
pub fn logout(spec: &ServerSpec, settings: &ChildSettings) -> Result<bool, LoginError> {
    let remote = remote::of(spec, settings).map_err(|what| LoginError::new(what, "correct its entry"))?;
    let path = store(settings, &remote)?;
    tokens::remove(&path).map_err(|error| {
        LoginError::new(format!("`{}` cannot be removed: {error}", path.display()), "remove it by hand")
    })
}

fn store(settings: &ChildSettings, remote: &Remote) -> Result<std::path::PathBuf, LoginError> {
    let home = state::home(&*settings.lookup).ok_or_else(|| {
        LoginError::new("there is no home folder in which a login could be kept", "set `EVOKORE_HOME` or `HOME`")
    })?;
    Ok(tokens::path(&home, remote.id, &remote.url))
}

/// What the server says when it is asked without a token.
async fn challenge(endpoint: &Endpoint) -> Result<Challenge, LoginError> {
    let hello = Bytes::from(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-11-25\",\
         \"capabilities\":{{}},\"clientInfo\":{{\"name\":\"evokore\",\"version\":\"{}\"}}}}}}",
        env!("CARGO_PKG_VERSION")
    ));
    let none = Ticket::default();
    let ask = endpoint.send(Ask::Post(&hello, None), &none);
    let response = match tokio::time::timeout(PATIENCE, ask).await {
        Ok(response) => {
            response.map_err(|failure| LoginError::new(format!("it {}", failure.first_line()), "check its `url`"))?
        }
        Err(_) => return Err(LoginError::new("it did not answer", "try again later")),
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        return Ok(Challenge::of(response.headers()));
    }
    if let Some(session) = response.headers().get(SESSION) {
        let ticket = Ticket { id: Some(session.clone()), ..Ticket::default() };
        let _ = tokio::time::timeout(PATIENCE, endpoint.send(Ask::Leave, &ticket)).await;
    }
    let what = format!("it asks for no login (it answered with HTTP {})", response.status().as_u16());
    Err(LoginError::new(what, "`evokore doctor` says whether it works as it is"))
}

/// What to ask for: what is configured, else what the server asks for, else all that it knows.
fn scope(login: &Login, challenge: &Challenge, resource: &Resource, authority: &Authority) -> String {
    if !login.scopes.is_empty() {
        return login.scopes.join(" ");
    }
    let mut scope = challenge.scope.clone().unwrap_or_else(|| resource.scopes.join(" "));
    let knows_offline = authority.scopes_supported.iter().any(|known| known == OFFLINE);
    if knows_offline && !scope.is_empty() && !scope.split(' ').any(|known| known == OFFLINE) {
        scope.push(' ');
        scope.push_str(OFFLINE);
    }
    scope
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
