/**
 * Makes a version: its number from the commits since the last tag, its section of CHANGELOG.md, the checks, the package,
 * a commit and a tag. It neither pushes nor publishes; it says how.
 *
 *   npm run release -- --dry-run          says what would come, runs the checks, changes nothing
 *   npm run release                       makes it; only on main, with nothing uncommitted
 *   npm run release -- --version 1.0.0    another number than the commits ask for
 *   npm run release -- --no-test          without `npm test`, for when it has just passed
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { hasUnreleased, release } from './release/changelog.ts'
import { type History, readHistory, runGit } from './release/repository.ts'
import { isAfter, nextVersion, riseOf } from './release/version.ts'

const { values: flags } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    'no-test': { type: 'boolean', default: false },
    version: { type: 'string' },
  },
})
const root = process.cwd()
// `npm run release --dry-run`, without the two dashes, tells npm instead of us.
const isDry = flags['dry-run'] || process.env.npm_config_dry_run === 'true'
const changelog = readText('CHANGELOG.md')
const manifest = JSON.parse(readText('package.json'))
const history = readHistory(root)

try {
  main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

function main(): void {
  const version = versionOf(history)
  const date = new Date().toISOString().slice(0, 10)
  const released = release(changelog, { version, date, untold: history.untold })
  const { last, noticed, untold } = history
  const since = last ? `since v${last}` : 'so far, and no tag'
  console.log(`${manifest.name} ${version}: ${noticed.length} noticeable commits ${since}\n`)
  console.log(released.section)
  if (untold.length > 0)
    console.log(
      `${untold.length} of its lines are commits. Put them into words: edit CHANGELOG.md.\n`,
    )
  if (!manifest.repository)
    console.log(
      'package.json has no repository: see "Before the first release" in CONTRIBUTING.md.\n',
    )
  const faults = faultsOf(history)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0 && !isDry) throw new Error('Nothing was changed.')
  check()
  if (isDry) tellPlan(version)
  else make(version, released)
  if (faults.length > 0) throw new Error('A release would be refused: see above.')
}

/** The number that was asked for, else the first one as the manifest has it, else what the commits ask for. */
function versionOf({ last, noticed }: History): string {
  if (flags.version !== undefined) {
    if (last !== undefined && !isAfter(flags.version, last))
      throw new Error(`${flags.version} does not come after ${last}`)
    return flags.version
  }
  if (last === undefined) return String(manifest.version)
  const rise = riseOf(noticed) ?? (hasUnreleased(changelog) ? 'patch' : undefined)
  if (rise === undefined) throw new Error(`There is nothing since v${last} that a user notices`)
  return nextVersion(last, rise)
}

function faultsOf({ branch, changed }: History): readonly string[] {
  return [
    ...(branch === 'main' ? [] : [`This is the branch ${branch || '(none)'}, not main.`]),
    ...(changed.length === 0 ? [] : [`Not committed:\n${changed.join('\n')}`]),
  ]
}

/** What a package must pass; the tests build it. */
function check(): void {
  const scripts = ['build', 'check', ...(flags['no-test'] ? [] : ['test']), 'package-check']
  for (const script of scripts) {
    console.log(`npm run ${script}`)
    runNpm(['run', '--silent', script])
  }
}

function tellPlan(version: string): void {
  console.log(
    `\nWould follow: version ${version} in package.json, package-lock.json and CHANGELOG.md,`,
  )
  console.log(`a commit and the tag v${version}, and ${manifest.name}-${version}.tgz.`)
  console.log('Dry run: nothing was changed.')
}

/** Packs before it commits, and puts everything back where packing fails. */
function make(version: string, { text, section }: { text: string; section: string }): void {
  const files = ['CHANGELOG.md', 'package.json', 'package-lock.json']
  const before = new Map(files.map((file) => [file, readText(file)]))
  try {
    writeFileSync(join(root, 'CHANGELOG.md'), text)
    runNpm(['version', version, '--no-git-tag-version', '--allow-same-version', '--silent'])
    runNpm(['pack', '--silent'])
    runGit(root, ['commit', '--quiet', '--message', `release: ${version}`, '--', ...files])
  } catch (error) {
    for (const [file, old] of before) writeFileSync(join(root, file), old)
    throw error
  }
  const notes = section.replace(/^## /, '')
  runGit(root, ['tag', '--annotate', `v${version}`, '--cleanup=verbatim', '--message', notes])
  console.log(
    `\nMade: the commit, the tag v${version}, ${manifest.name}-${version}.tgz. To publish them:`,
  )
  console.log(`  git push origin main v${version}`)
  console.log(`  npm publish ${manifest.name}-${version}.tgz`)
}

function runNpm(args: readonly string[]): void {
  const { status } = spawnSync('npm', args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed`)
}

function readText(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
