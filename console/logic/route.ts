import type { WireDialect } from '../../src/console/api.ts'

/** Where the reader is; the address after `#/` says it. */
export type Route =
  | { readonly view: 'home' }
  | { readonly view: 'chat'; readonly agent?: string; readonly context?: string }
  | { readonly view: 'teams'; readonly id?: string }
  | { readonly view: 'tasks'; readonly query: TaskFilters }
  | {
      readonly view: 'task'
      readonly id: string
      /** The record up to which the log is shown; all of it if absent. */
      readonly at?: number
      readonly tab: TaskTab
      readonly zoom: Zoom
      readonly dialect: WireDialect
    }
  | { readonly view: 'webhooks' }
  | { readonly view: 'agents'; readonly url?: string; readonly tab: AgentTab }

/** The tabs of a task's page. */
export type TaskTab = 'timeline' | 'graph' | 'wire'
/** The zooms of the timeline. */
export type Zoom = 'hops' | 'lanes' | 'records'
/** The tabs of a foreign agent's page. */
export type AgentTab = 'card' | 'chat' | 'tasks' | 'check'

/** What the list of tasks is narrowed to. */
export interface TaskFilters {
  readonly agent?: string
  readonly state?: string
  readonly context?: string
  readonly text?: string
}

const tabs: readonly TaskTab[] = ['timeline', 'graph', 'wire']
const zooms: readonly Zoom[] = ['lanes', 'hops', 'records']
const agentTabs: readonly AgentTab[] = ['card', 'chat', 'tasks', 'check']
/** The wires that the Wire tab offers, in its order. */
export const wireDialects: readonly WireDialect[] = [
  ...(['1.0', 'rest', '0.3', '1.0-rc', 'ranch', 'openai', 'webhook'] as const),
]
const filterNames = ['agent', 'state', 'context', 'text'] as const

/** Reads an address; what it does not know is Home. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = split(hash.replace(/^#?\/?/, ''), '?')
  const query = new URLSearchParams(search)
  const [view = '', ...rest] = path.split('/').map(decoded)
  const [first, second] = rest
  if (view === 'chat')
    return { view, ...(first && { agent: first }), ...(second && { context: second }) }
  if (view === 'teams') return { view, ...(first && { id: first }) }
  if (view === 'tasks') return { view, query: filtersOf(query) }
  if (view === 'task' && first) return taskRoute(first, query)
  if (view === 'webhooks') return { view }
  if (view === 'agents')
    return { view, tab: oneOf(agentTabs, query.get('tab')), ...(first && { url: first }) }
  return { view: 'home' }
}

/** Writes an address, `#` and all. */
export function toAddress(route: Route): string {
  switch (route.view) {
    case 'home':
      return '#/'
    case 'chat':
      return `#/${['chat', route.agent, route.context].flatMap(encoded).join('/')}`
    case 'teams':
      return `#/${['teams', route.id].flatMap(encoded).join('/')}`
    case 'tasks':
      return `#/tasks${toSearch({ ...route.query })}`
    case 'task':
      return taskAddress(route)
    case 'webhooks':
      return '#/webhooks'
    case 'agents': {
      const search = toSearch({ tab: route.tab === 'card' ? undefined : route.tab })
      return `#/${['agents', route.url].flatMap(encoded).join('/')}${search}`
    }
  }
}

/** The address of a task's page. */
export function taskLink(id: string, at?: number): string {
  const rest = { tab: 'timeline', zoom: 'lanes', dialect: '1.0' } as const
  return toAddress({ view: 'task', id, ...rest, ...(at !== undefined && { at }) })
}

function taskRoute(named: string, query: URLSearchParams): Route {
  const mark = named.lastIndexOf('@')
  const at = mark > 0 ? Number(named.slice(mark + 1)) : Number.NaN
  const isPlace = Number.isInteger(at) && at > 0
  return {
    view: 'task',
    id: isPlace ? named.slice(0, mark) : named,
    ...(isPlace && { at }),
    tab: oneOf(tabs, query.get('tab')),
    zoom: oneOf(zooms, query.get('zoom')),
    dialect: oneOf(wireDialects, query.get('dialect')),
  }
}

function taskAddress(route: Extract<Route, { readonly view: 'task' }>): string {
  const place = route.at === undefined ? '' : `@${route.at}`
  const search = toSearch({
    tab: route.tab === 'timeline' ? undefined : route.tab,
    zoom: route.zoom === 'lanes' ? undefined : route.zoom,
    dialect: route.tab === 'wire' && route.dialect !== '1.0' ? route.dialect : undefined,
  })
  return `#/task/${encodeURIComponent(route.id)}${place}${search}`
}

function filtersOf(query: URLSearchParams): TaskFilters {
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = query.get(name)
      return value ? [[name, value]] : []
    }),
  )
}

function toSearch(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value)
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function oneOf<T extends string>(all: readonly T[], value: string | null): T {
  const [first] = all
  const found = all.find((one) => one === value) ?? first
  if (found === undefined) throw new Error('There is nothing to choose from')
  return found
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

function encoded(part: string | undefined): string[] {
  return part ? [encodeURIComponent(part)] : []
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
