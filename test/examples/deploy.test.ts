import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/index.ts'
import { loadConfig } from '../../src/app/config/load.ts'
import { createServer, listen } from '../../src/server/index.ts'
import { createDeferred } from '../../src/shared/async.ts'
import { startProcess, temporary } from '../cli/corral.ts'
import { selfSigned } from '../client/self-signed.ts'
import { freePort } from '../support/port.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'examples/deploy')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
const has = (program: string, flag: string): boolean => spawnSync(program, [flag]).status === 0

/** The parser of YAML that Playwright brings along. */
const { yaml } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle') as {
  yaml: {
    parseAllDocuments(text: string): readonly { errors: readonly Error[]; toJS(): unknown }[]
  }
} // it has no types

/** The documents of a file that is YAML. @throws Error where it is not. */
function documentsOf(path: string): readonly Record<string, unknown>[] {
  const documents = yaml.parseAllDocuments(readFileSync(join(root, path), 'utf8'))
  for (const { errors } of documents) for (const error of errors) throw error
  return documents.map((one) => one.toJS() as Record<string, unknown>) // a mapping at the top of each
}

const env = {
  PUBLIC_URL: 'https://agents.example.com',
  STATE_DIRECTORY: '/var/lib/corral',
  API_TOKEN: 'secret',
  OPERATOR_TOKEN: 'more-secret',
}

describe('the configuration', () => {
  test('keeps its secrets in the environment and listens to its proxy alone', async () => {
    const { server } = await loadConfig(join(folder, 'corral.toml'), env)
    expect(server).toMatchObject({
      host: '127.0.0.1',
      publicUrl: env.PUBLIC_URL,
      trustedProxies: ['loopback'],
      store: '/var/lib/corral/tasks.db',
    })
    expect(Object.keys(server.auth?.bearerTokens ?? {})).toEqual(['secret', 'more-secret'])
  })

  test('is refused without its variables, each of them named', async () => {
    const error = await loadConfig(join(folder, 'corral.toml'), {}).catch((thrown) => thrown)
    for (const name of Object.keys(env)) expect(String(error)).toContain(name)
  })
})

describe('the files of YAML', () => {
  test('are YAML, and what they are for', () => {
    const kinds = documentsOf('examples/scale/kubernetes.yaml').map(({ kind }) => kind)
    expect(kinds).toEqual(['Deployment', 'Service', 'PodDisruptionBudget'])
    const [compose] = documentsOf('examples/scale/compose.yaml')
    expect(Object.keys(compose?.services ?? {})).toEqual(['db', 'corral', 'proxy'])
    const [prometheus] = documentsOf('examples/deploy/prometheus.yml')
    expect(prometheus?.rule_files).toEqual(['corral-alerts.yml'])
    const [alerts] = documentsOf('examples/deploy/corral-alerts.yml')
    expect(alerts).toMatchObject({
      groups: [
        {
          rules: expect.arrayContaining([
            expect.objectContaining({ alert: 'CorralDown', expr: expect.any(String) }),
          ]),
        },
      ],
    })
  })
})

describe('the container file', () => {
  test('copies files that are there, and starts the program itself', () => {
    const lines = read('Dockerfile').split('\n')
    const copied = lines.flatMap((line) => /^COPY (.*) \S+$/.exec(line)?.[1]?.split(' ') ?? [])
    const own = ['package.json', 'package-lock.json'] // of the reader's project
    expect(readdirSync(folder)).toEqual(
      expect.arrayContaining(copied.filter((name) => !own.includes(name))),
    )
    const [, command = '[]'] = /^CMD (.*)$/m.exec(read('Dockerfile')) ?? []
    expect(JSON.parse(command).slice(0, 2)).toEqual(['node_modules/.bin/corral', 'serve'])
  })
})

describe.skipIf(!has('systemd-analyze', '--version'))('the units of systemd', () => {
  test.each(['corral.service', 'corral-backup.service', 'corral-backup.timer'])(
    '%s is one',
    (name) => {
      const place = temporary()
      // What it starts is not on this machine.
      for (const unit of ['corral.service', 'corral-backup.service', 'corral-backup.timer'])
        writeFileSync(
          join(place, unit),
          read(unit).replaceAll('/srv/corral/node_modules/.bin/corral', '/bin/true'),
        )
      const args = ['verify', '--man=no', '--recursive-errors=no', join(place, name)]
      expect(spawnSync('systemd-analyze', args, { encoding: 'utf8' })).toMatchObject({
        status: 0,
        stderr: '',
      })
    },
  )
})

describe.skipIf(!has('nginx', '-v'))('nginx', () => {
  test('lets events pass as they come, over TLS, and keeps the metrics to itself', async () => {
    const more = createDeferred<void>()
    const slow = defineAgent({ name: 'Slow' }, async function* () {
      yield 'first '
      await more.promise
      yield 'second'
    })
    const server = await createServer({
      agents: [slow],
      publicUrl: env.PUBLIC_URL,
      trustedProxies: ['loopback'],
      logger: false,
    })
    const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    const front = await startNginx(port)
    const body = JSON.stringify({
      message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'Go' }] },
    })
    let seen = ''
    for await (const chunk of await ask(front, '/message:stream', body)) {
      seen += chunk
      if (seen.includes('first ')) more.resolve()
    }
    expect(seen).toContain('second')
    expect(seen).toContain('TASK_STATE_COMPLETED')
    expect((await ask(front, '/metrics')).statusCode).toBe(404)
    expect((await ask(front, '/.well-known/agent-card.json')).statusCode).toBe(200)
    await close()
  })
})

/** Starts nginx with the file of the example, in front of a server on this machine; gives its port. */
async function startNginx(serverPort: number): Promise<number> {
  const place = temporary()
  const [plain, tls] = [await freePort(), await freePort()]
  writeFileSync(join(place, 'cert.pem'), selfSigned.cert)
  writeFileSync(join(place, 'key.pem'), selfSigned.key)
  const site = read('nginx.conf')
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${tls} ssl http2;`)
    .replace(/ssl_certificate .*;/, `ssl_certificate ${place}/cert.pem;`)
    .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${place}/key.pem;`)
    .replace('127.0.0.1:3000', `127.0.0.1:${serverPort}`)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temp.map((kind) => `${kind}_temp_path ${place}/${kind};`).join(' ')
  const main = `daemon off; pid ${place}/pid; error_log stderr notice;
events {}
http { access_log off; ${paths}
${site}}`
  writeFileSync(join(place, 'nginx.conf'), main)
  const started = startProcess('nginx', ['-p', place, '-c', join(place, 'nginx.conf')])
  await started.seen(/start worker process /)
  return tls
}

/** Asks nginx under the name of the example. */
function ask(port: number, path: string, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: body === undefined ? 'GET' : 'POST',
        rejectUnauthorized: false,
        headers: {
          host: 'agents.example.com',
          'a2a-version': '1.0',
          'content-type': 'application/json',
          // What a caller writes there is not believed.
          forwarded: 'for=1.2.3.4',
        },
      },
      resolve,
    )
    sent.on('error', reject).end(body)
  })
}
