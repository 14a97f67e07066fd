import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../src/app/config/load.ts'
import { serveConfig } from '../../src/app/serve.ts'
import { corral } from '../cli/corral.ts'
import { describePostgres, usePostgres } from '../support/postgres.ts'

const folder = join(import.meta.dirname, '../../examples/scale')
const texts = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])

describe('the files of several replicas', () => {
  test('start the command only with flags that it has', async () => {
    const { stdout } = await corral(['serve', '--help'])
    const lines = texts.flatMap(([, text = '']) =>
      [...text.matchAll(/corral serve ([^"\n]*)/g)].map(([, rest = '']) => rest),
    )
    expect(lines.length).toBeGreaterThanOrEqual(2)
    for (const line of lines)
      for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(stdout).toContain(`  ${flag} `)
  })

  test('start the program itself, for npx would not pass on the signal to hand over', () => {
    for (const name of ['compose.yaml', 'kubernetes.yaml', 'corral@.service']) {
      const lines = readFileSync(join(folder, name), 'utf8').split('\n')
      const [started, ...others] = lines.filter((line) => /^(?!\s*#).*\bserve\b/.test(line))
      expect(started).toMatch(/node_modules\/\.bin\/corral["']?,? ["']?serve/)
      expect(others).toEqual([])
    }
  })

  test('have no tabs in YAML, and close what they open elsewhere', () => {
    for (const [name = '', text = ''] of texts) {
      if (name.endsWith('.yaml')) expect(text).not.toContain('\t')
      if (name.endsWith('.conf')) expect(text.split('{')).toHaveLength(text.split('}').length)
    }
  })

  test('let events pass as they come, and wait for longer than a blocking send', () => {
    const [nginx = '', haproxy = ''] = ['nginx.conf', 'haproxy.cfg'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    )
    expect(nginx).toContain('proxy_buffering off;')
    expect(Number(/proxy_read_timeout (\d+)s/.exec(nginx)?.[1])).toBeGreaterThan(300)
    expect(Number(/timeout server (\d+)s/.exec(haproxy)?.[1])).toBeGreaterThan(300)
    expect(haproxy).toContain('option httpchk GET /health')
  })
})

describePostgres('the configuration of several replicas', () => {
  const database = usePostgres()

  test('is served by three of them, and each answers for the task of another', async () => {
    const schema = database.newSchema()
    const path = join(folder, 'corral.toml')
    const env = {
      DATABASE_URL: database.url,
      PUBLIC_URL: 'https://agents.example',
      API_TOKEN: 'secret',
    }
    const { server, ...config } = await loadConfig(path, env)
    const here = { ...server, postgres: { ...server.postgres, schema } }
    const start = async (): Promise<string> => {
      const options = { path, env, host: '127.0.0.1', port: 0, logger: false as const }
      const serving = await serveConfig({ ...config, server: here }, options)
      onTestFinished(() => serving.close())
      return `http://127.0.0.1:${serving.listening.port}`
    }
    const urls = [await start(), await start(), await start()]
    const headers = { authorization: 'Bearer secret' }
    const ask = async (url: string, method: string, params: unknown) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const sent = { ...headers, 'content-type': 'application/json', 'a2a-version': '1.0' }
      return (await fetch(url, { method: 'POST', headers: sent, body })).json()
    }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a fox' }] }
    const { result } = await ask(`${urls[0]}/`, 'SendMessage', { message })
    for (const url of urls) {
      const found = await ask(`${url}/`, 'GetTask', { id: result.task.id })
      expect(found.result.artifacts[0].parts[0].text).toContain('The end of a fox.')
      const health = await (await fetch(`${url}/health`, { headers })).json()
      expect(health.cluster.members).toHaveLength(3)
    }
  })
})
