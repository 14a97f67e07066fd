import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { UntrustedOrigin } from '../client/index.ts'
import { A2AError, type ErrorCode } from '../index.ts'
import { toPrintableLine } from '../shared/text.ts'
import type { ConfigError } from '../team/index.ts'
import { stderr, stdout } from './screen.ts'

/** What to do instead, which code to end with, 2 if absent, and where the error comes from. */
interface CliErrorOptions extends ErrorOptions {
  readonly hint?: string
  readonly exitCode?: 1 | 2
}

/** Something that cannot be done, and what to do instead. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly hint: string | undefined
  readonly exitCode: number

  constructor(message: string, options: CliErrorOptions = {}) {
    super(message, options)
    this.hint = options.hint
    this.exitCode = options.exitCode ?? 2
  }
}

/** Errors of an agent that is not there, as against one that said no. */
const unreachable: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'agentUnavailable',
  'unavailable',
  'versionNotSupported',
  'timeout',
])

const hints: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'Give credentials with --bearer-token, --api-key or --oauth-client-id.',
  forbidden: 'These credentials are known, but may not do this.',
  versionNotSupported: 'Try another wire: --protocol 0.3 or --binding rest.',
  timeout: 'Give it longer with --timeout SECONDS.',
  rateLimited: 'Wait a moment and try again.',
}

/** The exit code of an error: 1 what was asked for failed, 2 it could not be tried. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof A2AError) return unreachable.has(error.code) || isNoAgent(error) ? 2 : 1
  return isConfigError(error) ? 1 : 2
}

/** Tells a person on stderr what went wrong and what to do, or a program on stdout as JSON. Stacks only to debug. */
export function reportError(
  error: unknown,
  { json, debug }: { readonly json: boolean; readonly debug: boolean },
): void {
  const message = error instanceof Error ? error.message : String(error)
  const hint = hintFor(error)
  if (json) {
    const code = error instanceof A2AError && { code: error.code }
    const problems = isConfigError(error) && { problems: error.problems }
    stdout.write(`${JSON.stringify({ error: { ...code, message, ...problems, ...hint } })}\n`)
  } else if (isConfigError(error)) stderr.write(`${message}\n${hint?.hint}\n`)
  else {
    stderr.write(`corral: ${error instanceof A2AError ? toPrintableLine(message) : message}\n`)
    if (hint) stderr.write(`${hint.hint}\n`)
  }
  if (debug) stderr.write(`${trailOf(error)}\n`)
}

/** How an origin that only a card names is allowed to get credentials. */
export function allowing(origin: string): string {
  return `Allow it with --credential-origin ${origin}`
}

/** What to do about an error, where something can be done. */
export function hintFor(error: unknown): { readonly hint: string } | undefined {
  if (error instanceof CliError) return error.hint === undefined ? undefined : { hint: error.hint }
  if (isConfigError(error)) return { hint: 'Correct the file and try again.' }
  if (!(error instanceof A2AError)) return undefined
  if (isUntrustedOrigin(error.cause)) return { hint: allowing(error.cause.origin) }
  const hint = hintFromWords(error) ?? hints[error.code]
  return hint === undefined ? undefined : { hint }
}

/** Whether something answered that has no card, or a card that is none. */
function isNoAgent({ code, message }: A2AError): boolean {
  if (code === 'agentUnavailable') return /^No agent card at/.test(message)
  return code === 'invalidAgentResponse' && /^The (agent card has no|card at)\b/.test(message)
}

/** "Unavailable" is said of a network and of a file; only the words tell which. */
function hintFromWords(error: A2AError): string | undefined {
  const { code, message, cause } = error
  if (message.startsWith('Cannot open the task store postgres'))
    return 'Check the URL, and that the database is up and lets this machine in.'
  if (message.startsWith('Cannot open the task store'))
    return 'Choose another with --store PATH, or --store memory.'
  if (isNoAgent(error)) return noAgent
  if (message.includes('has no content'))
    return 'Write the text after the URL, or "-" to read it from stdin.'
  if (code === 'taskNotFound')
    return `"${ownName()} task list URL" shows the tasks that these credentials can see.`
  if (code === 'agentUnavailable') return nobodyThere()
  if (code !== 'unavailable') return undefined
  if (message.includes('certificate is not trusted')) return untrusted
  const known = networkHint(cause)
  return known ?? (message.startsWith('Cannot connect') ? nobodyThere() : undefined)
}

/** By its name: the class itself would bring the whole client into every command. */
function isUntrustedOrigin(cause: unknown): cause is UntrustedOrigin {
  return cause instanceof Error && cause.name === 'UntrustedOrigin'
}

/** By its name: the class itself would bring the whole reader of configurations into every command. */
function isConfigError(error: unknown): error is ConfigError {
  return error instanceof Error && error.name === 'ConfigError'
}

function trailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause === undefined
    ? (error.stack ?? error.message)
    : `${error.stack}\ncaused by ${trailOf(cause)}`
}

/**
 * How a person calls the command: `npx corral` where it was called so, or where a shell would not find `corral`. Npm adds
 * the project's own commands to the path of what it starts, and the shell does not.
 */
export function ownName(environment: NodeJS.ProcessEnv = process.env): string {
  if (environment.npm_command === 'exec') return 'npx corral'
  const path = environment.PATH ?? environment.Path ?? ''
  const directories = path.split(delimiter).filter((part) => part && !part.includes('node_modules'))
  const names = process.platform === 'win32' ? ['corral.cmd', 'corral.ps1'] : ['corral']
  const isFound = directories.some((part) => names.some((name) => existsSync(join(part, name))))
  return isFound ? 'corral' : 'npx corral'
}

/** What to do where nobody answers. */
export function nobodyThere(): string {
  return `Is it running? "${ownName()} demo" starts an agent at http://localhost:3000.`
}

/** What to do where something answers that is no agent. */
const noAgent =
  'No A2A agent answers there: is the address right? Its card would be at URL/.well-known/agent-card.json; a Corral server lists its agents at /agents.'

const untrusted =
  'Name the authority that signed it with NODE_EXTRA_CA_CERTS=FILE, or try --no-verify-ssl.'

const withoutTls = 'It does not speak TLS there: write http:// instead of https://.'

const closed = 'Is it still running? Where it speaks TLS, write https:// instead of http://.'

const unknownHost = 'There is no host of this name: is it spelt right?'

/** What to do about faults of a connection, by Node's codes. */
const networkHints: Readonly<Record<string, string>> = {
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
  EPROTO: withoutTls,
  ERR_SSL_WRONG_VERSION_NUMBER: withoutTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: withoutTls,
  UND_ERR_SOCKET: closed,
  ECONNRESET: closed,
}

/** What to do about a fault of a connection. */
function networkHint(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  return networkHints[code] ?? networkHint(cause.cause)
}
