import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/release.ts', import.meta.url))
const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/loader.mjs', import.meta.url))
const scripts = ['build', 'check', 'test', 'package-check']
let home = ''
let root = ''

/** A repository whose scripts note that they ran, and whose version 0.1.0 is tagged. */
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'corral-release-'))
  root = join(home, 'wagon')
  mkdirSync(join(root, 'src/team'), { recursive: true })
  const note = (name: string): string =>
    `node -e "fs.appendFileSync(process.env.RAN, '${name} '); process.exit(Number(process.env.FAILS === '${name}'))"`
  const manifest = {
    name: 'wagon',
    version: '0.1.0',
    scripts: Object.fromEntries(scripts.map((name) => [name, note(name)])),
  }
  write('package.json', JSON.stringify(manifest, undefined, 2))
  write('package-lock.json', JSON.stringify({ ...manifest, lockfileVersion: 3, packages: {} }))
  write('.gitignore', '*.tgz\n')
  write('src/team/team.ts', '')
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n## 0.1.0 – 2026-01-01\n\nThe first.\n')
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.name', 'Test')
  git('config', 'user.email', 'test@example.invalid')
  commit('feat(team): begin')
  git('tag', 'v0.1.0')
})

afterEach(() => rmSync(home, { recursive: true }))

function write(file: string, text: string): void {
  writeFileSync(join(root, file), text)
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function commit(message: string): void {
  git('add', '.')
  git('commit', '--quiet', '--allow-empty', '--message', message)
}

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const ran = join(home, 'ran')
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', tsx, script, ...args],
    {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '', RAN: ran, ...env },
    },
  )
  return { status, stdout, stderr, ran: existsSync(ran) ? readFileSync(ran, 'utf8').trim() : '' }
}

describe('npm run release', () => {
  test('as a dry run tells the version and its section, runs the checks and changes nothing', () => {
    commit('fix(team): wake whoever sleeps')
    const told = '## Unreleased\n\n- Sleepers wake.\n'
    write('CHANGELOG.md', read('CHANGELOG.md').replace('## Unreleased\n', told))
    commit('docs: tell of the sleepers')
    commit('feat(team): let a team rest')
    commit('feat(examples): a team that rests')
    const head = git('rev-parse', 'HEAD')
    const { status, stdout, stderr, ran } = run(['--dry-run'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('wagon 0.2.0: 2 noticeable commits since v0.1.0')
    expect(stdout).toContain('- Sleepers wake.\n\n### Added\n\n- Let a team rest (team).\n')
    expect(stdout).not.toContain('Wake whoever sleeps')
    expect(stdout).toContain('Dry run: nothing was changed.')
    expect(ran).toBe('build check test package-check')
    expect([git('status', '--porcelain'), git('rev-parse', 'HEAD'), git('tag')]).toEqual([
      '',
      head,
      'v0.1.0',
    ])
    expect(existsSync(join(root, 'wagon-0.1.0.tgz'))).toBe(false)
  })

  test('changes version and changelog, packs, commits and tags, and leaves publishing to others', () => {
    commit('fix(team): wake whoever sleeps')
    const { status, stdout, ran } = run(['--no-test'])
    expect(status).toBe(0)
    expect(ran).toBe('build check package-check')
    expect(JSON.parse(read('package.json')).version).toBe('0.1.1')
    expect(JSON.parse(read('package-lock.json')).version).toBe('0.1.1')
    expect(read('CHANGELOG.md')).toMatch(
      /^# Changelog\n\n## Unreleased\n\n## 0\.1\.1 – \d{4}-\d\d-\d\d\n\n### Fixed\n\n- Wake/,
    )
    expect(git('status', '--porcelain')).toBe('')
    expect(git('log', '-1', '--format=%s %D')).toContain('release: 0.1.1 HEAD -> main, tag: v0.1.1')
    expect(git('tag', '--list', 'v0.1.1', '--format=%(contents)')).toContain('### Fixed')
    const packed = execFileSync('tar', ['-xzOf', 'wagon-0.1.1.tgz', 'package/package.json'], {
      cwd: root,
      encoding: 'utf8',
    })
    expect(JSON.parse(packed).version).toBe('0.1.1')
    expect(stdout).toContain('npm publish wagon-0.1.1.tgz')
  })

  test('refuses another branch, what is not committed, and a version that is past', () => {
    commit('fix(team): wake whoever sleeps')
    git('switch', '--quiet', '--create', 'side')
    write('src/team/new.ts', '')
    const refused = run([])
    expect(refused).toMatchObject({ status: 1, ran: '' })
    expect(refused.stderr).toContain('This is the branch side, not main.')
    expect(refused.stderr).toContain('?? src/team/new.ts')
    const past = run(['--version', '0.1.0'])
    expect(past).toMatchObject({ status: 1, stderr: '0.1.0 does not come after 0.1.0\n' })
  })

  test('has nothing to do where no commit is noticed', () => {
    commit('test(team): one more')
    expect(run([])).toMatchObject({
      status: 1,
      stderr: 'There is nothing since v0.1.0 that a user notices\n',
      ran: '',
    })
  })

  test('stops at a check that fails, with everything as it was', () => {
    commit('fix(team): wake whoever sleeps')
    const { status, stderr, ran } = run([], { FAILS: 'check' })
    expect({ status, ran }).toEqual({ status: 1, ran: 'build check' })
    expect(stderr).toContain('npm run --silent check failed')
    expect([git('status', '--porcelain'), git('tag')]).toEqual(['', 'v0.1.0'])
  })
})
