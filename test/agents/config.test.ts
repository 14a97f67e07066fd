import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AgentConfig,
  ConfigConversionError,
  toA2AAgentConfig,
  toConfiguredInfo,
  toOpenAIAgentConfig,
  validateA2AAgentConfig,
  validateOpenAIAgentConfig,
} from '../../src/agents/config.ts'

const a2a: AgentConfig = {
  id: 'writer',
  name: 'Writer',
  endpoint: 'http://127.0.0.1:4000',
  protocol: 'a2a',
}
const openai: AgentConfig = {
  ...a2a,
  endpoint: 'https://api.example.com/v1',
  protocol: 'openai',
  metadata: { api_key: 'sk-test' },
}

function faultOf(work: () => unknown): ConfigConversionError {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigConversionError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('the three faults of a conversion', () => {
  test('another protocol is named in words', () => {
    const error = faultOf(() => toA2AAgentConfig(openai))
    expect(error.message).toBe('Wrong protocol type: expected A2A, found OpenAI')
    expect(error.fault.variant).toBe('WrongProtocol')
    expect(faultOf(() => toOpenAIAgentConfig(a2a)).message).toBe(
      'Wrong protocol type: expected OpenAI, found A2A',
    )
  })

  test('an unknown protocol is refused, not taken for OpenAI', () => {
    // A configuration from JavaScript can hold any string; the type forbids it only in TypeScript.
    const config = { ...openai, protocol: 'grpc' as 'openai' }
    expect(faultOf(() => toOpenAIAgentConfig(config)).message).toContain('found grpc')
  })

  test('an empty endpoint is a missing field', () => {
    const error = faultOf(() => toA2AAgentConfig({ ...a2a, endpoint: '' }))
    expect(error.message).toBe('Missing required field: endpoint')
    expect(error.fault).toEqual({ variant: 'MissingField', field: 'endpoint' })
  })

  test('a wrong value is shown with its field and the reason', () => {
    const error = faultOf(() => toA2AAgentConfig({ ...a2a, timeoutSeconds: 0 }))
    expect(error.message).toBe(
      'Invalid field value for timeout_seconds: 0 (must be > 0 and <= 315360000 seconds (10 years))',
    )
    expect(error.fault.variant).toBe('InvalidValue')
  })
})

describe('ranges at both edges', () => {
  const accepts = (change: Partial<AgentConfig>, metadata = {}): boolean => {
    const config = { ...openai, ...change, metadata: { ...openai.metadata, ...metadata } }
    try {
      toOpenAIAgentConfig(config)
      return true
    } catch {
      return false
    }
  }

  test.each([
    [0, false],
    [-1, false],
    [0.001, true],
    [300, true],
    [86_400.5, true],
    [315_360_000, true],
    [315_360_001, false],
    [Number.NaN, false],
    [Number.POSITIVE_INFINITY, false],
  ])('timeout %d s is accepted: %s', (timeoutSeconds, expected) => {
    expect(accepts({ timeoutSeconds })).toBe(expected)
  })

  test.each([
    [-1, false],
    [0, true],
    [10, true],
    [11, false],
    [1.5, false],
  ])('%d retries are accepted: %s', (maxRetries, expected) => {
    expect(accepts({ maxRetries })).toBe(expected)
  })

  test.each([
    [-0.01, false],
    [0, true],
    ['0.7', true],
    [2, true],
    ['2.01', false],
    ['warm', false],
    ['', false],
    ['0x1', false],
  ])('temperature %s is accepted: %s', (temperature, expected) => {
    expect(accepts({}, { temperature })).toBe(expected)
  })

  test.each([
    [0, false],
    [1, true],
    ['4096', true],
    [4097, false],
    ['1.5', false],
  ])('max_tokens %s is accepted: %s', (max_tokens, expected) => {
    expect(accepts({}, { max_tokens })).toBe(expected)
  })

  test.each([
    ['ftp://example.com', false],
    ['example.com', false],
    ['http://user:secret@example.com', false],
    ['http://example.com', true],
    ['https://example.com/v1', true],
  ])('endpoint %s is accepted: %s', (endpoint, expected) => {
    expect(accepts({ endpoint })).toBe(expected)
  })
})

describe('an A2A agent', () => {
  test('takes the defaults of the origin', () => {
    expect(toA2AAgentConfig(a2a)).toEqual({
      endpoint: 'http://127.0.0.1:4000',
      timeoutSeconds: 30,
      maxRetries: 3,
      taskHandling: 'PollUntilComplete',
    })
  })

  test('keeps endpoint, timeout and key of the configuration', () => {
    const metadata = { api_key: 'k', bearer_token: 't', agent_id: 'remote-1' }
    const config = toA2AAgentConfig({ ...a2a, timeoutSeconds: 7, maxRetries: 0, metadata })
    expect(config).toEqual({
      endpoint: a2a.endpoint,
      agentId: 'remote-1',
      timeoutSeconds: 7,
      maxRetries: 0,
      auth: { type: 'api_key', key: 'k', header: 'X-API-Key' },
      taskHandling: 'PollUntilComplete',
    })
  })

  test('takes a bearer token, another header, or the auth block before both', () => {
    const authOf = (change: Partial<AgentConfig>) => toA2AAgentConfig({ ...a2a, ...change }).auth
    expect(authOf({ metadata: { bearer_token: 't' } })).toEqual({ type: 'bearer', token: 't' })
    expect(authOf({ metadata: { api_key: 'k', auth_header: 'X-Mine' } })).toMatchObject({
      header: 'X-Mine',
    })
    const auth = {
      type: 'oauth2',
      tokenUrl: 'https://id.example.com/token',
      clientId: 'c',
      clientSecret: 's',
    } as const
    expect(authOf({ auth, metadata: { api_key: 'k' } })).toEqual(auth)
  })

  test.each([
    ['poll', 'PollUntilComplete'],
    ['poll_until_complete', 'PollUntilComplete'],
    ['return', 'ReturnTaskInfo'],
    ['return_task_info', 'ReturnTaskInfo'],
    ['reject', 'RejectTasks'],
    ['reject_tasks', 'RejectTasks'],
  ])('task_handling %s means %s', (task_handling, expected) => {
    expect(toA2AAgentConfig({ ...a2a, metadata: { task_handling } }).taskHandling).toBe(expected)
  })

  test('an unknown task_handling is refused, not polled', () => {
    const error = faultOf(() => toA2AAgentConfig({ ...a2a, metadata: { task_handling: 'wait' } }))
    expect(error.message).toContain('metadata.task_handling: wait')
    expect(() => toA2AAgentConfig({ ...a2a, metadata: { task_handling: 'toString' } })).toThrow()
  })

  test('credentials must be usable', () => {
    const refuse = (auth: AgentConfig['auth']) =>
      faultOf(() => toA2AAgentConfig({ ...a2a, ...(auth && { auth }) })).message
    expect(refuse({ type: 'api_key', key: '' })).toContain('auth.key')
    expect(refuse({ type: 'api_key', key: 'k', header: 'two words' })).toContain('auth.header')
    expect(refuse({ type: 'bearer', token: 'a\nb' })).toContain('auth.token: [redacted]')
    expect(
      refuse({ type: 'oauth2', tokenUrl: 'nowhere', clientId: 'c', clientSecret: 's' }),
    ).toContain('auth.token_url')
  })
})

describe('credential origins', () => {
  test('are kept for an agent whose card may name them', () => {
    const credentialOrigins = ['https://api.example.com']
    expect(toA2AAgentConfig({ ...a2a, credentialOrigins })).toMatchObject({ credentialOrigins })
  })

  test('must be origins', () => {
    const refuse = (origin: string) =>
      faultOf(() => toA2AAgentConfig({ ...a2a, credentialOrigins: [origin] })).message
    expect(refuse('api.example.com')).toContain('credential_origins: api.example.com')
    expect(refuse('https://h.example/path')).toContain('must be an origin such as https://')
    expect(refuse('https://u:secret@h.example')).not.toContain('secret')
  })

  test('mean nothing to a model', () => {
    const config = {
      ...openai,
      metadata: { api_key: 'k' },
      credentialOrigins: ['https://h.example'],
    }
    expect(faultOf(() => toOpenAIAgentConfig(config)).message).toContain('credential_origins')
  })
})

describe('an OpenAI agent', () => {
  test('reads every setting from metadata, numbers as strings too', () => {
    const metadata = {
      api_key: 'sk-1',
      model: 'gpt-3.5-turbo',
      temperature: '0.5',
      max_tokens: '100',
      system_prompt: 'Be brief.',
    }
    expect(toOpenAIAgentConfig({ ...openai, metadata })).toEqual({
      endpoint: openai.endpoint,
      apiKey: 'sk-1',
      model: 'gpt-3.5-turbo',
      timeoutSeconds: 30,
      maxRetries: 3,
      temperature: 0.5,
      maxTokens: 100,
      systemPrompt: 'Be brief.',
    })
  })

  test('takes the key from the environment it is given, else says which field is missing', () => {
    const config = { ...openai, metadata: {} }
    expect(toOpenAIAgentConfig(config, { OPENAI_API_KEY: 'sk-env' }).apiKey).toBe('sk-env')
    expect(faultOf(() => toOpenAIAgentConfig(config)).message).toBe(
      'Missing required field: metadata.api_key',
    )
  })

  test.each([
    ...['http://localhost:11434/v1', 'http://127.0.0.1:8000/v1', 'http://[::1]:8000/v1'],
    ...['http://10.1.2.3/v1', 'http://ollama:11434/v1', 'http://gpu.internal/v1'],
  ])('needs no key at %s', (endpoint) => {
    const config = { ...openai, endpoint, metadata: {} }
    expect(toOpenAIAgentConfig(config)).not.toHaveProperty('apiKey')
  })

  test.each(['https://api.openai.com/v1', 'http://93.184.216.34/v1', 'https://a.example.com/v1'])(
    'needs one at %s',
    (endpoint) => {
      const config = { ...openai, endpoint, metadata: {} }
      expect(() => toOpenAIAgentConfig(config)).toThrow('metadata.api_key')
    },
  )

  test('the model is gpt-4 unless named, and never empty', () => {
    expect(toOpenAIAgentConfig(openai).model).toBe('gpt-4')
    const metadata = { ...openai.metadata, model: ' ' }
    expect(faultOf(() => toOpenAIAgentConfig({ ...openai, metadata })).message).toContain(
      'metadata.model',
    )
  })

  test('an OAuth2 block has no meaning for a model service', () => {
    const auth = {
      type: 'oauth2',
      tokenUrl: 'https://id.example.com/t',
      clientId: 'c',
      clientSecret: 's',
    } as const
    expect(faultOf(() => toOpenAIAgentConfig({ ...openai, auth })).message).toContain('auth.type')
  })
})

test('an error never shows a secret', () => {
  const printable = fc.string({ minLength: 6, maxLength: 20, unit: 'grapheme' })
  fc.assert(
    fc.property(printable, (secret) => {
      const spoiled = `${secret} \n`
      const error = faultOf(() =>
        toOpenAIAgentConfig({ ...openai, metadata: { api_key: spoiled } }),
      )
      expect(error.message).toBe(
        'Invalid field value for metadata.api_key: [redacted] (must be printable ASCII without spaces)',
      )
    }),
  )
})

test('settings and secrets do not show in the public metadata', () => {
  const metadata = { api_key: 'k', bearer_token: 't', model: 'm', region: 'eu', tier: 2 }
  expect(toConfiguredInfo({ ...a2a, metadata }).metadata).toEqual({ region: 'eu', tier: '2' })
})

test('a configuration that is already specific can be checked by itself', () => {
  const remote = toA2AAgentConfig(a2a)
  expect(validateA2AAgentConfig(remote)).toBe(remote)
  expect(() => validateA2AAgentConfig({ ...remote, endpoint: 'x' })).toThrow('endpoint')
  const model = toOpenAIAgentConfig(openai)
  expect(validateOpenAIAgentConfig(model)).toBe(model)
  expect(() => validateOpenAIAgentConfig({ ...model, apiKey: '' })).toThrow('for apiKey:')
})

describe('an agent made in code', () => {
  const { endpoint } = a2a
  const model = { endpoint, apiKey: 'k', model: 'm' }

  test('needs no more than a file does', () => {
    expect(validateA2AAgentConfig({ endpoint })).toEqual({ endpoint })
    expect(validateOpenAIAgentConfig(model)).toEqual(model)
  })

  test.each(['headers', 'extraBody'])(
    'may have null for %s, as JSON writes what is absent',
    (key) => {
      const model = { endpoint: 'https://a.example.com', model: 'm', [key]: null }
      expect(validateOpenAIAgentConfig(model)).toBe(model)
    },
  )

  test.each<readonly [string, () => unknown]>([
    ['timeoutSeconds', () => validateA2AAgentConfig({ endpoint, timeoutSeconds: 0 })],
    ['maxTaskSeconds', () => validateA2AAgentConfig({ endpoint, maxTaskSeconds: 0 })],
    ['maxRetries', () => validateOpenAIAgentConfig({ ...model, maxRetries: 11 })],
    ['agentId', () => validateA2AAgentConfig({ endpoint, agentId: ' ' })],
    ['credentialOrigins', () => validateA2AAgentConfig({ endpoint, credentialOrigins: ['x'] })],
    [
      'auth.tokenUrl',
      () => {
        const secrets = { tokenUrl: 'x', clientId: 'c', clientSecret: 's' }
        validateA2AAgentConfig({ endpoint, auth: { type: 'oauth2', ...secrets } })
      },
    ],
    // From JavaScript anything can stand there.
    ['taskHandling', () => validateA2AAgentConfig({ endpoint, taskHandling: 'poll' as never })],
  ])('is told of a wrong %s by the name that it has there', (key, check) => {
    expect(faultOf(check).message).toContain(`Invalid field value for ${key}: `)
  })
})
