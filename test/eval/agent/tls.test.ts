import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { run } from '../../../src/cli/program.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { agentMessage, v10Card } from '../serving.ts'
import { smallDomain } from '../small-domain.ts'

/** A certificate that nobody signed; undefined where there is no openssl to make one. */
async function selfSigned(): Promise<{ key: string; cert: string } | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'eval-tls-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const [keyFile, certFile] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject]
  try {
    execFileSync('openssl', [...options, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  return { key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8') }
}

describe('an agent behind a certificate that nobody signed', () => {
  test('is refused, and measured only when checks are turned off (S001-4, T-W8)', async () => {
    const certificate = await selfSigned()
    if (!certificate) return console.warn('NOT TESTED: there is no openssl to make a certificate')
    const server = createServer(certificate, async (incoming, outgoing) => {
      let body = ''
      for await (const chunk of incoming) body += chunk
      const result = { message: agentMessage([{ text: 'Sorry' }]) }
      const answer = body ? { jsonrpc: '2.0', id: JSON.parse(body).id, result } : v10Card(url)
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo // a listening TCP server has one
    const url = `https://localhost:${port}`
    const domain = smallDomain()
    await expect(runEvaluation({ agent: { endpoint: url }, domain })).rejects.toMatchObject({
      name: 'A2ADiscoveryError',
      message: expect.stringMatching(
        /^No agent card at https.*: its certificate is not trusted \(\w+\)/,
      ),
    })
    const output = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    expect(await run(['eval', 'run', url])).toBe(2)
    process.exitCode = 0
    const words = output.mock.calls.join('')
    output.mockRestore()
    expect(words).toContain('NODE_EXTRA_CA_CERTS=FILE, or try --agent-a2a-no-verify-ssl')
    const { summary } = await runEvaluation({ agent: { endpoint: url, verifySsl: false }, domain })
    expect(summary.measured).toBe(1)
  })
})
