import {
  type Check,
  expected,
  explicit,
  implicit,
  list,
  map,
  required,
  requiredOfUs,
} from './check.ts'
import { object } from './object.ts'
import * as v from './values.ts'

/**
 * The agent card and what is in it (specification §4.4, §4.5), field for field as in `a2a.proto`.
 * Real cards leave out what is empty although it is required; a reader bears that, `checkCard` tells it.
 */

const scopes = map(v.anyText)
const description = implicit(v.optionalText)
const refreshUrl = implicit(v.optionalText)

const flows = object(
  {
    authorizationCode: explicit(
      object({
        authorizationUrl: required(v.text),
        tokenUrl: required(v.text),
        refreshUrl,
        scopes: expected(scopes, {}),
        pkceRequired: implicit(v.flag),
      }),
    ),
    clientCredentials: explicit(
      object({ tokenUrl: required(v.text), refreshUrl, scopes: expected(scopes, {}) }),
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
        deviceAuthorizationUrl: required(v.text),
        tokenUrl: required(v.text),
        refreshUrl,
        scopes: expected(scopes, {}),
      }),
    ),
  },
  { oneOf: ['authorizationCode', 'clientCredentials', 'implicit', 'password', 'deviceCode'] },
)

const location: Check = v.oneOfNames(['query', 'header', 'cookie'])

/** A way to authenticate. */
export const securityScheme: Check = object(
  {
    apiKeySecurityScheme: explicit(
      object({ description, location: required(location), name: required(v.text) }),
    ),
    httpAuthSecurityScheme: explicit(
      object({ description, scheme: required(v.text), bearerFormat: implicit(v.optionalText) }),
    ),
    oauth2SecurityScheme: explicit(
      object({ description, flows: required(flows), oauth2MetadataUrl: implicit(v.optionalText) }),
    ),
    openIdConnectSecurityScheme: explicit(
      object({ description, openIdConnectUrl: required(v.text) }),
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

const scopeList = object({ list: implicit(list(v.anyText)) })
const securityRequirements = implicit(list(object({ schemes: expected(map(scopeList), {}) })))

const agentInterface = object({
  url: requiredOfUs(v.text, v.anyText, ''),
  protocolBinding: requiredOfUs(v.text, v.anyText, ''),
  tenant: implicit(v.optionalText),
  // Only cards of 1.0 list their interfaces here, so one without a version speaks 1.0.
  protocolVersion: {
    ...expected(v.text, '1.0'),
    peers: { check: v.anyText, fallback: '1.0' },
  },
})

const extension = object({
  uri: requiredOfUs(v.text, v.anyText, ''),
  description,
  required: implicit(v.flag),
  params: implicit(v.struct),
})

const capabilities = object({
  streaming: explicit(v.flag),
  pushNotifications: explicit(v.flag),
  extensions: implicit(list(extension)),
  extendedAgentCard: explicit(v.flag),
})

const skill = object({
  id: requiredOfUs(v.text, v.anyText, ''),
  name: requiredOfUs(v.text, v.anyText, ''),
  description: expected(v.anyText, ''),
  tags: expected(list(v.anyText), []),
  examples: implicit(list(v.anyText)),
  inputModes: implicit(list(v.anyText)),
  outputModes: implicit(list(v.anyText)),
  securityRequirements,
})

const signature = object({
  protected: required(v.text),
  signature: required(v.text),
  header: implicit(v.struct),
})

/** An agent card. */
export const agentCard: Check = object({
  name: required(v.text),
  description: expected(v.anyText, ''),
  supportedInterfaces: requiredOfUs(list(agentInterface, 1), list(agentInterface), []),
  provider: implicit(
    object({ url: expected(v.anyText, ''), organization: expected(v.anyText, '') }),
  ),
  version: expected(v.anyText, ''),
  documentationUrl: explicit(v.anyText),
  capabilities: expected(capabilities, {}),
  // Some peers write schemes in the shape of their own memory; what cannot be used does not spoil the card.
  securitySchemes: implicit(map(v.forgiving(securityScheme))),
  securityRequirements,
  defaultInputModes: expected(list(v.anyText), []),
  defaultOutputModes: expected(list(v.anyText), []),
  skills: expected(list(skill), []),
  signatures: implicit(list(signature)),
  iconUrl: explicit(v.anyText),
})
