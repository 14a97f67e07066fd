/** A built-in domain that had another name once. Results that were written then are still of the same domain. */
const renamed: Readonly<Record<string, string>> = { airline: 'kestrel' }

/** Gives the name that a domain has today, by its name then. */
export function presentName(name: string): string {
  return Object.hasOwn(renamed, name) ? (renamed[name] ?? name) : name
}

/** The name that a domain had first: what it is known by where old results must stay comparable. */
export function firstName(name: string): string {
  return Object.entries(renamed).find(([, present]) => present === name)?.[0] ?? name
}
