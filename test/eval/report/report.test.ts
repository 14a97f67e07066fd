import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { defineAgent } from '../../../src/agents/function.ts'
import { createGoldenAgent } from '../../../src/eval/agent/reference-agents.ts'
import { kestrel } from '../../../src/eval/domain/kestrel.ts'
import { toHtml, toJUnit, toMarkdown } from '../../../src/eval/report.ts'
import type { EvalResults } from '../../../src/eval/results/results.ts'
import type { Simulation } from '../../../src/eval/results/simulation.ts'
import { runEvaluation } from '../../../src/eval/run/evaluate.ts'
import { saveResults } from '../../../src/eval/run/journal.ts'
import { createServer, listen } from '../../../src/server/index.ts'

const browser = '/usr/bin/chromium'
const attack =
  '<img src=x onerror="document.title=\'broken\'"></pre><script>document.title="broken"</script>'
let results: EvalResults

/** The golden agent with a fault: it refuses what is about light fares, and says something nasty. */
beforeAll(async () => {
  const golden = createGoldenAgent(kestrel)
  const agent = defineAgent({ name: 'Half <golden>' }, (message, turn) =>
    JSON.stringify(message).includes('BK1008')
      ? turn.reply(`Sorry. ${attack}`)
      : golden.process(message, turn),
  )
  const server = await createServer({ agents: [agent] })
  const listening = await listen(server, { port: 0, host: '127.0.0.1' })
  const prices = { agent: { input_per_million: 2, output_per_million: 8 } }
  results = await runEvaluation({ agent: { endpoint: listening.url }, numTrials: 2, prices })
  const [first, ...rest] = results.simulations
  if (first)
    results = {
      ...results,
      simulations: [
        {
          ...first,
          termination_reason: 'infrastructure_error',
          error: 'Connection lost',
          reward_info: { ...first.reward_info, reward: null },
        },
        ...rest,
      ],
    }
  await listening.close()
})

describe('reports', () => {
  test('as JUnit count failures, errors and passes, and escape what was said', () => {
    const xml = toJUnit(results)
    expect(xml).toMatch(/<testsuites tests="40" failures="2" errors="1" skipped="0"/)
    expect(xml).toContain('classname="kestrel" name="change-light-upgraded #1"')
    expect(xml).toContain('<error message="infrastructure_error: Connection lost"/>')
    expect(xml).toContain('Half &lt;golden&gt;')
    expect(xml.match(/<testcase /g)).toHaveLength(40)
  })

  test('as Markdown show score, baseline, pass^k and every task', () => {
    const text = toMarkdown(results)
    expect(text).toContain('# Evaluation of Half &lt;golden> on kestrel')
    expect(text).toContain('| Doing nothing would score | 25.0 % |')
    expect(text).toMatch(/\| 2 \| 9\d\.\d % \| /)
    expect(text).toContain(
      '| change-light-upgraded | 2 | failed | user_stop | DB 0, COMMUNICATE 0 |',
    )
  })

  test('as HTML load nothing and run nothing', () => {
    const html = toHtml(results)
    expect(html).not.toMatch(/<script|src=["']?http|<link|@import|url\(/)
    expect(html).toContain("default-src 'none'")
    expect(html).toContain('&lt;script&gt;')
  })

  test('show what no page and no XML may hold as an escape', () => {
    const nasty = 'a\u0000b\u001b[31m\ufffe\ud800\u202e'
    const [first, ...rest] = results.simulations as [Simulation]
    const said = first.messages.map((message) => ({ ...message, content: nasty }))
    const one = { ...first, task_id: nasty, error: nasty, messages: said }
    const run = { ...results, simulations: [one, ...rest] }
    for (const text of [toHtml(run), toMarkdown(run), toJUnit(run)]) {
      expect(text).toContain('a\\u0000b\\u001b[31m\\ufffe\\ud800\\u202e')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(text).not.toMatch(/[\u0000-\u0008\u001b\ufffe\u202e]/)
    }
  })

  test('as HTML open in a browser: scores, charts, and conversations to read', async () => {
    if (!existsSync(browser)) return console.warn(`NOT TESTED: there is no ${browser}`)
    const directory = await mkdtemp(join(tmpdir(), 'eval-report-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    await saveResults(directory, results)
    const args = ['--no-sandbox', '--headless', '--disable-gpu', '--disable-background-networking']
    const running = await chromium.launch({ executablePath: browser, args })
    onTestFinished(() => running.close())
    const page = await running.newPage({ viewport: { width: 1000, height: 1400 } })
    const asked: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    page.on('pageerror', (error) => complaints.push(error.message))
    const url = pathToFileURL(join(directory, 'report.html')).href
    await page.goto(url)
    expect(await page.title()).toBe('Half <golden> on kestrel')
    expect(await page.locator('.tiles dd').first().innerText()).toMatch(/^9\d\.\d %/)
    expect(await page.locator('details.sim').count()).toBe(40)
    expect(await page.locator('figure svg rect').count()).toBeGreaterThan(40)
    const failed = page.locator('details.sim.failed').first()
    await failed.locator('summary').click()
    expect(await failed.locator('.talk').innerText()).toContain('<script>document.title')
    await page.locator('#only-failed').check()
    expect(await page.locator('details.sim.passed').first().isVisible()).toBe(false)
    expect(await failed.isVisible()).toBe(true)
    const picture = process.env.EVAL_REPORT_PICTURE
    if (picture) await page.screenshot({ path: picture, fullPage: true })
    expect(asked).toEqual([url])
    expect(complaints).toEqual([])
    expect(await page.title()).toBe('Half <golden> on kestrel')
  })

  test('lie beside the results in the directory of the run', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'eval-files-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    await saveResults(directory, results)
    expect(JSON.parse(await readFile(join(directory, 'results.json'), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(results)),
    )
    for (const name of ['report.md', 'junit.xml', 'metrics.json'])
      expect((await readFile(join(directory, name), 'utf8')).length).toBeGreaterThan(100)
  })
})
