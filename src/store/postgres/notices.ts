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
