import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EmailScan, replaceSpans, SecretScan } from '../../../src/agents/guards/secrets.ts'
import { emails, harmless, named, noEmails, secrets } from './corpus.ts'

type Scan = typeof SecretScan | typeof EmailScan

function without(Scan: Scan, text: string, length = text.length): string {
  const scan = new Scan(text)
  for (let from = 0; from < text.length; from += length)
    scan.look(from, Math.min(from + length, text.length))
  return replaceSpans(text, scan.found, '[…]')
}

describe('the search for secrets', () => {
  test('has a corpus worth the name', () => {
    expect(secrets.length + named.length).toBeGreaterThanOrEqual(40)
    expect(harmless.length).toBeGreaterThanOrEqual(40)
  })

  test.each([...secrets, ...named])('finds what is one in: %s', (text, secret) => {
    expect(without(SecretScan, text)).not.toContain(secret)
    expect(without(SecretScan, text)).toContain('[…]')
  })

  test.each(harmless)('leaves alone: %s', (text) => {
    expect(without(SecretScan, text)).toBe(text)
  })

  test('takes out every one of a text that has them all', () => {
    const all = [...secrets, ...named].filter(([, secret]) => !secret.includes('nothing more'))
    const left = without(SecretScan, all.map(([text]) => text).join('\n'))
    for (const [, secret] of all) expect(left).not.toContain(secret)
  })

  test('finds keys in quotes, brackets and at the ends of a text', () => {
    const [, key = ''] = secrets[7] ?? []
    for (const text of [key, `"${key}"`, `(${key})`, `key=${key}`, `${key}\n`, `,${key},`])
      expect(without(SecretScan, text)).not.toContain(key)
  })
})

describe('the search for email addresses', () => {
  test.each(emails)('finds the one in: %s', (text, email) => {
    expect(without(EmailScan, text)).toBe(text.replace(email, '[…]'))
  })

  test.each(noEmails)('leaves alone: %s', (text) => {
    expect(without(EmailScan, text)).toBe(text)
  })
})

/** What makes searches slow that begin again at every place. */
const hostile: readonly string[] = [
  ...['sk-', 'eyJ', 'eyJ.', '.eyJ', '-----BEGIN ', '-----BEGIN PRIVATE KEY-----', '://', 'a://b:'],
  ...['password=', 'api_key:', ':AA', 'Bearer ', 'ghp_a1', 'AKIA', 'a@', 'a.', '@a.b', '@', "'='"],
  ...['sk-a', 'eyJaaaaaaaaaa.eyJ', '-', '_', ':', '=', 'xoxb-1a-', 'pypi-a1', '1:AA', '-----END '],
]

/** What texts are made of that a search may stumble over: beginnings, names, signs and what stands between them. */
const pieces = fc
  .array(
    fc.constantFrom(
      ...hostile.filter((piece) => !piece.includes('-----')),
      ...[...secrets, ...named].map(([text]) => text).filter((text) => !/-----|\n/.test(text)),
      ...emails.map(([text]) => text),
      ...[
        'Pass_Word',
        'api-key',
        'pwd',
        'x',
        'a1b2c3d4e5f6',
        ' ',
        '"',
        "'",
        'é',
        '😀',
        '$',
        '/',
        '\0',
      ],
    ),
    { maxLength: 12 },
  )
  .map((list) => list.join(''))

describe.each([
  ['secrets', SecretScan],
  ['email addresses', EmailScan],
] as const)('the search for %s', (_, Scan) => {
  test('finds the same in whatever parts it looks at a text', () => {
    const property = fc.property(pieces, fc.integer({ min: 1, max: 40 }), (text, length) => {
      expect(without(Scan, text, length)).toBe(without(Scan, text))
    })
    fc.assert(property, { numRuns: 2_000 })
  })

  test('finds the same in a line whatever the lines around it are', () => {
    const property = fc.property(pieces, pieces, (one, other) => {
      expect(without(Scan, `${one}\n${other}`)).toBe(
        `${without(Scan, one)}\n${without(Scan, other)}`,
      )
    })
    fc.assert(property, { numRuns: 2_000 })
  })
})

test('a name says that a secret follows, however its words are written and separated', () => {
  const names = [
    'apikey',
    'clientsecret',
    'accesstoken',
    'authorization',
    'password',
    'passphrase',
    'pwd',
  ]
  const written = fc
    .tuple(fc.constantFrom(...names), fc.infiniteStream(fc.nat(5)))
    .map(([name, dice]) =>
      [...name]
        .map((letter) => {
          const number = dice.next().value
          if (number > 2) return letter
          return number === 0 ? letter.toUpperCase() : `${letter}${number === 1 ? '_' : '-'}`
        })
        .join(''),
    )
  const sign = fc.constantFrom('=', ':', ': ', ' = ', '": "', "'='")
  fc.assert(
    fc.property(written, sign, (name, between) => {
      expect(without(SecretScan, `${name}${between}a1b2c3d4e5f6g7h8`)).toBe(`${name}${between}[…]`)
      expect(without(SecretScan, `${name}s${between}a1b2c3d4e5f6g7h8`)).not.toContain('[…]')
    }),
    { numRuns: 500 },
  )
})

describe('a text of whoever wants it to take long', () => {
  test.each(hostile)('costs steps in proportion to its length: %s', (piece) => {
    const stepsFor = (length: number): number => {
      const text = piece.repeat(Math.ceil(length / piece.length))
      const scans = [new SecretScan(text), new EmailScan(text)]
      for (const scan of scans) scan.look(0, text.length)
      return scans.reduce((sum, { steps }) => sum + steps.used, 0) / text.length
    }
    const [short, long] = [stepsFor(2_000), stepsFor(200_000)]
    expect(long).toBeLessThan(64)
    expect(long).toBeLessThan(short * 1.5 + 1)
  })

  test('is given up when it costs more than its length allows', () => {
    const { steps } = new SecretScan('short')
    expect(() => steps.spend(1_000_000)).toThrow('too long to search')
  })
})
