import { describe, expect, test } from 'vitest'
import { createGuard } from '../../src/network/guard.ts'
import { checkPushConfig } from '../../src/webhooks/webhooks.ts'

const guard = createGuard()
const url = 'https://hooks.example.com/a2a'

describe('a push config', () => {
  test('passes with a public URL and secrets that fit into headers', () => {
    const authentication = { scheme: 'Bearer', credentials: 'a.b-c_d~e+f/g=' }
    checkPushConfig(guard, { config: { url, token: 'tok en', authentication } })
    checkPushConfig(guard, { config: { url } })
  })

  test.each([
    ['url', { url: 'https://127.0.0.1/' }],
    ['token', { url, token: 'a\r\nHost: evil' }],
    ['token', { url, token: 'ключ' }],
    ['authentication.scheme', { url, authentication: { scheme: 'Bearer x\n' } }],
    ['authentication.scheme', { url, authentication: { scheme: '' } }],
    ['authentication.credentials', { url, authentication: { scheme: 'Basic', credentials: '\0' } }],
  ])('G019 is refused for its %s, named with its path and without its value', (field, config) => {
    const path = 'configuration.taskPushNotificationConfig'
    try {
      checkPushConfig(guard, { config, path })
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        code: 'invalidParams',
        details: { violations: [{ field: `${path}.${field}` }] },
      })
      expect(String(error)).not.toMatch(/evil|127/)
    }
  })
})
