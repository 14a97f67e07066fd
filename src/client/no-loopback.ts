import { A2AError } from '../protocol/errors.ts'
import type { Redirect } from './auth/oauth.ts'

export { refuseToListen as listenForRedirect }

/** In a browser this file takes the place of `loopback.ts`, so it exports the same name: a page cannot listen. */
async function refuseToListen(): Promise<Redirect> {
  throw new A2AError(
    'unsupportedOperation',
    'A web page cannot listen for a redirect: give `startAuthorization` the `redirectUri` of a page of yours',
  )
}
