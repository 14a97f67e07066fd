import {
  arrayOf,
  type Check,
  expected,
  explicit,
  implicit,
  mapOf,
  object,
  required,
  requiredOfUs,
} from './check.ts'
import * as v from './values.ts'

/**
 * The agent card and what is in it (specification §4.4, §4.5), field for field as in `a2a.proto`.
 * Real cards leave out what is empty although it is required; a reader bears that, `checkCard` tells it.
 */

const scopes = mapOf(v.anyText)
const description = implicit(v.optionalText)
const refreshUrl = implicit(v.optionalText)

const flows = object(
  {
    authorizationCode: explicit(
      object({
        authorizationUrl: required(v.requiredText),
        tokenUrl: required(v.requiredText),
        refreshUrl,
        scopes: expected(scopes, {}),
        pkceRequired: implicit(v.flag),
      }),
    ),
    clientCredentials: explicit(
      object({ tokenUrl: required(v.requiredText), refreshUrl, scopes: expected(scopes, {}) }),
    ),
    implicit: explicit(
      object({
        authorizationUrl: implicit(v.optionalText),
        refreshUrl,
        scopes: implicit(scopes),
      }),
    ),
    password: explicit(
      object({ tokenUrl: implicit(v.optionalText), refreshUrl, scopes: implicit(scopes) }),
    ),
    deviceCode: explicit(
      object({
        deviceAuthorizationUrl: required(v.requiredText),
        tokenUrl: required(v.requiredText),
        refreshUrl,
        scopes: expected(scopes, {}),
      }),
    ),
  },
  { oneOf: ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode'] },
)

const location: Check = v.oneOfNames(['query', 'header', 'cookie'])

/** A way to authenticate. */
const securityScheme: Check = object(
  {
    apiKeySecurityScheme: explicit(
      object({ description, location: required(location), name: required(v.requiredText) }),
    ),
    httpAuthSecurityScheme: explicit(
      object({
        description,
        scheme: required(v.requiredText),
        bearerFormat: implicit(v.optionalText),
      }),
    ),
    oauth2SecurityScheme: explicit(
      object({ description, flows: required(flows), oauth2MetadataUrl: implicit(v.optionalText) }),
    ),
    openIdConnectSecurityScheme: explicit(
      object({ description, openIdConnectUrl: required(v.requiredText) }),
    ),
    mtlsSecurityScheme: explicit(object({ description })),
  },
  {
    oneOf: [
      'apiKeySecurityScheme',
      'httpAuthSecurityScheme',
      'oauth2SecurityScheme',
      'openIdConnectSecurityScheme',
      'mtlsSecurityScheme',
    ],
  },
)

const scopeList = object({ list: implicit(arrayOf(v.anyText)) })
const securityRequirements = implicit(arrayOf(object({ schemes: expected(mapOf(scopeList), {}) })))

const agentInterface = object({
  url: requiredOfUs(v.requiredText, v.anyText, ''),
  protocolBinding: requiredOfUs(v.requiredText, v.anyText, ''),
  tenant: implicit(v.optionalText),
  // Only cards of 1.0 list their interfaces here, so one without a version speaks 1.0.
  protocolVersion: {
    ...expected(v.requiredText, '1.0'),
    peers: { check: v.anyText, fallback: '1.0' },
  },
})

const extension = object({
  uri: requiredOfUs(v.requiredText, v.anyText, ''),
  description,
  required: implicit(v.flag),
  params: implicit(v.struct),
})

const capabilities = object({
  streaming: explicit(v.flag),
  pushNotifications: explicit(v.flag),
  extensions: implicit(arrayOf(extension)),
  extendedAgentCard: explicit(v.flag),
})

const skill = object({
  id: requiredOfUs(v.requiredText, v.anyText, ''),
  name: requiredOfUs(v.requiredText, v.anyText, ''),
  description: expected(v.anyText, ''),
  tags: expected(arrayOf(v.anyText), []),
  examples: implicit(arrayOf(v.anyText)),
  inputModes: implicit(arrayOf(v.anyText)),
  outputModes: implicit(arrayOf(v.anyText)),
  securityRequirements,
})

const signature = object({
  protected: required(v.requiredText),
  signature: required(v.requiredText),
  header: implicit(v.struct),
})

/** An agent card. */
export const agentCard: Check = object({
  name: required(v.requiredText),
  description: expected(v.anyText, ''),
  supportedInterfaces: requiredOfUs(arrayOf(agentInterface, 1), arrayOf(agentInterface), []),
  provider: implicit(
    object({ url: expected(v.anyText, ''), organization: expected(v.anyText, '') }),
  ),
  version: expected(v.anyText, ''),
  documentationUrl: explicit(v.anyText),
  capabilities: expected(capabilities, {}),
  // Some peers write schemes in the shape of their own memory; what cannot be used does not spoil the card.
  securitySchemes: implicit(mapOf(v.forgiving(securityScheme))),
  securityRequirements,
  defaultInputModes: expected(arrayOf(v.anyText), []),
  defaultOutputModes: expected(arrayOf(v.anyText), []),
  skills: expected(arrayOf(skill), []),
  signatures: implicit(arrayOf(signature)),
  iconUrl: explicit(v.anyText),
})
