import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createStoreKeeper } from '../../../src/store/copy.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/store.ts'
import { selfSigned } from '../../client/self-signed.ts'
import { createListener } from '../../contracts/feed/world.ts'
import { nativeFolder, type PostgresServer, startPostgres } from '../../support/postgres-server.ts'

/** The certificate of the tests' server is its own authority. */
const ca = selfSigned.cert
const anotherCa = rootCertificates[0] ?? ''

describe.skipIf(nativeFolder === undefined)('A PostgreSQL that speaks nothing but TLS', () => {
  let server: PostgresServer
  let folder: string
  const warnings: string[] = []
  const heard = (warning: Error) => warnings.push(warning.message)

  beforeAll(async () => {
    process.on('warning', heard)
    server = await startPostgres({ tls: { ...selfSigned, onlyTls: true } })
    folder = await mkdtemp(join(tmpdir(), 'corral-tls-'))
    await writeFile(join(folder, 'ca.pem'), ca)
  })
  afterAll(async () => {
    process.off('warning', heard)
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** Whether it opens, or why it does not. */
  async function opening(query: string, tls?: PostgresStoreOptions['tls']): Promise<string> {
    try {
      const url = `${server.url}${query}`
      const store = await openPostgresStore({ url, ...(tls !== undefined && { tls }) })
      await store.close()
      return 'opens'
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  it('opens where the authority is named, in the options or in the URL', async () => {
    expect(await opening('', { ca })).toBe('opens')
    const file = encodeURIComponent(join(folder, 'ca.pem'))
    expect(await opening(`?sslmode=verify-full&sslrootcert=${file}`)).toBe('opens')
    const keeper = createStoreKeeper(`${server.url}?sslrootcert=${file}&sslmode=require`)
    expect((await keeper.facts()).kind).toBe('postgres')
  })

  it('uses the named authority also where the URL has a mode', async () => {
    for (const mode of ['verify-full', 'verify-ca', 'require', 'prefer', 'allow'])
      expect(await opening(`?application_name=x&sslmode=${mode}`, { ca })).toBe('opens')
    expect(await opening('?sslmode=no-verify', { ca: anotherCa })).toBe('opens')
  })

  it('refuses a certificate that does not hold, and says what to name', async () => {
    for (const [query, tls] of [
      ['', true],
      ['', { ca: anotherCa }],
      ['?sslmode=require', undefined],
      ['?sslmode=require', { ca: anotherCa }],
    ] as const) {
      const said = await opening(query, tls)
      expect(said).toContain('its certificate is not trusted (')
      expect(said).toContain('ca in [server.postgres.tls]')
      expect(said).toContain('sslrootcert=FILE')
    }
  })

  it('says that it wants TLS to who comes without', async () => {
    expect(await opening('?sslmode=disable')).toContain('no encryption')
  })

  it('names the address past the pooler where only that one fails', async () => {
    const sessionUrl = 'postgres://localhost:1/elsewhere'
    const store = await openPostgresStore({ url: server.url, sessionUrl, tls: { ca } })
    try {
      const joined = store.feed.join([], createListener().listener)
      await expect(joined).rejects.toThrow(`Cannot open the task store ${sessionUrl}: `)
    } finally {
      await store.close()
    }
  })

  it('refuses a mode that there is not, instead of guessing', async () => {
    const said = await opening('?sslmode=requrie')
    expect(said).toContain('there is no sslmode "requrie"')
    expect(said).toContain('verify-full')
  })

  it('does not warn of a mode that means what it does', async () => {
    // The driver warns once per process, which may have been in a test before.
    for (const mode of ['require', 'prefer', 'verify-ca']) await opening(`?sslmode=${mode}`)
    expect(warnings).toEqual([])
  })
})

describe.skipIf(nativeFolder === undefined)('A PostgreSQL without TLS', () => {
  it('is refused where TLS is asked for, and the reason says so', async () => {
    const server = await startPostgres()
    try {
      const opened = openPostgresStore({ url: `${server.url}?sslmode=require` })
      await expect(opened).rejects.toThrow(/does not speak TLS.*sslmode=disable/)
    } finally {
      await server.stop()
    }
  })
})
