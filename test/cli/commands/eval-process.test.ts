import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2AClient } from '../../../src/client/client.ts'
import { createDeferred } from '../../../src/shared/async.ts'
import { agentSays, servePeer } from '../../eval/serving.ts'

const script = fileURLToPath(new URL('../../fixtures/eval/cli.ts', import.meta.url))

function start(
  ...args: readonly string[]
): ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, ['--import', 'tsx', script, 'eval', ...args])
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'eval-process-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

/** The URL that a served evaluator names. */
async function evaluatorUrl(child: { readonly stderr: NodeJS.ReadableStream }): Promise<string> {
  for await (const line of createInterface({ input: child.stderr })) {
    const url = /Evaluator at (\S+)/.exec(line)?.[1]
    if (url) return url
  }
  return ''
}

describe('corral eval as a process', () => {
  test('lets those in whom --caller names, and only them, also beyond loopback', async () => {
    const folder = await directory()
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'open-sesame\n')
    const where = ['--port', '0', '--host', '0.0.0.0', '--dir', folder]
    const child = start('serve', ...where, '--caller', `ann=file:${tokenFile}`)
    const url = await evaluatorUrl(child)
    const as = (token: string): A2AClient => {
      const headers = { authorization: `Bearer ${token}` }
      const client = new A2AClient({ serverUrl: url, headers })
      onTestFinished(() => client.close())
      return client
    }
    const answer = await as('open-sesame').sendMessage('list domains')
    expect(JSON.stringify(answer)).toContain('kestrel')
    await expect(as('guess').sendMessage('list domains')).rejects.toMatchObject({
      code: 'unauthenticated',
    })
  })

  test('serves the evaluator until it is told to end', async () => {
    const child = start('serve', '--port', '0', '--dir', await directory())
    const client = new A2AClient(await evaluatorUrl(child))
    onTestFinished(() => client.close())
    const card = await client.fetchAgentCard()
    expect(card.skills.map(({ id }) => id)).toEqual([
      'run_evaluation',
      'list_domains',
      'get_evaluation_results',
    ])
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(0)
  })

  test('that is interrupted keeps what is finished, exits 2, and says how to go on', async () => {
    const third = createDeferred<void>()
    const peer = await servePeer((_, index) => {
      if (index < 2) return agentSays('I cannot help.')
      third.resolve()
      return 'silence'
    })
    const saveTo = join(await directory(), 'run')
    const flags = ['--agent-a2a-endpoint', peer.url, '--max-concurrency', '1', '--save-to', saveTo]
    const child = start('run', ...flags, '--json')
    const [out, err] = [text(child.stdout), text(child.stderr)]
    await third.promise
    child.kill('SIGINT')
    expect((await once(child, 'exit'))[0]).toBe(2)
    expect(await err).toContain('2/20')
    expect(JSON.parse(await out)).toEqual({
      error: { message: 'Interrupted; go on with --resume' },
    })
    const journal = await readFile(join(saveTo, 'journal.jsonl'), 'utf8')
    expect(journal.trimEnd().split('\n')).toHaveLength(1 + 2)
  })
})
