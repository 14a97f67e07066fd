/** Clients that get their tokens from an authorization server. */
// #region login
import { A2AClient, listenForRedirect } from 'corral/client'

// login: { issuer: 'https://login.example', clientId: 'reports', scopes: ['tasks:write'] }

/** A program of its own: client credentials. */
export function asService(serverUrl, login, clientSecret) {
  return new A2AClient({ serverUrl, oauth: { ...login, clientSecret } })
}

/** A person with a browser: authorization code with PKCE. `open` shows them a URL. */
export function withBrowser(serverUrl, login, open) {
  const interaction = { open, listen: () => listenForRedirect() }
  return new A2AClient({ serverUrl, oauth: { ...login, interaction } })
}

/** A person with a browser elsewhere: device code. `show` tells them where to enter it. */
export function withCode(serverUrl, login, show) {
  const prompt = ({ verificationUri, userCode }) => show(`${verificationUri}: ${userCode}`)
  return new A2AClient({ serverUrl, oauth: { ...login, prompt } })
}
// #endregion login
