import { isFields } from '../../shared/json.ts'

/** What one replica tells another; how it is written stands in names.ts. */
type Notice =
  | { readonly kind: 'grown'; readonly tasks: readonly (readonly [id: string, version: number])[] }
  | { readonly kind: 'mail'; readonly taskId: string; readonly agent: string }
  | { readonly kind: 'deliveries'; readonly taskId: string }
  | { readonly kind: 'orphans' }

/** Reads a notice; undefined where it is none that this version knows. */
export function parseNotice(payload: string): Notice | undefined {
  const value = parse(payload)
  if (!isFields(value)) return undefined
  const { grown, mail, deliveries, orphans } = value
  if (Array.isArray(grown)) return { kind: 'grown', tasks: grown.filter(isGrowth) }
  if (Array.isArray(mail)) {
    const [taskId, agent]: unknown[] = mail
    if (typeof taskId === 'string' && typeof agent === 'string')
      return { kind: 'mail', taskId, agent }
  }
  if (typeof deliveries === 'string') return { kind: 'deliveries', taskId: deliveries }
  return orphans === true ? { kind: 'orphans' } : undefined
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    return undefined
  }
}

function isGrowth(value: unknown): value is readonly [string, number] {
  if (!Array.isArray(value)) return false
  const [id, version]: unknown[] = value
  return typeof id === 'string' && typeof version === 'number'
}
