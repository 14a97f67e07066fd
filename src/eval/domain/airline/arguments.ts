import type { JsonObject } from '../../../protocol/types.ts'

/** Reads a call's arguments by type; a wrong one is the caller's error. */
export interface Arguments {
  text(name: string): string
  texts(name: string): readonly string[]
  integer(name: string): number
  flag(name: string): boolean
}

/** Arguments of a call, read as they are asked for. */
export function readArguments(args: JsonObject): Arguments {
  const refuse = (name: string, type: string): never => {
    throw new Error(`${name} must be ${type}`)
  }
  return {
    text(name) {
      const value = args[name]
      return typeof value === 'string' ? value : refuse(name, 'a string')
    },
    texts(name) {
      const value = args[name]
      return Array.isArray(value) ? value.map(String) : refuse(name, 'a list of strings')
    },
    integer(name) {
      const value = args[name]
      return typeof value === 'number' && Number.isInteger(value)
        ? value
        : refuse(name, 'an integer')
    },
    flag(name) {
      const value = args[name]
      return typeof value === 'boolean' ? value : refuse(name, 'true or false')
    },
  }
}
