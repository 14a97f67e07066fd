import { isFields } from '../../shared/json.ts'
import { maxNoticeBytes, type Names } from './names.ts'

/** The most that one entry may take; an id beyond it is found by those who look from time to time. */
const maxEntryBytes = 1_300

/**
 * A part of a statement, `told`, that tells the watchers of changed tasks how far these have come; whoever uses it must
 * read it. Within the statement that changes them no wake-up is lost; where nobody watches, nothing is sent, since notices
 * make commits wait for each other. `$1` is the replica that writes, which needs no telling.
 *
 * @param changed The part with `id`, `version` and `watchers` of the tasks.
 */
export function toldTo(changed: string, { channel }: Names): string {
  const perNotice = maxNoticeBytes - maxEntryBytes - 20
  return `told AS (SELECT pg_notify('${channel}_' || w, '{"grown":[' || string_agg(entry, ',') || ']}') FROM (
    SELECT w, entry, sum(octet_length(entry) + 1) OVER (PARTITION BY w ORDER BY id) / ${perNotice} AS part FROM (
      SELECT c.id, w, json_build_array(c.id, c.version)::text AS entry FROM ${changed} c, unnest(c.watchers) AS w
      WHERE w <> $1::int) e
    WHERE octet_length(entry) <= ${maxEntryBytes}) p GROUP BY w, part)`
}

/** What one replica tells another; written as names.ts says. */
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
