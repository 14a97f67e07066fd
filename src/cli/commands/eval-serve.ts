import { builtInDomains, createEvaluator } from '../../eval/index.ts'
import { createServer, runServer } from '../../server/index.ts'
import { readUrl } from '../../shared/url.ts'
import { stderr, stdout } from '../screen.ts'
import { chooseDomain } from './eval-domain.ts'
import { createEvalLog } from './eval-output.ts'

/** The flags of `corral eval serve`. */
interface EvalServeFlags {
  readonly port: number
  readonly host: string
  readonly allowUnauthenticated?: boolean
  readonly dir: string
  readonly domain?: readonly string[]
  readonly allowEndpoint?: readonly string[]
  readonly json?: boolean
}

const openRefusal =
  'Anyone who can reach this machine could start evaluations: leave --host out, or allow it by --allow-unauthenticated'

/** Offers evaluations over A2A until a signal ends it. */
export async function serveCommand(flags: EvalServeFlags): Promise<number> {
  const further = await Promise.all((flags.domain ?? []).map((name) => chooseDomain(name)))
  const { allowEndpoint } = flags
  const evaluator = createEvaluator({
    archive: flags.dir,
    domains: { ...builtInDomains, ...Object.fromEntries(further.map((one) => [one.name, one])) },
    log: createEvalLog(stderr, false),
    ...(allowEndpoint && { allowEndpoint: endpointFilter(allowEndpoint) }),
  })
  const { port, host, allowUnauthenticated = false } = flags
  const server = await createServer({ agents: [evaluator] })
  const { url, stopped } = await runServer(server, {
    port,
    host,
    signals: true,
    ...(!allowUnauthenticated && { openRefusal }),
  })
  if (flags.json) stdout.write(`${JSON.stringify({ url })}\n`)
  stderr.write(`Evaluator at ${url}\n`)
  await stopped
  return 0
}

/** Same origin, and below the path: a prefix of the text alone would let `https://good.example.evil` in. */
function endpointFilter(prefixes: readonly string[]): (url: string) => boolean {
  const allowed = prefixes.map((prefix) => new URL(prefix))
  return (url) => {
    const asked = readUrl(url)
    return allowed.some(
      ({ origin, pathname }) => asked?.origin === origin && isBelow(asked.pathname, pathname),
    )
  }
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)
}
