import type { LookupFunction } from 'node:net'
import * as fc from 'fast-check'
import { request } from 'undici'
import { afterEach, describe, expect, test } from 'vitest'
import { createGuard, type Guard, type GuardOptions } from '../../src/network/guard.ts'
import { A2AError } from '../../src/protocol/errors.ts'
import { createReceiver, type Receiver } from '../webhooks/receiver.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const item of opened.splice(0)) await item.close()
})

function open(options?: GuardOptions): Guard {
  const guard = createGuard(options)
  opened.push(guard)
  return guard
}

async function openReceiver(): Promise<Receiver> {
  const receiver = await createReceiver()
  opened.push(receiver)
  return receiver
}

function isRefused(guard: Guard, url: string): boolean {
  try {
    guard.check(url)
    return false
  } catch (error) {
    expect(error).toBeInstanceOf(A2AError)
    expect(error).toMatchObject({ code: 'invalidParams' })
    return true
  }
}

/** Ranges that are not the public internet, written a second time as an oracle. */
const internal4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((range) => {
  const [network = '', bits] = range.split('/')
  const first = network.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return { first, last: first + 2 ** (32 - Number(bits)) - 1 }
})

const anInternal4 = fc
  .constantFrom(...internal4)
  .chain(({ first, last }) =>
    fc.oneof(fc.constantFrom(first, last), fc.integer({ min: first, max: last })),
  )

const aPublic4 = fc
  .integer({ min: 0, max: 2 ** 32 - 1 })
  .filter((n) => !internal4.some(({ first, last }) => n >= first && n <= last))

const bytes = (n: number): number[] =>
  [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256)
const dotted = (n: number): string => bytes(n).join('.')
const hex = (n: number): string => n.toString(16)
const groups = (n: number): string => `${hex(Math.floor(n / 65536))}:${hex(n % 65536)}`
const fullWidth = (text: string): string =>
  text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))

/** Every way to write an IPv4 address that a URL parser or a resolver understands. */
const spellings4: Record<string, (n: number) => string> = {
  dotted,
  decimal: (n) => `${n}`,
  hexadecimal: (n) => `0x${hex(n)}`,
  octal: (n) => `0${n.toString(8)}`,
  'hexadecimal parts': (n) =>
    bytes(n)
      .map((byte) => `0X${hex(byte).toUpperCase()}`)
      .join('.'),
  'octal parts': (n) =>
    bytes(n)
      .map((byte) => `00${byte.toString(8)}`)
      .join('.'),
  'two parts': (n) => `${Math.floor(n / 2 ** 24)}.${n % 2 ** 24}`,
  'three parts': (n) => `${bytes(n).slice(0, 2).join('.')}.${n % 65536}`,
  'trailing dot': (n) => `${dotted(n)}.`,
  'percent-encoded': (n) => dotted(n).replace(/\d/g, (digit) => `%3${digit}`),
  'full-width': (n) => fullWidth(dotted(n)),
  'ideographic stops': (n) => dotted(n).replaceAll('.', '。'),
}

/** IPv6 addresses that lead to the IPv4 address inside them. */
const embeddings: Record<string, (n: number) => string> = {
  mapped: (n) => `[::ffff:${dotted(n)}]`,
  'mapped in groups': (n) => `[0:0:0:0:0:FFFF:${groups(n)}]`,
  NAT64: (n) => `[64:ff9b::${dotted(n)}]`,
  'NAT64 in groups': (n) => `[0064:ff9b:0:0:0:0:${groups(n)}]`,
}

/** Retired embeddings, which no receiver needs. */
const retired: Record<string, (n: number) => string> = {
  compatible: (n) => `[::${dotted(n)}]`,
  '6to4': (n) => `[2002:${groups(n)}::1]`,
  'local NAT64': (n) => `[64:ff9b:1::${dotted(n)}]`,
  Teredo: (n) => `[2001:0:${groups(n)}::]`,
}

describe('the guard', () => {
  const guard = createGuard()
  const lenient = createGuard({ allowHttp: true })

  for (const [name, spell] of Object.entries({ ...spellings4, ...embeddings, ...retired }))
    test(`G015 K012 refuses every internal IPv4 address, ${name}`, () => {
      fc.assert(fc.property(anInternal4, (n) => isRefused(guard, `https://${spell(n)}:8443/hook`)))
    })

  for (const [name, spell] of Object.entries({ ...spellings4, ...embeddings }))
    test(`lets every public IPv4 address pass, ${name}`, () => {
      fc.assert(fc.property(aPublic4, (n) => !isRefused(guard, `https://${spell(n)}/hook`)))
    })

  test('refuses every IPv6 address outside 2000::/3 that holds no public IPv4 address', () => {
    const anAddress = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(anAddress, ([first = 0, ...rest]) => {
        fc.pre(first >> 13 !== 1 && first !== 0x64)
        fc.pre(first !== 0 || rest[4] !== 0xffff)
        return isRefused(guard, `https://[${[first, ...rest].map(hex).join(':')}]/`)
      }),
    )
  })

  test('lets a public IPv6 address pass', () => {
    guard.check('https://[2606:4700:4700::1111]/hook')
    guard.check('https://[2a00:1450:4001:81b::200e]:8443/hook')
  })

  test.each([
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fe80::1%25eth0]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[100::1]',
    '[2001:db8::1]',
    '[2001:2::1]',
    '[3fff::1]',
    '[5f00::1]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'localhost..',
    'a.localhost',
    'printer.local',
    'vault.internal',
    'metadata.google.internal',
    'metadata.google.internal.',
    'metadata.goog',
    'metadata',
    'kubernetes',
    'router.lan',
    'nas.home.arpa',
    'ip6-localhost',
    'localhost.localdomain',
    '%6c%6f%63%61%6c%68%6f%73%74',
    'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  ])('R-15 refuses the host %s', (host) => {
    expect(isRefused(guard, `https://${host}/hook`)).toBe(true)
    expect(isRefused(lenient, `http://${host}:8080/hook`)).toBe(true)
  })

  test('lets public names pass', () => {
    guard.check('https://hooks.example.com/a2a?x=1')
    guard.check('https://hooks.example.com.:8443/a2a')
    guard.check('https://localhost.example.com/')
    guard.check('https://bücher.example/')
  })

  test.each([1, 22, 25, 53, 79, 81, 110, 389, 445, 587, 993, 1023])(
    'refuses port %i, where another service than the web may listen',
    (port) => {
      expect(isRefused(guard, `https://hooks.example.com:${port}/`)).toBe(true)
      expect(isRefused(lenient, `http://8.8.8.8:${port}/`)).toBe(true)
    },
  )

  test('lets ports 80 and 443 and those above 1023 pass', () => {
    for (const port of [80, 443, 1024, 8443, 65_535])
      lenient.check(`https://hooks.example.com:${port}/`)
    lenient.check('http://hooks.example.com:443/')
  })

  test.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com',
    'javascript:1',
    '/hook',
    'example.com',
    '',
    'https://',
    'data:,x',
  ])('refuses what is no https URL: %s', (url) => {
    expect(isRefused(guard, url)).toBe(true)
    expect(isRefused(lenient, url)).toBe(true)
  })

  test('G019 refuses http unless it is allowed', () => {
    expect(isRefused(guard, 'http://hooks.example.com/')).toBe(true)
    expect(isRefused(lenient, 'http://hooks.example.com/')).toBe(false)
  })

  test('refuses a user name and a password', () => {
    expect(isRefused(guard, 'https://user@example.com/')).toBe(true)
    expect(isRefused(guard, 'https://:secret@example.com/')).toBe(true)
    expect(isRefused(createGuard({ allow: ['*'] }), 'https://user@example.com/')).toBe(true)
  })

  test.each([
    ['dots', `https://a${'.'.repeat(60_000)}b/`],
    ['a path', `https://example.com/${'a'.repeat(2_048)}`],
    ['a query', `https://example.com/?${'../webhooks/'.repeat(30_000)}`],
  ])('refuses a URL that is too long before looking at it: %s', (_name, url) => {
    const violation = { field: 'url', description: 'must have at most 2048 characters' }
    for (const one of [guard, createGuard({ allow: ['*'] })])
      expect(() => one.check(url)).toThrow(
        expect.objectContaining({ details: { violations: [violation] } }),
      )
    guard.check(`https://example.com/${'a'.repeat(2_000)}`)
  })

  test('refuses a host that is longer than a name can be', () => {
    const label = 'a'.repeat(62)
    guard.check(`https://${label}.${label}.${label}.example.com/`)
    expect(isRefused(guard, `https://${`${label}.`.repeat(4)}example.com/`)).toBe(true)
    expect(isRefused(guard, `https://a${'.'.repeat(1_900)}/`)).toBe(true)
  })

  test('names the field and not the address', () => {
    try {
      guard.check('https://user:secret@10.1.2.3/', 'configuration.taskPushNotificationConfig.url')
      expect.unreachable()
    } catch (error) {
      if (!(error instanceof A2AError)) throw error
      expect(error.details.violations?.[0]?.field).toBe(
        'configuration.taskPushNotificationConfig.url',
      )
      expect(JSON.stringify([error.message, error.details])).not.toMatch(/secret|10\.1/)
    }
  })
})

describe('the allow list', () => {
  test('opens a host on every port, in every spelling', () => {
    const guard = createGuard({ allow: ['Vault.Internal', '127.0.0.1', '::1'] })
    guard.check('https://vault.internal./')
    guard.check('https://vault.internal:8443/')
    guard.check('https://2130706433/')
    guard.check('https://[0:0:0:0:0:0:0:1]:99/')
    expect(isRefused(guard, 'https://127.0.0.2/')).toBe(true)
    expect(isRefused(guard, 'https://other.internal/')).toBe(true)
  })

  test('opens a host on one port only', () => {
    const guard = createGuard({ allow: ['localhost:9000', '[::1]:443'], allowHttp: true })
    guard.check('http://localhost:9000/')
    guard.check('https://[::1]/')
    expect(isRefused(guard, 'http://localhost:9001/')).toBe(true)
    expect(isRefused(guard, 'http://[::1]/')).toBe(true)
  })

  test('opens a port where it names the host, and not where it names a range', () => {
    const guard = createGuard({ allow: ['mail.internal:25', '10.1.0.0/16'] })
    guard.check('https://mail.internal:25/')
    guard.check('https://10.1.0.1:8443/')
    expect(isRefused(guard, 'https://10.1.0.1:25/')).toBe(true)
    createGuard({ allow: ['*'] }).check('https://10.1.0.1:25/')
  })

  test('opens a range of addresses and not the names of the network', () => {
    const guard = createGuard({ allow: ['10.1.0.0/16', 'fd00::/8'] })
    guard.check('https://10.1.255.255/')
    guard.check('https://[::ffff:10.1.0.1]/')
    guard.check('https://[fd12::1]/')
    expect(isRefused(guard, 'https://10.2.0.1/')).toBe(true)
    expect(isRefused(guard, 'https://vault.internal/')).toBe(true)
  })

  test('opens everything with a star, http excepted', () => {
    const guard = createGuard({ allow: ['*'] })
    guard.check('https://localhost/')
    guard.check('https://169.254.169.254/')
    expect(isRefused(guard, 'http://localhost/')).toBe(true)
  })

  test.each(['10.0.0.0/33', 'example.com/8', 'a:b', '', '10.0.0.0/', 'a b', '::1/129'])(
    'refuses the entry %j',
    (entry) => {
      expect(() => createGuard({ allow: [entry] })).toThrow(A2AError)
    },
  )
})

describe('the dispatcher', () => {
  const answering =
    (...addresses: string[]): LookupFunction =>
    (_hostname, options, callback) => {
      const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      if (options.all) callback(null, found)
      else callback(null, found[0]?.address ?? '', found[0]?.family)
    }

  const call = (guard: Guard, url: string): Promise<{ statusCode: number }> =>
    request(url, { dispatcher: guard.dispatcher })

  test('K012 refuses a public name that resolves to loopback, and nobody is called', async () => {
    const receiver = await openReceiver()
    const guard = open({ allowHttp: true, lookup: answering('127.0.0.1') })
    const url = `http://hooks.example.com:${receiver.port}/`
    guard.check(url)
    await expect(call(guard, url)).rejects.toBeInstanceOf(A2AError)
    expect(receiver.requests).toHaveLength(0)
  })

  test.each(['::ffff:127.0.0.1', '::1', 'fe80::1%lo', '64:ff9b::7f00:1', '10.0.0.1'])(
    'refuses an answer of %s, and one among public ones',
    async (address) => {
      const alone = open({ allowHttp: true, lookup: answering(address) })
      await expect(call(alone, 'http://hooks.example.com/')).rejects.toBeInstanceOf(A2AError)
      const mixed = open({ allowHttp: true, lookup: answering('93.184.216.34', address) })
      await expect(call(mixed, 'http://hooks.example.com/')).rejects.toBeInstanceOf(A2AError)
    },
  )

  test('refuses an empty answer, and passes a resolver error on', async () => {
    const empty = open({ allowHttp: true, lookup: answering() })
    await expect(call(empty, 'http://hooks.example.com/')).rejects.toBeInstanceOf(A2AError)
    const failing = open({
      allowHttp: true,
      lookup: (_hostname, _options, callback) =>
        callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), '', 0),
    })
    await expect(call(failing, 'http://hooks.example.com/')).rejects.toMatchObject({
      code: 'ENOTFOUND',
    })
  })

  test('refuses a literal address and a scheme even where nobody has checked the URL', async () => {
    const receiver = await openReceiver()
    await expect(call(open({ allowHttp: true }), receiver.url)).rejects.toBeInstanceOf(A2AError)
    const strict = open({ allow: ['*'] })
    await expect(call(strict, receiver.url)).rejects.toBeInstanceOf(A2AError)
    expect(receiver.requests).toHaveLength(0)
  })

  test('connects where the host, the port or the range is allowed', async () => {
    const receiver = await openReceiver()
    const lookup = answering('127.0.0.1')
    const named = open({ allowHttp: true, allow: [`hooks.internal:${receiver.port}`], lookup })
    const ranged = open({ allowHttp: true, allow: ['127.0.0.0/8'], lookup })
    expect((await call(named, `http://hooks.internal:${receiver.port}/`)).statusCode).toBe(200)
    expect((await call(ranged, `http://hooks.example.com:${receiver.port}/`)).statusCode).toBe(200)
    expect((await call(ranged, receiver.url)).statusCode).toBe(200)
    await expect(call(named, `http://hooks.internal:1/`)).rejects.toBeInstanceOf(A2AError)
  })

  test('closes twice without harm', async () => {
    const guard = createGuard()
    await guard.close()
    await guard.close()
  })
})
