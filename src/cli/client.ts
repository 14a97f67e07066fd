import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { WithheldCredentials } from '../client/auth/auth.ts'
import type { CardAuthOptions, Credentials } from '../client/auth/card-auth.ts'
import type { ClientOptions } from '../client/config.ts'
import {
  A2AClient,
  apiKey,
  authFromCard,
  bearer,
  type ClientAuth,
  listenForRedirect,
  type OAuthConfig,
  signedBy,
} from '../client/index.ts'
import type { AgentCard, SecurityScheme } from '../index.ts'
import { readUrl } from '../shared/text.ts'
import { collect, readSecret, toSeconds } from './command.ts'
import { allowing, CliError } from './errors.ts'
import { stderr } from './screen.ts'

/** How an agent is called, as the command line says it. */
export interface ClientFlags {
  readonly bearerToken?: string
  readonly apiKey?: string
  readonly oauthClientId?: string
  readonly oauthClientSecret?: string
  readonly oauthScope?: readonly string[]
  readonly header?: readonly string[]
  readonly tenant?: string
  readonly credentialOrigin?: readonly string[]
  readonly cardKeys?: string
  readonly binding?: keyof typeof bindings
  readonly protocol?: '1.0' | '0.3'
  readonly timeout?: number
  readonly verifySsl: boolean
  readonly json?: boolean
}

const bindings = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON' } as const

/** Adds the options of commands that call an agent. */
export function addClientOptions(command: Command): Command {
  return command
    .option('--bearer-token <token>', 'bearer token; env:NAME or file:PATH reads it from there')
    .option('--api-key <key>', 'API key, placed as the card says; env:NAME or file:PATH likewise')
    .option('--oauth-client-id <id>', 'log in as the card says, with a browser where it needs one')
    .option('--oauth-client-secret <secret>', 'of a confidential client; env:NAME or file:PATH')
    .option(
      '--oauth-scope <name>',
      'a scope to ask for instead of those in the card; may be repeated',
      collect,
    )
    .option('--header <name: value>', 'a further header; may be repeated', toHeader)
    .option('--tenant <name>', 'the tenant of every request')
    .option(
      '--credential-origin <origin>',
      'an origin beside that of URL that may get credentials and headers; may be repeated',
      collect,
    )
    .option('--card-keys <file>', 'JSON Web Key Set; take only a card that one of its keys signed')
    .addOption(new Option('--binding <name>', 'only this binding').choices(Object.keys(bindings)))
    .addOption(new Option('--protocol <version>', 'only this version').choices(['1.0', '0.3']))
    .option('--timeout <seconds>', 'longest wait for an answer (default: 300)', toSeconds)
    .option('--no-verify-ssl', 'do not check TLS certificates')
}

/** Runs with a client of the agent at a URL, and closes it. */
export async function withClient<T>(
  url: string,
  flags: ClientFlags,
  work: (client: A2AClient) => Promise<T>,
): Promise<T> {
  const serverUrl = toUrl(url)
  const plain = { ...toOptions(flags), ...(await verifierOf(flags)) }
  const options = { ...plain, ...(await credentialsOf(serverUrl, flags, plain)) }
  const client = new A2AClient({ serverUrl, ...options })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

function toUrl(url: string): string {
  if (/^https?:\/\//.test(url) && readUrl(url)) return url
  throw new CliError(`"${url}" is no URL`, { hint: 'Write it as http://localhost:3000.' })
}

function toOptions(flags: ClientFlags): ClientOptions {
  const { header, tenant, credentialOrigin, binding, protocol, timeout, verifySsl } = flags
  const headers = (header ?? []).map((line) => {
    const cut = line.indexOf(':')
    return [line.slice(0, cut).trim().toLowerCase(), line.slice(cut + 1).trim()]
  })
  return {
    verifySsl,
    onCredentialsWithheld: (withheld) => tellWithheld(withheld, flags),
    ...(tenant !== undefined && { tenant }),
    ...(credentialOrigin && { credentialOrigins: credentialOrigin }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...(binding && { bindings: [bindings[binding]] }),
    ...(protocol && { versions: [protocol] }),
    ...(timeout !== undefined && { timeouts: { requestMs: timeout * 1000 } }),
  }
}

/** Says what was kept from an origin that only the card names, and how to send it there. */
function tellWithheld({ origin, auth, headers }: WithheldCredentials, flags: ClientFlags): void {
  const own = flags.bearerToken ? 'bearer token' : flags.apiKey ? 'API key' : 'access token'
  const kept = [...(auth ? [own] : []), ...headers.map((name) => `header ${name}`)].join(', ')
  const text = `Not sent to ${origin}: ${kept}. The card names this origin, the command does not.`
  stderr.write(`${text}\n${allowing(origin)}\n`)
}

async function verifierOf({ cardKeys }: ClientFlags): Promise<Pick<ClientOptions, 'verifyCard'>> {
  if (cardKeys === undefined) return {}
  try {
    return { verifyCard: signedBy(JSON.parse(await readFile(cardKeys, 'utf8'))) }
  } catch (cause) {
    throw new CliError(`Cannot read keys from ${cardKeys}`, {
      hint: 'Give a file that holds a JSON Web Key Set: {"keys": [...]}.',
      cause,
    })
  }
}

async function credentialsOf(
  serverUrl: string,
  flags: ClientFlags,
  plain: ClientOptions,
): Promise<{ readonly auth?: ClientAuth; readonly credentials?: Credentials } | undefined> {
  const token = await readSecret(flags.bearerToken)
  if (token !== undefined) return { auth: bearer(token) }
  const key = await readSecret(flags.apiKey)
  const { oauthClientId: clientId } = flags
  if (key === undefined && clientId === undefined) return undefined
  const probe = new A2AClient({ serverUrl, ...plain })
  try {
    const card = await probe.fetchAgentCard()
    if (key !== undefined) return { auth: apiKey(key, keyPlace(card)) }
    const clientSecret = await readSecret(flags.oauthClientSecret)
    const config = {
      clientId: clientId ?? '',
      ...(clientSecret && { clientSecret }),
      ...(flags.oauthScope && { scopes: flags.oauthScope }),
      // An agent on this machine, without TLS itself, may name an authorization server beside it.
      allowInsecure: isLoopback(new URL(serverUrl)),
    }
    const { credentialOrigins } = plain
    return openLogin(card, config, { serverUrl, ...(credentialOrigins && { credentialOrigins }) })
  } finally {
    await probe.close()
  }
}

/** Where the card wants a key; the usual header where it does not say. */
function keyPlace({ securitySchemes = {} }: AgentCard): Parameters<typeof apiKey>[1] {
  const scheme = Object.values(securitySchemes).find((one) => 'apiKeySecurityScheme' in one)
  if (scheme && 'apiKeySecurityScheme' in scheme) return scheme.apiKeySecurityScheme
  return { location: 'header', name: 'X-API-Key' }
}

/**
 * The same client for every authorization server that the card names, or the agent's metadata (RFC 9728) where the card
 * asks for a bearer and does not say from whom, or for nothing though a gateway before the agent does.
 */
function openLogin(
  card: AgentCard,
  config: OAuthConfig,
  options: CardAuthOptions,
): { readonly auth?: ClientAuth; readonly credentials?: Credentials } {
  const { securitySchemes = {}, securityRequirements = [] } = card
  if (Object.keys(securitySchemes).length === 0 && securityRequirements.length === 0) {
    const asked = { ...card, ...anyBearer }
    const auth = authFromCard(asked, oauthCredentials(anyBearer, config), options)
    return auth ? { auth } : {}
  }
  return { credentials: oauthCredentials(card, config) }
}

const anyBearer = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
}

function oauthCredentials(
  { securitySchemes = {} }: Pick<AgentCard, 'securitySchemes'>,
  config: OAuthConfig,
): Credentials {
  const named = Object.entries(securitySchemes).flatMap(([name, scheme]) =>
    takesTokens(scheme) ? [[name, { ...config, ...participation(scheme, config) }] as const] : [],
  )
  if (named.length === 0)
    throw new CliError('The card names no authorization server', {
      hint: 'Give credentials with --bearer-token, --api-key or --header.',
    })
  return Object.fromEntries(named)
}

function takesTokens(scheme: SecurityScheme): boolean {
  if ('httpAuthSecurityScheme' in scheme)
    return scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer'
  return 'oauth2SecurityScheme' in scheme || 'openIdConnectSecurityScheme' in scheme
}

/**
 * How the person at the terminal takes part: by a browser here, or by a code that is entered elsewhere. A service with a
 * secret asks for its own tokens where the card leaves the flow open.
 */
function participation(
  scheme: SecurityScheme,
  { clientSecret }: OAuthConfig,
): Pick<OAuthConfig, 'interaction' | 'prompt'> {
  if (clientSecret !== undefined && !('oauth2SecurityScheme' in scheme)) return {}
  const flows = 'oauth2SecurityScheme' in scheme ? scheme.oauth2SecurityScheme.flows : {}
  const say = (text: string): void => stderr.write(`${text}\n`)
  if ('deviceCode' in flows)
    return {
      prompt: ({ userCode, verificationUri }) =>
        say(`Open ${verificationUri} and enter the code ${userCode}`),
    }
  return {
    interaction: {
      open: (url) => say(`Open this page in a browser to log in:\n${url}`),
      listen: () => listenForRedirect(),
    },
  }
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)
}

function toHeader(line: string, before?: readonly string[]): readonly string[] {
  if (!/^[\w!#$%&'*+.^`|~-]+\s*:/.test(line))
    throw new InvalidArgumentError('Write it as "Name: value".')
  return collect(line, before)
}
