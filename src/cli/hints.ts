import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

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
export const noAgent =
  'No A2A agent answers there: is the address right? Its card would be at URL/.well-known/agent-card.json; a Corral server lists its agents at /agents.'

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

const certificateFault = /^(DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_|ERR_TLS_CERT)/

/** What to do about a fault of a connection. */
export function networkHint(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  if (certificateFault.test(code))
    return `Its certificate is not trusted (${code}): name your authority with NODE_EXTRA_CA_CERTS=FILE, or try --no-verify-ssl.`
  return networkHints[code] ?? networkHint(cause.cause)
}
