import { describe, expect, test } from 'vitest'
import {
  findEmails,
  findSecrets,
  replaceSpans,
  ScanSteps,
} from '../../../src/agents/guards/secrets.ts'
import { inOnePiece } from '../../../src/shared/async.ts'
import { emails, harmless, named, noEmails, secrets } from './corpus.ts'

const without = (find: typeof findSecrets, text: string): string =>
  replaceSpans(text, inOnePiece(find(text, new ScanSteps(text))), '[…]')

describe('the search for secrets', () => {
  test('has a corpus worth the name', () => {
    expect(secrets.length + named.length).toBeGreaterThanOrEqual(40)
    expect(harmless.length).toBeGreaterThanOrEqual(40)
  })

  test.each([...secrets, ...named])('finds what is one in: %s', (text, secret) => {
    expect(without(findSecrets, text)).not.toContain(secret)
    expect(without(findSecrets, text)).toContain('[…]')
  })

  test.each(harmless)('leaves alone: %s', (text) => {
    expect(without(findSecrets, text)).toBe(text)
  })

  test('takes out every one of a text that has them all', () => {
    const all = [...secrets, ...named].filter(([, secret]) => !secret.includes('nothing more'))
    const left = without(findSecrets, all.map(([text]) => text).join('\n'))
    for (const [, secret] of all) expect(left).not.toContain(secret)
  })

  test('finds keys in quotes, brackets and at the ends of a text', () => {
    const [, key = ''] = secrets[7] ?? []
    for (const text of [key, `"${key}"`, `(${key})`, `key=${key}`, `${key}\n`, `,${key},`])
      expect(without(findSecrets, text)).not.toContain(key)
  })
})

describe('the search for email addresses', () => {
  test.each(emails)('finds the one in: %s', (text, email) => {
    expect(without(findEmails, text)).toBe(text.replace(email, '[…]'))
  })

  test.each(noEmails)('leaves alone: %s', (text) => {
    expect(without(findEmails, text)).toBe(text)
  })
})

/** What makes searches slow that begin again at every place. */
const hostile: readonly string[] = [
  ...['sk-', 'eyJ', 'eyJ.', '.eyJ', '-----BEGIN ', '-----BEGIN PRIVATE KEY-----', '://', 'a://b:'],
  ...['password=', 'api_key:', ':AA', 'Bearer ', 'ghp_a1', 'AKIA', 'a@', 'a.', '@a.b', '@', "'='"],
  ...['sk-a', 'eyJaaaaaaaaaa.eyJ', '-', '_', ':', '=', 'xoxb-1a-', 'pypi-a1', '1:AA', '-----END '],
]

describe('a text of whoever wants it to take long', () => {
  test.each(hostile)('costs steps in proportion to its length: %s', (piece) => {
    const stepsFor = (length: number): number => {
      const text = piece.repeat(Math.ceil(length / piece.length))
      const steps = [new ScanSteps(text), new ScanSteps(text)] as const
      inOnePiece(findSecrets(text, steps[0]))
      inOnePiece(findEmails(text, steps[1]))
      return (steps[0].used + steps[1].used) / text.length
    }
    const [short, long] = [stepsFor(2_000), stepsFor(200_000)]
    expect(long).toBeLessThan(64)
    expect(long).toBeLessThan(short * 1.5 + 1)
  })

  test('is given up when it costs more than its length allows', () => {
    const steps = new ScanSteps('short')
    expect(() => steps.spend(1_000_000)).toThrow('too long to search')
  })
})
