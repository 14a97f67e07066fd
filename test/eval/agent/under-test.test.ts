import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createA2AConfig } from '../../../src/eval/agent/under-test.ts'
import { ValidationError } from '../../../src/eval/base.ts'

describe('AT-15 A2AConfig', () => {
  test('has the defaults of the seed and takes the trailing slash away', () => {
    const config = createA2AConfig({ endpoint: 'https://agent.example.com/' })
    expect(config).toEqual({ endpoint: 'https://agent.example.com', timeout: 300, verifySsl: true })
    expect(config.authToken).toBeUndefined()
  })

  test('refuses a timeout that is not positive, in the words of the seed', () => {
    const make = (timeout: number) => () =>
      createA2AConfig({ endpoint: 'https://x.example', timeout })
    expect(make(0)).toThrow(new ValidationError('timeout must be positive, got 0'))
    expect(make(-3)).toThrow('timeout must be positive, got -3')
    expect(make(1.5)).toThrow('timeout must be an integer, got 1.5')
    expect(make(100_000)).not.toThrow()
  })

  test('refuses an endpoint that is no HTTP URL, in the words of the seed', () => {
    const make = (endpoint: string) => () => createA2AConfig({ endpoint })
    expect(make('ftp://x')).toThrow('endpoint must start with http:// or https://, got ftp://x')
    expect(make('http://')).toThrow(ValidationError)
    expect(make('http://host:99999999')).toThrow('endpoint must be a valid URL')
  })

  test('refuses an endpoint with a password, since results and reports name the endpoint', () => {
    const make = () => createA2AConfig({ endpoint: 'https://me:very-secret@agent.example.com' })
    expect(make).toThrow('endpoint must not hold a user or password; use the auth token')
  })

  test('keeps the origins that may get the token too, and refuses what is none', () => {
    const make = (origin: string) =>
      createA2AConfig({ endpoint: 'https://x.example', credentialOrigins: [origin] })
    expect(make('https://api.example')).toMatchObject({
      credentialOrigins: ['https://api.example'],
    })
    expect(() => make('api.example')).toThrow('credential_origins: api.example must be an origin')
  })

  test('refuses an empty token and never shows one', () => {
    const endpoint = 'https://agent.example.com'
    expect(() => createA2AConfig({ endpoint, authToken: '' })).toThrow(
      'auth_token must be a non-empty',
    )
    const config = createA2AConfig({ endpoint, authToken: 'very-secret' })
    expect(config.authToken).toBe('very-secret')
    expect(JSON.stringify(config) + inspect(config) + inspect({ ...config })).not.toContain(
      'secret',
    )
  })
})
