import { describe, expect, test } from 'vitest'
import {
  type AgentInfo,
  checkCard,
  chooseInterface,
  isSemanticVersion,
  mediaTypeOf,
  renderCard,
  takesPart,
  toMajorMinor,
  validateAgentId,
} from '../../src/protocol/card.ts'
import { skillSchemasExtension } from '../../src/protocol/extensions.ts'
import { parseResult } from '../../src/protocol/schema.ts'
import type { AgentCard, AgentInterface, Part } from '../../src/protocol/types.ts'

const info: AgentInfo = {
  id: 'writer',
  name: 'Writer',
  description: 'Writes things.',
  capabilities: ['Creative Writing', 'research'],
  metadata: { team: 'press', secret: 'hunter2' },
}

const surroundings: Parameters<typeof renderCard>[1] = {
  interfaces: [
    { url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '0.3.0' },
  ],
  streaming: true,
  pushNotifications: false,
  extendedAgentCard: false,
}

function withDetails(details: AgentInfo['details']): AgentCard {
  return renderCard({ ...info, details: details ?? {} }, surroundings)
}

describe('a rendered card', () => {
  test('A003: has every required field, none of them empty', () => {
    const bare = { ...info, description: '', capabilities: [] }
    for (const card of [renderCard(info, surroundings), renderCard(bare, surroundings)]) {
      expect(checkCard(card)).toEqual([])
      expect(parseResult('GetExtendedAgentCard', card)).toBe(card)
    }
  })

  test('asks for what its server asks for, and else for what the agent does', () => {
    const own = [{ schemes: { own: { list: [] } } }]
    const common = [{ schemes: { common: { list: [] } } }]
    expect(withDetails({ securityRequirements: own }).securityRequirements).toEqual(own)
    const both = renderCard(
      { ...info, details: { securityRequirements: own } },
      { ...surroundings, securityRequirements: common },
    )
    expect(both.securityRequirements).toEqual(common)
  })

  test('shows abilities as skills', () => {
    const capabilities = [{ name: 'research', description: 'Finds sources', version: '1' }]
    expect(withDetails({ capabilities }).skills).toEqual([
      {
        id: 'creative-writing',
        name: 'Creative Writing',
        description: 'Creative Writing',
        tags: ['Creative Writing'],
      },
      { id: 'research', name: 'research', description: 'Finds sources', tags: ['research'] },
    ])
  })

  test('gives each skill an id of its own, whatever the abilities are called', () => {
    const capabilities = ['C++', 'c', '写作', '!!!', '???']
    const ids = renderCard({ ...info, capabilities }, surroundings).skills.map(({ id }) => id)
    expect(ids).toEqual(['c', 'c-2', '写作', 'skill', 'skill-2'])
  })

  test('without abilities has one skill: being itself', () => {
    const card = renderCard({ ...info, capabilities: [] }, surroundings)
    expect(card.skills).toEqual([
      { id: 'writer', name: 'Writer', description: 'Writes things.', tags: ['Writer'] },
    ])
  })

  test('declares the schemas of skills as an extension and keeps them out of the skills', () => {
    const skill = { id: 's', name: 'S', description: 'd', tags: ['t'] }
    const card = withDetails({ skills: [{ ...skill, inputSchema: { type: 'object' } }] })
    expect(card.skills).toEqual([skill])
    expect(card.capabilities.extensions).toEqual([
      {
        uri: skillSchemasExtension,
        description: 'JSON Schemas of the skills',
        params: { s: { inputSchema: { type: 'object' } } },
      },
    ])
  })

  test('tells the schema of its answers for each ability where there are no skills', () => {
    const outputSchema = { type: 'object' }
    expect(withDetails({ outputSchema }).capabilities.extensions).toMatchObject([
      {
        uri: skillSchemasExtension,
        params: { 'creative-writing': { outputSchema }, research: { outputSchema } },
      },
    ])
  })

  test('shows what the agent says of itself, and nothing that it does not say', () => {
    const details = {
      version: '2.1.0',
      provider: { organization: 'o', url: 'https://o.example' },
      documentationUrl: 'https://d.example',
      iconUrl: 'https://i.example',
      inputModes: ['text/html'],
      outputModes: ['image/png'],
    }
    const { inputModes, outputModes, ...shown } = details
    expect(withDetails(details)).toMatchObject({
      ...shown,
      defaultInputModes: inputModes,
      defaultOutputModes: outputModes,
    })
    const usual = ['text/plain', 'application/json']
    const empty = {
      version: '',
      documentationUrl: '',
      iconUrl: '',
      inputModes: [],
      outputModes: [],
    }
    for (const bare of [withDetails({}), withDetails(empty)]) {
      expect(Object.keys(bare).sort()).toEqual([
        ...['capabilities', 'defaultInputModes', 'defaultOutputModes', 'description', 'name'],
        ...['skills', 'supportedInterfaces', 'version'],
      ])
      expect(bare).toMatchObject({
        version: '1.0.0',
        defaultInputModes: usual,
        defaultOutputModes: usual,
      })
    }
    const outputSchema = { type: 'object' }
    expect(withDetails({ ...details, outputSchema }).defaultOutputModes).toEqual([
      'application/json',
    ])
  })

  test('shows what its server says of itself, which wins where both name a scheme', () => {
    const own = { apiKeySecurityScheme: { location: 'header', name: 'own' } } as const
    const common = { apiKeySecurityScheme: { location: 'query', name: 'common' } } as const
    const signatures = [{ protected: 'p', signature: 's' }]
    const card = renderCard(
      { ...info, details: { securitySchemes: { both: own, agent: own } } },
      {
        ...surroundings,
        pushNotifications: true,
        extendedAgentCard: true,
        securitySchemes: { both: common, server: common },
        securityRequirements: [],
        signatures,
      },
    )
    expect(card.securitySchemes).toEqual({ both: common, agent: own, server: common })
    expect(card).not.toHaveProperty('securityRequirements')
    expect(card.signatures).toEqual(signatures)
    expect(card.capabilities).toEqual({
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
    })
    const silent = renderCard(info, { ...surroundings, streaming: false, signatures: [] })
    expect(silent.capabilities.streaming).toBe(false)
    expect(silent).not.toHaveProperty('signatures')
  })

  test('fills what a skill leaves out with its name, and takes the schema of answers for each', () => {
    const skills = [
      { id: 'a', name: 'A', description: '', tags: [] },
      { id: 'b', name: 'B', description: 'd', tags: ['t'], outputSchema: { type: 'array' } },
      { id: 'c', name: 'C', description: 'd', tags: ['t'], inputSchema: { type: 'string' } },
    ]
    const card = withDetails({ skills, outputSchema: { type: 'object' } })
    expect(card.skills).toEqual([
      { id: 'a', name: 'A', description: 'A', tags: ['A'] },
      { id: 'b', name: 'B', description: 'd', tags: ['t'] },
      { id: 'c', name: 'C', description: 'd', tags: ['t'] },
    ])
    expect(card.capabilities.extensions?.[0]?.params).toEqual({
      a: { outputSchema: { type: 'object' } },
      b: { outputSchema: { type: 'array' } },
      c: { inputSchema: { type: 'string' }, outputSchema: { type: 'object' } },
    })
    const [alone] = withDetails({ skills }).capabilities.extensions ?? []
    expect(Object.keys(alone?.params ?? {})).toEqual(['b', 'c'])
  })

  test('names an ability once, and describes the one that is the agent itself', () => {
    const capabilities = ['Writer', 'other', 'Writer']
    expect(renderCard({ ...info, capabilities }, surroundings).skills).toEqual([
      { id: 'writer', name: 'Writer', description: 'Writes things.', tags: ['Writer'] },
      { id: 'other', name: 'other', description: 'other', tags: ['other'] },
    ])
  })

  test('A016: shows no patch level of the protocol', () => {
    const versions = renderCard(info, surroundings).supportedInterfaces.map(
      (i) => i.protocolVersion,
    )
    expect(versions).toEqual(['1.0', '0.3'])
  })

  test('A006: keeps the order of the interfaces', () => {
    const interfaces = ['GRPC', 'HTTP+JSON', 'JSONRPC'].map((protocolBinding) => ({
      url: 'https://a.example',
      protocolBinding,
      protocolVersion: '1.0',
    }))
    const card = renderCard(info, { ...surroundings, interfaces })
    expect(card.supportedInterfaces).toEqual(interfaces)
  })

  test('A010: shows nothing of the metadata', () => {
    expect(JSON.stringify(renderCard(info, surroundings))).not.toContain('hunter2')
  })

  test('streams only if both agent and server do', () => {
    expect(renderCard(info, surroundings).capabilities.streaming).toBe(true)
    expect(withDetails({ streaming: false }).capabilities.streaming).toBe(false)
  })

  test('declares an extension once, in the words of the server', () => {
    const extensions = [{ uri: 'urn:x', required: true }]
    const details = { extensions: [{ uri: 'urn:x' }, { uri: 'urn:y' }] }
    const card = renderCard({ ...info, details }, { ...surroundings, extensions })
    expect(card.capabilities.extensions).toEqual([
      { uri: 'urn:x', required: true },
      { uri: 'urn:y' },
    ])
  })
})

describe('a rendered card says', () => {
  const usual = ['text/plain', 'application/json']
  const schema = { type: 'object' }
  const skill = { id: 's', name: 'S', description: '', tags: [] }
  const own = { own: { mtlsSecurityScheme: {} } }

  test.each<[string, AgentInfo['details'], Partial<AgentCard>]>([
    ['the usual where nothing is said', {}, { version: '1.0.0', defaultInputModes: usual }],
    ['the usual version for none', { version: '' }, { version: '1.0.0' }],
    ['its version', { version: '2.1.0' }, { version: '2.1.0' }],
    ['its modes', { inputModes: ['a/b'], outputModes: ['c/d'] }, { defaultInputModes: ['a/b'] }],
    ['the modes of its answers', { outputModes: ['c/d'] }, { defaultOutputModes: ['c/d'] }],
    ['the usual modes for none', { inputModes: [], outputModes: [] }, { defaultInputModes: usual }],
    ['the usual answers for none', { outputModes: [] }, { defaultOutputModes: usual }],
    [
      'that answers with a schema are data',
      { outputModes: ['c/d'], outputSchema: schema },
      { defaultOutputModes: ['application/json'] },
    ],
    ['where its papers are', { documentationUrl: 'https://d' }, { documentationUrl: 'https://d' }],
    ['where its picture is', { iconUrl: 'https://i' }, { iconUrl: 'https://i' }],
    [
      'who runs it',
      { provider: { organization: 'o', url: 'u' } },
      { provider: { organization: 'o', url: 'u' } },
    ],
    ['the ways to authenticate', { securitySchemes: own }, { securitySchemes: own }],
    [
      'the name of a skill for its words',
      { skills: [skill] },
      { skills: [{ ...skill, description: 'S', tags: ['S'] }] },
    ],
  ])('%s', (_what, details, card) => {
    expect(withDetails(details)).toMatchObject(card)
  })

  test('nothing of what there is not', () => {
    const card = renderCard(
      { ...info, details: { securityRequirements: [] } },
      { ...surroundings, signatures: [] },
    )
    for (const name of [
      'provider',
      'documentationUrl',
      'iconUrl',
      'securitySchemes',
      'securityRequirements',
      'signatures',
    ])
      expect(card).not.toHaveProperty(name)
    expect(card.capabilities).toEqual({
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: false,
    })
  })

  test('what its server can do, and the ways to authenticate in its words', () => {
    const signatures = [{ protected: 'p', signature: 's' }]
    const server = { both: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }
    const details = { securitySchemes: { both: { mtlsSecurityScheme: {} }, ...own } }
    const card = renderCard(
      { ...info, details },
      {
        ...surroundings,
        streaming: false,
        pushNotifications: true,
        extendedAgentCard: true,
        signatures,
        securitySchemes: server,
      },
    )
    expect(card).toMatchObject({
      capabilities: { streaming: false, pushNotifications: true, extendedAgentCard: true },
      signatures,
    })
    expect(card.securitySchemes).toEqual({ ...server, ...own })
  })

  test('each ability once, and the schema of a skill before the common one', () => {
    const twice = renderCard({ ...info, capabilities: ['a', 'a'] }, surroundings)
    expect(twice.skills.map(({ id }) => id)).toEqual(['a'])
    const skills = [
      { ...skill, outputSchema: { type: 'string' } },
      { ...skill, id: 't' },
    ]
    const { extensions } = withDetails({ skills, outputSchema: schema }).capabilities
    expect(extensions?.[0]?.params).toEqual({
      s: { outputSchema: { type: 'string' } },
      t: { outputSchema: schema },
    })
  })
})

test.each([
  ['1.0', '1.0'],
  ['1.0.7', '1.0'],
  [' 10.20.30-rc ', '10.20'],
  [' v1 ', 'v1'],
  ['1', '1'],
])('the version %j of the protocol is %j without its patch level', (version, expected) => {
  expect(toMajorMinor(version)).toBe(expected)
})

test.each([
  [true, ['0.0.0', '1.2.3', '10.20.30', '1.0.0-rc.1', '1.0.0-rc-1+build.5', '1.0.0+b']],
  [
    false,
    [
      '',
      '1',
      '1.0',
      '01.0.0',
      '1.00.0',
      '1.0.00',
      'v1.0.0',
      '1.0.0-',
      '1.0.0+',
      '1.0.0-a..b',
      '1.0.0.0',
      '1.0.0\n',
    ],
  ],
])('a version is a semantic one, %j: %j', (is, versions) => {
  expect(versions.filter((version) => isSemanticVersion(version) !== is)).toEqual([])
})

describe('checking a card', () => {
  test('takes addresses of gRPC, and schemes of URLs in any case', () => {
    const of = (url: string, protocolBinding: string) => ({
      url,
      protocolBinding,
      protocolVersion: '1.0',
    })
    const supportedInterfaces = [of('a.example:443', 'GRPC'), of('HTTPS://a.example', 'JSONRPC')]
    expect(checkCard({ ...good, supportedInterfaces })).toEqual([])
    expect(checkCard({ ...good, supportedInterfaces: [of('', 'JSONRPC')] })).toEqual([
      { field: 'supportedInterfaces[0].url', description: 'must not be empty' },
    ])
    const bare = { ...of('http://a', ''), protocolVersion: '' }
    expect(checkCard({ ...good, supportedInterfaces: [bare] }).map(({ field }) => field)).toEqual([
      'supportedInterfaces[0].protocolBinding',
      'supportedInterfaces[0].protocolVersion',
    ])
  })

  test('names each repeated skill, and an unknown scheme once', () => {
    const asked = [{ schemes: { key: {}, other: {} } }, { schemes: { key: {} } }]
    const card = {
      ...good,
      skills: [skill, skill, skill],
      securitySchemes: { other: { mtlsSecurityScheme: {} } },
      securityRequirements: asked as never,
    }
    expect(checkCard(card)).toEqual([
      { field: 'skills[1].id', description: 's is taken' },
      { field: 'skills[2].id', description: 's is taken' },
      { field: 'securityRequirements', description: 'key is not declared' },
    ])
  })

  const good = renderCard(info, surroundings)
  const skill = { id: 's', name: 's', description: 's', tags: ['s'] }
  const face = { url: 'https://a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }

  test.each<[string, AgentInterface]>([
    ['an address of gRPC', { ...face, protocolBinding: 'GRPC', url: 'a.example:443' }],
    ['capitals', { ...face, url: 'HTTPS://A.EXAMPLE' }],
    ['plain http', { ...face, url: 'http://a' }],
  ])('finds nothing wrong with %s', (_name, choice) => {
    expect(checkCard({ ...good, supportedInterfaces: [choice] })).toEqual([])
  })

  test.each<[string, Partial<AgentCard>, string]>([
    ['an empty description', { description: '' }, 'description'],
    ['no skills', { skills: [] }, 'skills'],
    ['no output modes', { defaultOutputModes: [] }, 'defaultOutputModes'],
    ['a skill without tags', { skills: [{ ...skill, tags: [] }] }, 'skills[0].tags'],
    ['two skills with one id', { skills: [skill, skill] }, 'skills[1].id'],
    ['an empty name', { name: '' }, 'name'],
    ['an empty version', { version: '' }, 'version'],
    ['no interfaces', { supportedInterfaces: [] }, 'supportedInterfaces'],
    ['no input modes', { defaultInputModes: [] }, 'defaultInputModes'],
    ['a skill without an id', { skills: [skill, { ...skill, id: '' }] }, 'skills[1].id'],
    ['a skill without a name', { skills: [{ ...skill, name: '' }] }, 'skills[0].name'],
    ['a skill without words', { skills: [{ ...skill, description: '' }] }, 'skills[0].description'],
    ['an empty url', { supportedInterfaces: [{ ...face, url: '' }] }, 'supportedInterfaces[0].url'],
    [
      'an empty binding',
      { supportedInterfaces: [face, { ...face, protocolBinding: '' }] },
      'supportedInterfaces[1].protocolBinding',
    ],
    [
      'an empty version of the protocol',
      { supportedInterfaces: [{ ...face, protocolVersion: '' }] },
      'supportedInterfaces[0].protocolVersion',
    ],
    [
      'another protocol',
      { supportedInterfaces: [{ ...face, url: 'ftp://a' }] },
      'supportedInterfaces[0].url',
    ],
    [
      'a scheme that two requirements name',
      {
        securitySchemes: { known: {} as never },
        securityRequirements: [
          { schemes: { key: { list: [] } } },
          { schemes: { key: { list: [] }, known: { list: [] } } },
        ],
      },
      'securityRequirements',
    ],
    [
      'a patch level',
      {
        supportedInterfaces: [
          { url: 'http://a', protocolBinding: 'JSONRPC', protocolVersion: '1.0.0' },
        ],
      },
      'supportedInterfaces[0].protocolVersion',
    ],
    [
      'a relative url',
      {
        supportedInterfaces: [{ url: '/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      },
      'supportedInterfaces[0].url',
    ],
    [
      'a requirement without its scheme',
      { securityRequirements: [{ schemes: { key: {} } }] },
      'securityRequirements',
    ],
  ])('finds %s', (_name, fault, field) => {
    expect(checkCard({ ...good, ...fault }).map((problem) => problem.field)).toEqual([field])
  })
})

describe('the modes of an agent', () => {
  const text: Part = { text: 'hello' }
  const data: Part = { data: 1 }
  const patch: Part = { data: [], mediaType: 'application/merge-patch+json' }
  const listed: Part = { data: [], mediaType: 'text/json; charset=utf-8' }
  const image: Part = { raw: 'AAAA', mediaType: 'image/png' }
  const unknown: Part = { url: 'https://a.example/file' }
  const linked: Part = { url: 'https://a.example/file', mediaType: 'image/png' }
  const unsaid: Part = { text: 'a', mediaType: ' ; charset=utf-8' }
  const similar: Part = { text: 'a', mediaType: 'textual/plain' }

  test.each<[mode: string, takes: readonly Part[], refuses: readonly Part[]]>([
    ['text/plain', [text, unknown, unsaid], [data, image]],
    ['text/*', [text, listed], [similar]],
    ['TEXT/PLAIN; charset=utf-8', [text], [data]],
    ['text', [text, listed], [data, image, similar]],
    ['json', [data, patch, listed], [text, image]],
    ['data', [data, patch, listed], [text, image]],
    ['application/json', [data], [patch, listed, text]],
    ['image/*', [image], [text, data]],
    ['image', [image], [text, data]],
    ['file', [image, linked, unknown], [text, data]],
    ['*/*', [text, data, image], []],
    ['*', [text, data, image], []],
  ])('%s', (mode, takes, refuses) => {
    expect(takes.filter((part) => !takesPart(['application/pdf', mode], part))).toEqual([])
    expect(refuses.filter((part) => takesPart(['application/pdf', mode], part))).toEqual([])
  })
})

describe('choosing an interface', () => {
  const of = (protocolBinding: string, protocolVersion: string): AgentInterface => ({
    url: `https://a.example/${protocolBinding}/${protocolVersion}`,
    protocolBinding,
    protocolVersion,
  })
  const choose = (interfaces: AgentInterface[], bindings = ['JSONRPC', 'HTTP+JSON']) =>
    chooseInterface(
      { ...renderCard(info, surroundings), supportedInterfaces: interfaces },
      { bindings, versions: ['1.0', '0.3'] },
    )

  test('A011: takes the first that it can speak, in the order of the card', () => {
    const card = [of('GRPC', '1.0'), of('HTTP+JSON', '1.0'), of('JSONRPC', '1.0')]
    expect(choose(card)).toBe(card[1])
    expect(choose(card, ['JSONRPC'])).toBe(card[2])
  })

  test('A011: prefers 1.0 among the entries of the chosen binding, not another binding', () => {
    const card = [of('JSONRPC', '0.3'), of('HTTP+JSON', '1.0'), of('JSONRPC', '1.0')]
    expect(choose(card)).toBe(card[2])
    expect(choose(card.slice(0, 2))).toBe(card[0])
  })

  test('B005: ignores patch levels', () => {
    const card = [of('JSONRPC', '2.0'), of('JSONRPC', '1.0.7')]
    expect(choose(card)).toBe(card[1])
  })

  test('reads names of bindings in any case, and versions of ours without their patch level', () => {
    const card = { ...renderCard(info, surroundings), supportedInterfaces: [of('jsonrpc', '0.3')] }
    const options = { bindings: ['JsonRpc'], versions: ['1.0', '0.3.0'] }
    expect(chooseInterface(card, options)).toBe(card.supportedInterfaces[0])
  })

  test('does not mind how a binding or a version is written', () => {
    const card = [of('jsonrpc', '0.3'), of('JsonRpc', ' 1.0 '), of('JSONRPC', '1.1')]
    expect(choose(card, ['JsonRPC'])).toBe(card[1])
    expect(choose(card.slice(0, 1), ['JsonRPC'])).toBe(card[0])
  })

  test('finds nothing where nothing fits', () => {
    expect(choose([of('GRPC', '1.0'), of('JSONRPC', '9.9')])).toBeUndefined()
  })
})

describe('an agent id', () => {
  test.each([
    'b1946ac9-2492-4a9e-8f3c-0d5e2f6a7b8c',
    'fantasy-writing-team',
    'org/team:agent.v2',
    'https://agents.example/a',
  ])('may be %s', (id) => {
    expect(validateAgentId(id)).toBe(true)
  })

  test.each(['http://a', 'ftp://a', 'urn-x+y://a', 'a:b', 'A9'])(
    'may be the name or URL %s',
    (id) => {
      expect(validateAgentId(id)).toBe(true)
    },
  )

  test.each(['https://', 'https://a b', '1x://a b', 'a/-b', 'a:', '.a', '_a'])(
    'may not be %j',
    (id) => {
      expect(validateAgentId(id)).toBe(false)
    },
  )

  test.each(['', ' ', '-a', 'a//b', 'a/', 'a b', '../etc', 'javascript:alert(1)', 'a\n'])(
    'may not be %j',
    (id) => {
      expect(validateAgentId(id)).toBe(false)
    },
  )

  test('is judged in linear time, however long it is', () => {
    expect(validateAgentId(`${'a.'.repeat(50_000)}!`)).toBe(false)
  })
})

test.each([
  ['1.0', '1.0'],
  [' 1.0.3 ', '1.0'],
  ['10.20.30-rc', '10.20'],
  ['1', '1'],
  [' v1.0 ', 'v1.0'],
])('a version of the protocol %j is %j without its patch level', (version, short) => {
  expect(toMajorMinor(version)).toBe(short)
})

test('a semantic version has three numbers, and what is more in its place', () => {
  const good = [
    '0.0.0',
    '1.2.3',
    '10.20.30',
    '1.0.0-rc.1',
    '1.0.0-0a',
    '1.0.0+b.1',
    '1.0.0-a-b+c-d',
  ]
  const bad = [
    '',
    '1',
    '1.0',
    'v1.0.0',
    '01.0.0',
    '1.00.0',
    '1.0.01',
    '1.0.0.0',
    '1.0.0-',
    '1.0.0+',
  ]
  expect(good.filter((version) => !isSemanticVersion(version))).toEqual([])
  expect([...bad, '1.0.0-a..b', '1.0.0 ', '1.0.0-ä'].filter(isSemanticVersion)).toEqual([])
})

test.each<[Part, string | undefined]>([
  [{ text: 'a' }, 'text/plain'],
  [{ text: 'a', mediaType: 'Text/HTML; charset=utf-8' }, 'text/html'],
  [{ data: null }, 'application/json'],
  [{ raw: '' }, undefined],
  [{ url: 'https://a', mediaType: ' ; q=1' }, undefined],
  [{ text: 'a', mediaType: '' }, 'text/plain'],
])('the media type of %j is %j', (part, type) => {
  expect(mediaTypeOf(part)).toBe(type)
})
