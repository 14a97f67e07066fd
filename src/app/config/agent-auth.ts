import { z } from 'zod'
import { type AgentAuth, keyHeader } from '../../agents/auth.ts'
import { described, fromVariable } from './described.ts'
import { filledText, whenGiven } from './values.ts'

const apiKey = z.strictObject({
  type: described(z.literal('api_key'), {
    description: 'An API key in a header.',
    examples: ['api_key'],
  }),
  key: described(filledText, {
    description: 'The key. Keep it in a variable.',
    examples: [fromVariable('REVIEWER_KEY')],
  }),
  header: described(filledText.optional(), {
    description: 'The header that the key goes in.',
    default: keyHeader,
    examples: ['X-Service-Key'],
  }),
})

const bearer = z.strictObject({
  type: described(z.literal('bearer'), {
    description: 'A token in the `Authorization` header.',
    examples: ['bearer'],
  }),
  token: described(filledText, {
    description: 'The token. Keep it in a variable.',
    examples: [fromVariable('REVIEWER_TOKEN')],
  }),
})

const oauth2 = z.strictObject({
  type: described(z.literal('oauth2'), {
    description:
      'OAuth 2 client credentials: tokens are fetched, and fetched again before they end. Not for the protocol `openai`.',
    examples: ['oauth2'],
  }),
  token_url: described(filledText, {
    description: 'Where tokens are fetched.',
    examples: ['https://login.example.com/oauth/token'],
  }),
  client_id: described(filledText, {
    description: 'Who Corral is to the authorization server.',
    examples: ['corral'],
  }),
  client_secret: described(filledText, {
    description: 'The secret of the client. Keep it in a variable.',
    examples: [fromVariable('CLIENT_SECRET')],
  }),
  scopes: described(z.array(filledText).optional(), {
    description: 'Scopes to ask for; those that the authorization server gives if absent.',
    examples: [['agents:call']],
  }),
})

/** `[agents.auth]`: how Corral proves itself to the agent. */
export const agentAuthSchema: z.ZodType<AgentAuth> = z
  .discriminatedUnion('type', [apiKey, bearer, oauth2])
  .transform((auth): AgentAuth => {
    if (auth.type === 'bearer') return auth
    if (auth.type === 'api_key')
      return { type: 'api_key', key: auth.key, ...whenGiven('header', auth.header) }
    return {
      type: 'oauth2',
      tokenUrl: auth.token_url,
      clientId: auth.client_id,
      clientSecret: auth.client_secret,
      ...whenGiven('scopes', auth.scopes),
    }
  })
