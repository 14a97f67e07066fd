/**
 * The structure check: import directions (ARCHITECTURE §3), import cycles, `node:*` only where a file is Node's by
 * nature, default exports and forbidden file names. Prints one line per fault and exits 1.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dirname, '..', 'src')

/** Which folders a folder may import, besides itself. */
const allowed: Record<string, readonly string[]> = {
  shared: [],
  protocol: ['shared'],
  bindings: ['shared', 'protocol'],
  store: ['shared', 'protocol'],
  agents: ['shared', 'protocol', 'client'],
  streams: ['shared', 'protocol', 'store'],
  webhooks: ['shared', 'protocol', 'store', 'bindings'],
  engine: ['shared', 'protocol', 'store', 'agents', 'streams', 'webhooks'],
  operations: ['shared', 'protocol', 'store', 'agents', 'streams', 'webhooks', 'engine'],
  client: ['shared', 'protocol', 'bindings'],
  server: [
    'shared',
    'protocol',
    'bindings',
    'store',
    'agents',
    'streams',
    'webhooks',
    'engine',
    'operations',
  ],
  team: ['shared', 'protocol', 'bindings', 'agents', 'client', 'server', 'store', 'webhooks'],
  eval: ['shared', 'protocol', 'agents', 'client', 'server', 'team', 'store'],
  compat: ['shared', 'protocol', 'bindings', 'agents', 'client', 'server', 'store'],
  console: ['shared', 'protocol', 'server', 'client'],
  cli: [
    'shared',
    'protocol',
    'index.ts',
    'agents',
    'client',
    'server',
    'store',
    'team',
    'eval',
    'console',
  ],
  'index.ts': ['shared', 'protocol'],
}

/** Files of these folders (or these files) may use `node:*`. */
const nodeFolders = ['cli', 'console', 'eval', 'team', 'webhooks']
const nodeFiles = [
  'server/node.ts',
  'server/listen.ts',
  'server/a2a-server.ts',
  'store/sqlite',
  'agents/module.ts',
  'agents/mcp',
  'client/node.ts',
  'client/loopback.ts',
]

const faults: string[] = []
const files = list(root)
const graph = new Map(files.map((file) => [file, importsOf(file)]))
for (const [file, imports] of graph) checkFile(file, imports)
for (const cycle of findCycles()) faults.push(`import cycle: ${cycle.join(' -> ')}`)

for (const fault of faults) console.error(fault)
console.log(`${files.length} files checked, ${faults.length} faults`)
process.exit(faults.length > 0 ? 1 : 0)

function list(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function importsOf(file: string): { specifier: string; typeOnly: boolean }[] {
  const text = readFileSync(join(root, file), 'utf8')
  const statements = text.matchAll(
    /^(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm,
  )
  return [...statements].map((m) => ({
    specifier: m[2] ?? m[3] ?? '',
    typeOnly: m[1] !== undefined,
  }))
}

function checkFile(file: string, imports: { specifier: string }[]): void {
  const top = file.includes('/') ? file.slice(0, file.indexOf('/')) : file
  const may = allowed[top]
  if (!may) faults.push(`${file}: the folder ${top} is not in the layering table`)
  if (/(^|\/)(utils|helpers|common|constants)\.tsx?$/.test(file))
    faults.push(`${file}: forbidden name`)
  for (const { specifier } of imports) {
    if (specifier.startsWith('node:') && !mayUseNode(file))
      faults.push(`${file}: imports ${specifier}`)
    if (!specifier.startsWith('.')) continue
    const target = join(dirname(file), specifier)
    const targetTop = target.includes('/') ? target.slice(0, target.indexOf('/')) : target
    if (targetTop !== top && !may?.includes(targetTop))
      faults.push(`${file}: may not import ${target}`)
    if (top === 'cli' && targetTop !== 'cli' && targetTop !== 'shared' && !isEntry(target))
      faults.push(`${file}: cli imports public entry points only, not ${target}`)
  }
}

function isEntry(target: string): boolean {
  return target === 'index.ts' || target.endsWith('/index.ts')
}

function mayUseNode(file: string): boolean {
  return (
    nodeFolders.some((f) => file.startsWith(`${f}/`)) || nodeFiles.some((f) => file.startsWith(f))
  )
}

/** Cycles among value imports; a type-only import leaves nothing at run time. */
function findCycles(): string[][] {
  const cycles: string[][] = []
  const state = new Map<string, 'open' | 'done'>()
  const visit = (file: string, path: string[]): void => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      cycles.push([...path.slice(path.indexOf(file)), file])
      return
    }
    state.set(file, 'open')
    for (const { specifier, typeOnly } of graph.get(file) ?? [])
      if (specifier.startsWith('.') && !typeOnly)
        visit(join(dirname(file), specifier), [...path, file])
    state.set(file, 'done')
  }
  for (const file of files) visit(file, [])
  return cycles
}
