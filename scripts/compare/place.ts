import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bytesIn } from '../package/limits.ts'
import { packInto } from '../package/tarball.ts'
import { type Place, type Side, sides } from './side.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** What an installation weighs. */
export interface Weight {
  readonly packages: number
  readonly bytes: number
  /** The package itself, without what it depends on. */
  readonly ownBytes: number
}

/** A place in which both sides are installed, and what that took. */
export interface Installed extends Place {
  readonly weights: Readonly<Record<Side, Weight>>
  readonly versions: Readonly<Record<Side, string>>
}

const names: Readonly<Record<Side, string>> = { corral: 'corral', peer: '@a2a-js/sdk' }

/** Installs both sides into new projects: what a server needs first, which is weighed, then what else is compared. */
export async function install(peerVersion: string): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'compare-'))
  const place: Place = { folder, home: (side) => join(folder, side) }
  const { path } = await packInto(folder, root)
  const wanted: Readonly<Record<Side, readonly string[]>> = {
    corral: [path],
    peer: [`@a2a-js/sdk@${peerVersion}`, 'express@5'],
  }
  const further: Readonly<Record<Side, readonly string[]>> = {
    corral: ['@modelcontextprotocol/server@2'],
    // A driver that has its binary in the registry, under the name by which the peer asks for one.
    peer: ['kysely@0.29', 'better-sqlite3@npm:libsql@0.5'],
  }
  const entries: [Side, { weight: Weight; version: string }][] = []
  for (const side of sides) {
    await begin(place.home(side), side)
    await add(place.home(side), wanted[side])
    entries.push([side, await weigh(place.home(side), names[side])])
    await add(place.home(side), [...further[side], '--legacy-peer-deps'])
  }
  const found = Object.fromEntries(entries) as Record<Side, { weight: Weight; version: string }> // one entry per side
  return {
    ...place,
    weights: { corral: found.corral.weight, peer: found.peer.weight },
    versions: { corral: found.corral.version, peer: found.peer.version },
  }
}

/** The peer's own command makes the tables of its store. */
export async function makeTables(place: Place, file: string): Promise<void> {
  const command = join(place.home('peer'), 'node_modules/.bin/a2a-db')
  await run(command, ['upgrade', '--url', `sqlite:${file}`], { cwd: place.home('peer') })
}

async function begin(home: string, side: Side): Promise<void> {
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }\n')
  await copyFile(join(import.meta.dirname, `servers/${side}.mjs`), join(home, `${side}.mjs`))
}

async function add(home: string, packages: readonly string[]): Promise<void> {
  await run('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages], { cwd: home })
}

async function weigh(home: string, name: string): Promise<{ weight: Weight; version: string }> {
  const modules = join(home, 'node_modules')
  const { packages } = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8'))
  const { version } = JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8'))
  const weight = {
    packages: Object.keys(packages).length,
    bytes: bytesIn(modules),
    ownBytes: bytesIn(join(modules, name)),
  }
  return { weight, version }
}
