import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { onTestFinished } from 'vitest'

/** A real authorization server for one test, with one client of each kind. */
export interface TestAuthorizationServer {
  readonly issuer: string
  readonly endpoints: {
    readonly authorizationUrl: string
    readonly tokenUrl: string
    readonly deviceAuthorizationUrl: string
  }
  /** Requests to the token endpoint so far. */
  readonly tokenRequests: readonly URLSearchParams[]
}

/** Who the clients of the test server are. */
export const clients = {
  service: { clientId: 'service', clientSecret: 'service-secret-that-nobody-may-log' },
  commandLine: { clientId: 'command-line' },
} as const

/** Runs oidc-provider on a free port over plain HTTP. Its access tokens are JWTs for `audience`, if that is given. */
export async function startAuthorizationServer(
  audience?: string,
): Promise<TestAuthorizationServer> {
  const tokenRequests: URLSearchParams[] = []
  let handle: RequestListener = () => {}
  const server = createServer((request, response) => {
    if (request.url === '/token') recordBody(request, tokenRequests)
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // a listening TCP server has one
  const issuer = `http://127.0.0.1:${port}`
  handle = new Provider(issuer, configure(audience)).callback()
  return {
    issuer,
    endpoints: {
      authorizationUrl: `${issuer}/auth`,
      tokenUrl: `${issuer}/token`,
      deviceAuthorizationUrl: `${issuer}/device/auth`,
    },
    tokenRequests,
  }
}

/** Listens along: the provider reads the body too. */
function recordBody(request: Parameters<RequestListener>[0], into: URLSearchParams[]): void {
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => into.push(new URLSearchParams(body)))
}

function configure(audience: string | undefined): object {
  if (audience === undefined) return configuration
  const resourceIndicators = {
    enabled: true,
    defaultResource: () => 'https://agents.example',
    useGrantedResource: () => true,
    getResourceServerInfo: () => ({ scope: 'agents', audience, accessTokenFormat: 'jwt' }),
  }
  return { ...configuration, features: { ...configuration.features, resourceIndicators } }
}

const configuration = {
  clients: [
    {
      client_id: clients.service.clientId,
      client_secret: clients.service.clientSecret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: clients.commandLine.clientId,
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: [
        'authorization_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code',
      ],
      redirect_uris: ['http://127.0.0.1/callback'],
      response_types: ['code'],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    devInteractions: { enabled: true },
  },
  scopes: ['offline_access', 'agents'],
  pkce: { required: () => true },
  issueRefreshToken: () => true,
  ttl: { AccessToken: 3600, ClientCredentials: 600 },
  cookies: { keys: ['test'] },
}
