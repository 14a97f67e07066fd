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
  network: ['shared', 'protocol'],
  bindings: ['shared', 'protocol'],
  store: ['shared', 'protocol'],
  client: ['shared', 'protocol', 'bindings', 'network'],
  agents: ['shared', 'protocol', 'network', 'client'],
  streams: ['shared', 'protocol', 'store'],
  webhooks: ['shared', 'protocol', 'network', 'store', 'bindings'],
  engine: ['shared', 'protocol', 'store', 'agents', 'streams'],
  operations: ['shared', 'protocol', 'store', 'agents', 'streams', 'engine'],
  server: [
    ...['shared', 'protocol', 'network', 'bindings', 'store', 'agents', 'streams', 'webhooks'],
    ...['engine', 'operations'],
  ],
  team: ['shared', 'protocol', 'bindings', 'agents', 'client'],
  app: ['shared', 'protocol', 'network', 'bindings', 'store', 'agents', 'client', 'server', 'team'],
  eval: ['shared', 'protocol', 'network', 'agents', 'client', 'server', 'team', 'store'],
  compat: ['shared', 'protocol', 'bindings', 'store', 'agents', 'client', 'server'],
  console: ['shared', 'protocol', 'server', 'client'],
  cli: ['shared', 'protocol', 'index.ts'],
  'index.ts': ['shared', 'protocol'],
}

/** The public subpaths. An entrance names what people import, wherever it stands; within `src` only the command uses them. */
const entrances = ['server', 'client', 'agents', 'store', 'team', 'eval', 'compat']

/** Files of these folders (or these files) may use `node:*`. */
const nodeFolders = ['app', 'cli', 'console', 'eval', 'network', 'webhooks']
const nodeFiles = [
  'server/node.ts',
  'server/node-handler.ts',
  'store/sqlite',
  'agents/module.ts',
  'agents/mcp',
  'team/child-turn.ts',
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
    if (isEntrance(target) && !isEntrance(file) && top !== 'cli')
      faults.push(`${file}: imports the entrance ${target}; import the file that defines the name`)
    else if (top === 'cli' && !['cli', 'shared'].includes(targetTop) && !isEntrance(target))
      faults.push(`${file}: cli imports public entrances only, not ${target}`)
    else if (targetTop !== top && !isEntrance(file) && top !== 'cli' && !may?.includes(targetTop))
      faults.push(`${file}: may not import ${target}`)
  }
}

function isEntrance(file: string): boolean {
  return file === 'index.ts' || entrances.some((folder) => file === `${folder}/index.ts`)
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
