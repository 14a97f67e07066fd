import type { TomlError } from 'smol-toml'
import { ConfigError } from './problems.ts'

/** What the parser says of a text that is not TOML, with what was probably meant. */
export function toSyntaxError(error: TomlError, text: string, file: string): ConfigError {
  const { line, column } = error
  const message = error.message.split('\n')[0] ?? 'not TOML'
  const hint = hintFor(message, text, (text.split(/\r?\n/)[line - 1] ?? '').slice(column - 1))
  const problem = { path: [], line, column, message, ...(hint && { hint }) }
  return new ConfigError(file, [problem], { cause: error })
}

/** `rest` is what stands from the fault to the end of its line. */
function hintFor(message: string, text: string, rest: string): string | undefined {
  if (/^\s*\{/.test(text)) return 'this is JSON; Corral reads TOML, as "corral init" writes it'
  if (rest.startsWith(':')) return 'this looks like YAML; TOML writes key = "value"'
  if (/^[“”„‘’‚«»`´]/.test(rest)) return 'use straight quotes: "'
  if (/redefine/.test(message))
    return 'a key, or a [table], stands once; several agents or teams are [[agents]] and [[teams]]'
  if (/escape/.test(message))
    return 'a backslash in "…" begins an escape; write \'…\' around such a text'
  if (/control characters|unfinished string/.test(message) && rest.trim() === '')
    return 'close the quote that is open, or use """ for a text of several lines'
  const [word] = /^[A-Za-z][\w./:-]*/.exec(rest) ?? []
  if (word && /invalid value/.test(message)) return `a text stands in quotes: "${word}"`
  return undefined
}
