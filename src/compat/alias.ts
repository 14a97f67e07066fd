/**
 * An object with a second name for one of its members. The name can be read but is not written to the wire: it is not
 * the specification's, and strict readers refuse what they do not know.
 */
export function withAlias<T extends object, A extends object>(made: T, names: A): T & A {
  for (const [name, value] of Object.entries(names)) Object.defineProperty(made, name, { value })
  // true: each name of A has just been defined
  return made as T & A
}
