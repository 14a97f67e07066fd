import type { DialectName } from '../../protocol/call.ts'
import { A2AError } from '../../protocol/errors.ts'
import { isOperationName } from '../../protocol/operations.ts'
import type { Dialect } from './dialect.ts'
import { asRaw } from './lenient/raw.ts'
import { ranch } from './ranch/dialect.ts'
import { v03 } from './v03/dialect.ts'
import { rc, v10 } from './v10/dialect.ts'

/** The dialects of JSON-RPC by name. */
export const rpcDialects: Readonly<Record<RpcDialectName, Dialect>> = {
  '1.0': v10,
  '0.3': v03,
  '1.0-rc': rc,
  ranch,
}

/** A dialect that JSON-RPC can speak. */
export type RpcDialectName = Exclude<DialectName, '0.3-rest'>

/** What the choice of a dialect looks at. */
interface SelectInput {
  readonly method: string
  readonly params: unknown
  /** The `A2A-Version` of the request; empty if it has none. */
  readonly version: string
  /** What the path speaks when nothing else tells. */
  readonly fallback: RpcDialectName
}

/** The dialect of a request, and the version it asked for where nobody speaks that. */
interface Selection {
  readonly dialect: Dialect
  readonly unsupported?: string
}

const chosen: Readonly<Record<RpcDialectName, Selection>> = {
  '1.0': { dialect: v10 },
  '0.3': { dialect: v03 },
  '1.0-rc': { dialect: rc },
  ranch: { dialect: ranch },
}

const ranchOnly: ReadonlySet<string> = new Set([
  'task/get',
  'task/status',
  'task/cancel',
  'task/resubscribe',
  'agent/card',
])

/**
 * Chooses the dialect of a JSON-RPC request, by the first rule that applies:
 * 0. RANCH's own method names; 1. the version; 2. a PascalCase method is 1.0; 3. marks in the body;
 * 4. the path, or where its dialect has no such method, the one that has.
 */
export function selectDialect(input: SelectInput): Selection {
  const { version } = input
  if (version === '1.0' && !ranchOnly.has(input.method)) return chosen['1.0']
  const known = version === '' ? undefined : supportedVersion(version)
  const unsupported = version !== '' && known === undefined
  if (ranchOnly.has(input.method))
    return unsupported ? { dialect: ranch, unsupported: version } : chosen.ranch
  if (known !== undefined) return chosen[known]
  const name = byContent(input)
  return unsupported ? { dialect: rpcDialects[name], unsupported: version } : chosen[name]
}

/** The supported Major.Minor that a version names, its patch ignored (specification §3.6); undefined if none. */
export function supportedVersion(version: string): '1.0' | '0.3' | undefined {
  const match = /^(1\.0|0\.3)(?:\.\d+)?$/.exec(version)
  return match?.[1] === '1.0' ? '1.0' : match ? '0.3' : undefined
}

/** The refusal of a version that nobody here speaks. */
export function unsupportedVersion(version: string): A2AError {
  return new A2AError('versionNotSupported', `Protocol version ${version} is not supported`, {
    metadata: { supportedVersions: '1.0, 0.3' },
  })
}

function byContent(input: SelectInput): RpcDialectName {
  const { method, params, fallback } = input
  if (isOperationName(method)) return '1.0'
  return byMarks(params) ?? byPath(method, fallback)
}

function byMarks(params: unknown): RpcDialectName | undefined {
  const message = asRaw(asRaw(params)?.message)
  if (!message) return undefined
  const parts: readonly unknown[] = Array.isArray(message.parts) ? message.parts : []
  let type = false
  let kind = message.kind !== undefined
  for (const part of parts) {
    const raw = asRaw(part)
    if (raw?.kind !== undefined) kind = true
    if (raw?.type !== undefined) type = true
  }
  if (kind) return '0.3'
  if (type) return 'ranch'
  const { role } = message
  return typeof role === 'string' && role.startsWith('ROLE_') ? '1.0-rc' : undefined
}

function byPath(method: string, fallback: RpcDialectName): RpcDialectName {
  if (rpcDialects[fallback].methods.has(method)) return fallback
  if (v03.methods.has(method)) return '0.3'
  return rc.methods.has(method) ? '1.0-rc' : fallback
}
