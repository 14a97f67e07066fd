import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import type { Rules } from './rules.ts'
import { portOf, toHost } from './url.ts'

/** How connections under rules are opened. */
interface ConnectOptions {
  readonly rules: Rules
  /** What a connection fails with that the rules refuse. */
  readonly refusal: (reason: string) => Error
  readonly timeoutMs?: number
  readonly verifySsl?: boolean
}

/**
 * Opens connections for undici. Each is judged with every address that its name resolves to at that moment, so neither
 * a name that changes its address nor a redirect leads where nobody may go. It costs a request on an open connection
 * nothing.
 */
export function checkedConnector(options: ConnectOptions): buildConnector.connector {
  const { rules, refusal } = options
  const connectNamed = openConnector(options, true)
  const connectOther = openConnector(options, false)
  return (dialled, callback) => {
    const { protocol, hostname } = dialled
    const host = toHost(hostname)
    const target = { protocol, host, port: portOf(dialled.port, protocol) }
    const named = rules.isNamed(target)
    let reason = rules.refuse(target)
    // A literal address needs no lookup, so nobody else looks at it.
    if (reason === undefined && isIP(host) !== 0)
      reason = rules.refuseAddresses({ host, addresses: [host], named })
    if (reason !== undefined) return callback(refusal(reason), null)
    const connect = named ? connectNamed : connectOther
    connect(dialled, callback)
  }
}

function openConnector(options: ConnectOptions, named: boolean): buildConnector.connector {
  const { timeoutMs, verifySsl } = options
  return buildConnector({
    lookup: checkedLookup(options, named),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    ...(verifySsl !== undefined && { rejectUnauthorized: verifySsl }),
  })
}

/** Gives a name's addresses to a connection only if the rules let all of them pass. */
function checkedLookup({ rules, refusal }: ConnectOptions, named: boolean): LookupFunction {
  const { lookup = systemLookup } = rules
  return (hostname, wanted, callback) => {
    lookup(hostname, { ...wanted, all: true }, (error, answer, family) => {
      if (error) return callback(error, '', 0)
      const found =
        typeof answer === 'string' ? [{ address: answer, family: family ?? isIP(answer) }] : answer
      const [first] = found
      if (!first) return callback(refusal('must name a host that has an address'), '', 0)
      const addresses = found.map(({ address }) => address)
      const reason = rules.refuseAddresses({ host: toHost(hostname), addresses, named })
      if (reason !== undefined) return callback(refusal(reason), '', 0)
      if (wanted.all) callback(null, found)
      else callback(null, first.address, first.family)
    })
  }
}
