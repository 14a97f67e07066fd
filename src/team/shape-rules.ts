import { nearest } from '../shared/nearest.ts'
import type { Refuse, TeamPath } from './faults.ts'

/** Refuses a value that is not what it must be, at its path. */
export type ShapeRule = (value: unknown, path: TeamPath, refuse: Refuse) => void

/** The rules of an object's keys. */
export type ShapeRules = Readonly<Record<string, ShapeRule>>

/** A rule that says what a value must be. */
export function mustBe(what: string, holds: (value: unknown) => boolean): ShapeRule {
  return (value, path, refuse) => {
    if (!holds(value)) refuse('invalidShape', `must be ${what}, not ${shown(value)}`, path)
  }
}

/** Takes whatever it is. */
export const anything: ShapeRule = () => {}
/** A text, also an empty one. */
export const text: ShapeRule = mustBe('a text', (value) => typeof value === 'string')
/** A text that says something. */
export const filled: ShapeRule = mustBe(
  'a text that says something',
  (value) => typeof value === 'string' && value !== '',
)
/** A number. */
export const number: ShapeRule = mustBe(
  'a number',
  (value) => typeof value === 'number' && !Number.isNaN(value),
)
/** An object. */
export const isTable: ShapeRule = mustBe(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)
const isList = mustBe('a list', Array.isArray)

/** A list of such values. */
export function list(item: ShapeRule): ShapeRule {
  return (value, path, refuse) => {
    isList(value, path, refuse)
    if (Array.isArray(value))
      for (const [index, one] of value.entries()) item(one, [...path, index], refuse)
  }
}

/** An object that has these keys and may have those, and no others. */
export function table(required: ShapeRules, optional: ShapeRules = {}): ShapeRule {
  const all = { ...required, ...optional }
  return (value, path, refuse) => {
    isTable(value, path, refuse)
    const entries = Object.entries(Object(value)).filter(([, given]) => given !== undefined)
    for (const [key] of entries)
      if (!Object.hasOwn(all, key)) refuse('invalidShape', unknown(key, all), [...path, key])
    const given = new Map<string, unknown>(entries)
    for (const key of Object.keys(required))
      if (!given.has(key)) refuse('invalidShape', 'is missing', [...path, key])
    for (const [key, inner] of given) all[key]?.(inner, [...path, key], refuse)
  }
}

function unknown(key: string, all: ShapeRules): string {
  const known = Object.keys(all)
  const meant = nearest(key, known)
  return `is no known key; ${meant ? `did you mean ${meant}?` : `known: ${known.join(', ')}`}`
}

/** A value in a few characters; secrets do not stand in teams. */
function shown(value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  if (typeof value === 'string') return `"${value.slice(0, 40)}"`
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
