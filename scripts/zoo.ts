/**
 * Connects Corral with the frameworks of `scripts/zoo/animals`, both ways, without a model or a network beyond this
 * machine, and prints a matrix. Exits with 1 where a cell fails that `zoo/faults.ts` does not explain, or passes though
 * it does.
 *
 *   npm run zoo                       all of them: some minutes; installs them first, apart from the rest
 *   npm run zoo -- --only adk         one; may be repeated
 *   npm run zoo -- --json             the results for a program
 *   npm run zoo -- --record           puts the matrix into docs/conformance.md
 *   npm run zoo -- --newest           first brings each package to its newest version
 */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { faults } from './zoo/faults.ts'
import { type Found, judge, renderMatrix } from './zoo/matrix.ts'

const home = join(import.meta.dirname, 'zoo')
const page = join(import.meta.dirname, '../docs/conformance.md')
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    json: { type: 'boolean' },
    record: { type: 'boolean' },
    newest: { type: 'boolean' },
  },
})

await main()

async function main(): Promise<void> {
  const node = install()
  const all: Found[] = []
  for (const animal of readdirSync(join(home, 'animals')).map((file) => file.slice(0, -4))) {
    if (values.only && !values.only.includes(animal)) continue
    console.error(`${animal} …`)
    all.push(await visit(node, animal))
  }
  const day = new Date().toISOString().slice(0, 10)
  const run = { day, node: output(node, ['--version']).slice(1) }
  const complaints = judge(all, faults)
  const matrix = renderMatrix(all, faults, run)
  console.log(values.json ? JSON.stringify({ ...run, all, complaints }, null, 2) : matrix)
  for (const complaint of complaints) console.error(complaint)
  if (complaints.length > 0) process.exitCode = 1
  else if (values.record) record(matrix)
}

/** Installs the frameworks where that is due, and gives a Node that they run on: this one or a 22 of the registry. */
function install(): string {
  const installed = join(home, 'node_modules/.package-lock.json')
  const lock = join(home, 'package-lock.json')
  const quietly = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  if (values.newest) output('npm', ['install', '--save-exact', ...quietly, ...newest()])
  else if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs)
    output('npm', ['ci', ...quietly])
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath
  const name = `node-${process.platform}-${process.arch}`
  const place = join(home, 'node_modules/.node')
  if (!existsSync(place)) output('npm', ['install', '--prefix', place, ...quietly, `${name}@22`])
  return join(place, 'node_modules', name, 'bin/node')
}

/** What to install for the newest of each package; the SDK is there twice, in both of its generations. */
function newest(): readonly string[] {
  const { dependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const kept: Readonly<Record<string, string>> = {
    '@a2a-js/sdk': '0.3',
    'a2a-js-sdk-1': 'npm:@a2a-js/sdk@1',
  }
  return Object.keys(dependencies).map((name) => `${name}@${kept[name] ?? 'latest'}`)
}

function output(command: string, args: readonly string[]): string {
  const { status, stdout } = spawnSync(command, args, {
    cwd: home,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
  return stdout.trim()
}

/** Runs the cells of one framework in a process of its own; a framework that ends it has run none of them. */
async function visit(node: string, animal: string): Promise<Found> {
  const args = ['--import', 'tsx', join(home, 'pen.ts'), animal]
  const stdout = await new Promise<string>((resolve) => {
    const environment = { ...process.env, NODE_NO_WARNINGS: '1' }
    const options = { maxBuffer: 64 * 1024 * 1024, env: environment }
    execFile(node, args, options, (_error, text) => resolve(text))
  })
  const last = stdout.trim().split('\n').at(-1) ?? ''
  const { packages = [], cells = {} } = last.startsWith('{') ? JSON.parse(last) : {}
  return { animal, title: packages.map(versionOf).join(', ') || animal, cells }
}

/** A package with its version, by the name under which it is installed. */
function versionOf(installed: string): string {
  const file = join(home, 'node_modules', installed, 'package.json')
  const { name, version } = JSON.parse(readFileSync(file, 'utf8'))
  return `\`${name}\` ${version}`
}

/** The page with the matrix between the two comments that mark its place. */
function record(matrix: string): void {
  const [head, , tail] = readFileSync(page, 'utf8').split(/<!-- (?:zoo|end of zoo) -->/)
  writeFileSync(page, `${head}<!-- zoo -->\n${matrix}\n<!-- end of zoo -->${tail}`)
}
