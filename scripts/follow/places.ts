/**
 * The places in which pages are followed: a fresh clone, an empty folder, and a project of `npm init -y` with Corral
 * installed from its packed tarball. What is the same for all pages is made once and copied.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Place } from './steps.ts'

const run = promisify(execFile)

/** What pages are followed with. */
export interface Places {
  /** The packed package. */
  tarball(): Promise<string>
  /** Makes a place; its folder is new and nobody else's. */
  make(place: Place, folder: string): Promise<void>
  /** What a reader's environment has, with a home that is empty. */
  environment(home: string): Promise<Readonly<Record<string, string>>>
}

/** What somebody who writes TypeScript has beside Corral, in the versions of this repository. */
const typescriptTools = ['typescript', 'tsx', '@types/node']
const plainConfig = {
  compilerOptions: { target: 'es2022', module: 'nodenext', strict: true, noEmit: true },
}

/** Makes places of a repository, with what they share in a folder of their own. */
export function createPlaces(root: string, shared: string): Places {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

  const environment = createEnvironment()

  const npm = async (folder: string, args: readonly string[]): Promise<string> => {
    const home = join(shared, 'home')
    mkdirSync(home, { recursive: true })
    return (await run('npm', [...args], { cwd: folder, env: await environment(home) })).stdout
  }

  const tarball = once(async () => {
    const packed = await npm(root, ['pack', '--json', '--pack-destination', shared])
    const [{ filename }] = JSON.parse(packed)
    return join(shared, filename)
  })

  const project = once(async () => {
    const folder = join(shared, 'project')
    mkdirSync(folder)
    await npm(folder, ['init', '-y'])
    await npm(folder, ['install', await tarball()])
    return folder
  })

  const typescript = once(async () => {
    const folder = join(shared, 'typescript')
    await run('cp', ['-a', await project(), folder])
    const tools = typescriptTools.map((name) => `${name}@${manifest.devDependencies[name]}`)
    await npm(folder, ['install', '--save-dev', ...tools])
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(plainConfig, null, 2))
    return folder
  })

  const makers: Readonly<Record<Place, (folder: string) => Promise<unknown>>> = {
    clone: (folder) => run('git', ['clone', '--quiet', root, folder]),
    empty: async (folder) => mkdirSync(folder),
    project: async (folder) => run('cp', ['-a', await project(), folder]),
    typescript: async (folder) => run('cp', ['-a', await typescript(), folder]),
  }

  return {
    tarball,
    make: async (place, folder) => void (await makers[place](folder)),
    environment,
  }
}

/** Makes what a reader's environment has: nothing of this one but the way to commands and to the registry. */
function createEnvironment(): Places['environment'] {
  const npmConfig = once(async () => {
    // A reader's npm knows its registry; an empty home would hide it.
    const keys = ['registry', 'cache', 'userconfig']
    const get = async (key: string) => (await run('npm', ['config', 'get', key])).stdout.trim()
    return Promise.all(keys.map(async (key) => [`npm_config_${key}`, await get(key)] as const))
  })

  return async (home) => {
    const globals = join(home, '.npm-global')
    return {
      HOME: home,
      USER: 'reader',
      LANG: 'C.UTF-8',
      PATH: [join(globals, 'bin'), ...usualPath()].join(delimiter),
      ...ofNetwork(),
      ...Object.fromEntries(await npmConfig()),
      npm_config_prefix: globals,
      npm_config_prefer_offline: 'true',
      npm_config_update_notifier: 'false',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      // What a page did not install is a fault of the page, not something to fetch from strangers.
      npm_config_yes: 'false',
    }
  }
}

/** Where commands are found, without those that npm adds for its scripts. */
function usualPath(): readonly string[] {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.filter((folder) => !/node_modules\/\.bin|node-gyp-bin/.test(folder))
}

/** How this machine reaches the registry. */
function ofNetwork(): Readonly<Record<string, string>> {
  const names = /^((https?|no|all)_proxy|node_extra_ca_certs|ssl_cert_(file|dir))$/i
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) =>
      names.test(name) ? [[name, value]] : [],
    ),
  )
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
