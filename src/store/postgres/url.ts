import { readUrl } from '../../shared/url.ts'

/** Tells whether a place of tasks is a PostgreSQL database rather than a file. */
export function isPostgresUrl(place: string): boolean {
  return /^postgres(?:ql)?:/i.test(place)
}

/** Gives a place of tasks as people may see it: of a URL its host, port and database, without who logs in. */
export function toShownStore(place: string): string {
  if (!isPostgresUrl(place)) return place
  const url = readUrl(place)
  return url ? `${url.protocol}//${url.host}${url.pathname}` : 'postgres://…'
}
