import { describe, expect, test } from 'vitest'
import { receiveCard } from '../../../src/bindings/client-wire.ts'
import { toSupersetCard } from '../../../src/bindings/dialects/v03.ts'
import { skillSchemasExtension } from '../../../src/protocol/extensions.ts'
import type { AgentCard, SecurityScheme } from '../../../src/protocol/types.ts'
import { card03 } from '../card03.ts'
import { card } from '../scripted.ts'

const securitySchemes: Record<string, SecurityScheme> = {
  key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key', description: 'A key' } },
  bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
  code: {
    oauth2SecurityScheme: {
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://a.example/authorize',
          tokenUrl: 'https://a.example/token',
          scopes: { read: 'Reading' },
        },
      },
    },
  },
  machine: {
    oauth2SecurityScheme: {
      flows: { clientCredentials: { tokenUrl: 'https://a.example/token', scopes: {} } },
    },
  },
  oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://a.example/openid' } },
  mtls: { mtlsSecurityScheme: {} },
}
const secured: AgentCard = {
  ...card,
  securitySchemes,
  securityRequirements: [
    { schemes: { code: { list: ['read'] }, mtls: { list: [] } } },
    { schemes: { key: { list: [] } } },
  ],
  skills: [
    {
      id: 's',
      name: 'S',
      description: 'S',
      tags: ['s'],
      securityRequirements: [{ schemes: { key: { list: [] } } }],
    },
  ],
}
const only03 = secured.supportedInterfaces.filter(
  ({ protocolVersion }) => protocolVersion === '0.3',
)

describe('a card of 0.3', () => {
  test('comes back as the card it was, with the interfaces of 0.3', () => {
    expect(receiveCard(card03(secured))).toEqual({ ...secured, supportedInterfaces: only03 })
  })
})

describe('the superset card', () => {
  const sent = JSON.parse(JSON.stringify(toSupersetCard(secured, { stateManagement: true })))

  test('C-8 L004 is a card of 1.0 and of 0.3 at once, whose url serves the preferred transport', () => {
    expect(sent).toMatchObject({
      supportedInterfaces: secured.supportedInterfaces,
      securityRequirements: secured.securityRequirements,
      url: 'http://localhost:8000',
      preferredTransport: 'JSONRPC',
      protocolVersion: '0.3.0',
      security: [{ code: ['read'], mtls: [] }, { key: [] }],
      additionalInterfaces: [
        { url: 'http://localhost:8000', transport: 'JSONRPC' },
        { url: 'http://localhost:8000', transport: 'HTTP+JSON' },
      ],
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: {
        key: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'A key',
          apiKeySecurityScheme: { location: 'header' },
        },
        bearer: { type: 'http', scheme: 'Bearer', bearerFormat: 'JWT' },
        code: {
          type: 'oauth2',
          flows: {
            authorizationCode: {
              authorizationUrl: 'https://a.example/authorize',
              tokenUrl: 'https://a.example/token',
              scopes: { read: 'Reading' },
            },
          },
        },
        machine: {
          type: 'oauth2',
          flows: { clientCredentials: { tokenUrl: 'https://a.example/token', scopes: {} } },
        },
        oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://a.example/openid' },
        mtls: { type: 'mutualTLS' },
      },
      skills: [{ id: 's', security: [{ key: [] }] }],
    })
  })

  test('comes back as the canonical card', () => {
    const { securitySchemes: read, ...rest } = receiveCard(sent)
    const { securitySchemes: _, ...expected } = secured
    expect(rest).toEqual(expected)
    expect(read).toMatchObject(securitySchemes)
  })

  test('C-10 shows what 003 knows: state management, schemas of skills, the name of a provider', () => {
    const inputSchema = {
      type: 'object',
      properties: { topic: { type: 'string' } },
      required: ['topic'],
    }
    const withSchema: AgentCard = {
      ...card,
      capabilities: {
        ...card.capabilities,
        extensions: [{ uri: skillSchemasExtension, params: { research: { inputSchema } } }],
      },
    }
    expect(toSupersetCard(withSchema, { stateManagement: true })).toMatchObject({
      capabilities: { stateManagement: true },
      skills: [{ id: 'research', inputSchema }],
      provider: { name: 'Workshop Demo', organization: 'Workshop Demo' },
    })
  })

  test('has no field of 0.3 that would promise an interface which is not there', () => {
    const modern = { ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 1) }
    expect(toSupersetCard(modern)).not.toHaveProperty('url')
  })
})

describe('a card from elsewhere', () => {
  test('L008 without a transport means JSONRPC, and the main url occurs once', () => {
    const read = receiveCard({
      name: 'A',
      url: 'https://a.example',
      protocolVersion: '0.3.0',
      additionalInterfaces: [
        { url: 'https://a.example', transport: 'JSONRPC' },
        { url: 'https://a.example/v1', transport: 'HTTP+JSON' },
      ],
    })
    expect(read.supportedInterfaces).toEqual([
      { url: 'https://a.example', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: 'https://a.example/v1', protocolBinding: 'HTTP+JSON', protocolVersion: '0.3' },
    ])
  })

  test('C-35 may name its security as a list of schemes (001)', () => {
    const read = receiveCard({ name: 'A', url: 'https://a.example', security: ['bearer', 'key'] })
    expect(read.securityRequirements).toEqual([
      { schemes: { bearer: { list: [] } } },
      { schemes: { key: { list: [] } } },
    ])
  })

  test('keeps the first of several OAuth flows and drops schemes that are none', () => {
    const flows = {
      password: { scopes: {} },
      clientCredentials: { tokenUrl: 'https://t.example', scopes: {} },
    }
    const read = receiveCard({
      name: 'A',
      url: 'https://a.example',
      securitySchemes: { o: { type: 'oauth2', flows }, odd: { type: 'magic' }, $case: 7 },
    })
    expect(read.securitySchemes).toEqual({
      o: { oauth2SecurityScheme: { flows: { clientCredentials: flows.clientCredentials } } },
    })
  })

  test('C-10 may name its provider in 003’s words', () => {
    const read = receiveCard({
      name: 'A',
      url: 'https://a.example',
      provider: { name: 'Workshop Demo' },
    })
    expect(read.provider).toEqual({ organization: 'Workshop Demo', url: '' })
  })

  test.each([null, 7, [], {}, { url: 'x' }])('that is %j is refused', (value) => {
    expect(() => receiveCard(value)).toThrow('no name')
  })
})
