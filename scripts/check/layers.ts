import { folderOf, type Import, type Source, type Tree } from './tree.ts'

/** Which folders a folder may import, besides itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
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
  app: [
    ...['shared', 'protocol', 'network', 'bindings', 'store', 'agents', 'client', 'server', 'team'],
    'console',
  ],
  eval: ['shared', 'protocol', 'network', 'agents', 'client', 'server', 'team', 'store'],
  compat: ['shared', 'protocol', 'bindings', 'store', 'agents', 'client', 'server', 'team'],
  console: [
    ...['shared', 'protocol', 'network', 'bindings', 'store', 'agents', 'client', 'server', 'team'],
  ],
  testing: ['shared', 'protocol', 'agents'],
  cli: ['shared', 'protocol', 'client', 'agents', 'store', 'app', 'eval'],
  'index.ts': ['shared', 'protocol'],
  // The page's own rule is below.
  '../console': [],
}

/** The public subpaths: their `index.ts` names what people import, wherever it is defined. */
const entrances = [
  ...['server', 'client', 'agents', 'store', 'store/custom', 'team', 'eval', 'compat'],
  ...['testing', 'console'],
]

/** Files and folders that are Node's by nature. Everything else also runs in a browser or a worker. */
const nodeOnly = [
  ...['app/', 'cli/', 'console/', 'eval/', 'network/', 'testing/', 'webhooks/'],
  'server/node/',
  'store/postgres',
  'store/sqlite',
  'agents/module',
  'agents/mcp',
  'team/member-turn.ts',
  'client/node.ts',
  'client/loopback.ts',
]

const forbiddenName = /(?:^|\/)(?:utils|helpers|common|constants)\.tsx?$/

/** Import directions, entrances, `node:*` and file names (ARCHITECTURE.md, "Layout"). */
export function checkLayers(tree: Tree): string[] {
  return [...tree.values()].flatMap((source) => [
    ...faultsOfName(source.path),
    ...source.imports.flatMap((one) => faultOfImport(source, one)),
  ])
}

/** Whether a file is a public subpath's. */
export function isEntrance(path: string): boolean {
  return path === 'index.ts' || entrances.some((folder) => path === `${folder}/index.ts`)
}

function faultsOfName(path: string): string[] {
  const top = folderOf(path)
  if (!Object.hasOwn(allowed, top))
    return [`${path}: the folder ${top} is not in the layering table`]
  return forbiddenName.test(path) ? [`${path}: the name does not say what is inside`] : []
}

/** The console's page runs in a browser, and is bundled: it shares types with its server, and what is pure. */
const page = '../console/'
const sharedWithPage = [page, 'protocol/', 'shared/', 'console/api.ts']

function isOfPage(path: string, target: string): boolean {
  return path.startsWith(page) && sharedWithPage.some((one) => target.startsWith(one))
}

function faultOfImport({ path }: Source, { specifier, target }: Import): string[] {
  if (specifier.startsWith('node:') && !nodeOnly.some((one) => path.startsWith(one)))
    return [`${path}: imports ${specifier}`]
  if (target === undefined) return []
  if (path.startsWith(page) || target.startsWith(page))
    return isOfPage(path, target) ? [] : [`${path}: may not import ${target}`]
  const from = folderOf(path)
  const to = folderOf(target)
  if (isEntrance(path)) return []
  // The command takes what is public from the entrances, and the rest of what it shows from where that is.
  if (isEntrance(target) && from === 'cli') return []
  if (isEntrance(target))
    return [`${path}: imports the entrance ${target}; import the file that defines the name`]
  return from === to || allowed[from]?.includes(to) ? [] : [`${path}: may not import ${target}`]
}
