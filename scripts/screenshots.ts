/**
 * `npm run screenshots [FOLDER]`: pictures of the console from a running demo: home, chat, graph, timeline and wire, light,
 * dark and at 390 pixels. Two of them stand in the README.
 */
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../test/support/browser.ts'

const root = join(import.meta.dirname, '..')
const folder = process.argv[2] ?? join(root, 'tmp/screenshots')

/** How the page is looked at. */
interface Look {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly colorScheme: 'light' | 'dark'
}

const looks: readonly Look[] = [
  { name: 'light', width: 1280, height: 800, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 800, colorScheme: 'dark' },
  { name: 'phone', width: 390, height: 844, colorScheme: 'light' },
  { name: 'phone-dark', width: 390, height: 844, colorScheme: 'dark' },
]

const question = 'A story about a lighthouse keeper who maps storms'

mkdirSync(folder, { recursive: true })
const home = mkdtempSync(join(tmpdir(), 'corral-screenshots-'))
const demo = spawn(
  process.execPath,
  [join(root, 'dist/cli/main.js'), 'demo', '--port', '0', '--store', join(home, 'demo.db')],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
const browser = await openBrowser()
try {
  const url = await urlOf()
  const task = await askStudio(browser, url)
  for (const look of looks) await takeAll(look, url, task)
  const pictures = join(root, 'docs/images')
  mkdirSync(pictures, { recursive: true })
  for (const name of ['graph-light', 'timeline-dark'])
    copyFileSync(join(folder, `${name}.webp`), join(pictures, `console-${name}.webp`))
} finally {
  await browser.close()
  demo.kill()
  rmSync(home, { recursive: true, force: true })
}

/** The console's address, as the demo prints it. */
async function urlOf(): Promise<string> {
  for await (const line of createInterface({ input: demo.stdout })) {
    const [url] = /http:\/\/\S+\/console\//.exec(line) ?? []
    if (url) return url
  }
  throw new Error('The demo did not say where its console is')
}

/** Has the studio work until it asks; gives back the task's id. */
async function askStudio(browser: Browser, url: string): Promise<string> {
  const page = await browser.newPage()
  await page.goto(`${url}#/chat/studio`)
  await page.getByRole('textbox', { name: 'Message' }).fill(question)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('button', { name: 'Approve' }).waitFor({ timeout: 120_000 })
  await page.getByRole('link', { name: 'What happened' }).last().click()
  await page.waitForURL(/#\/task\//)
  const [, id = ''] = /#\/task\/([^@?]+)/.exec(page.url()) ?? []
  await page.close()
  return id
}

async function takeAll(
  { name, width, height, colorScheme }: Look,
  url: string,
  task: string,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme })
  const page = await context.newPage()
  const take = async (what: string): Promise<void> => {
    await page.evaluate(() => document.fonts.ready)
    const path = join(folder, `${what}-${name}`)
    await page.screenshot({ path: `${path}.png` })
    // A third of the size, for the package.
    const tools = await context.newCDPSession(page)
    const { data } = await tools.send('Page.captureScreenshot', { format: 'webp', quality: 85 })
    writeFileSync(`${path}.webp`, data, 'base64')
  }
  const go = async (address: string, ready: string): Promise<void> => {
    await page.goto(`${url}${address}`)
    await page.locator(ready).first().waitFor()
  }
  await go('#/', '.stats')
  await take('home')
  await go('#/tasks?agent=studio&state=TASK_STATE_COMPLETED', '.task-row')
  await openConversation(page)
  await take('chat')
  await go('#/teams/studio', '.node.visited, .node.running')
  await page.setViewportSize({ width, height: height + 220 }) // the whole team
  await take('graph')
  await page.setViewportSize({ width, height })
  await go(`#/task/${task}`, '.lane .bar')
  await take('timeline')
  await go(`#/task/${task}?tab=wire`, '.frames')
  await take('wire')
  await go('#/tasks', '.task-row')
  await take('tasks')
  await context.close()
}

/** A conversation that has an answer, and a further question that is being worked on. */
async function openConversation(page: Page): Promise<void> {
  await page.locator('.task-row a').first().click()
  await page.locator('.head a').first().click()
  await page.locator('.said.answer').first().waitFor()
  await page.getByRole('textbox', { name: 'Message' }).fill('And one from the island behind it')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.work[open] li').nth(2).waitFor({ timeout: 60_000 })
}
