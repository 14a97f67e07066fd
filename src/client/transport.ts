import type { HttpSend } from '../bindings/http.ts'
import { createJsonRpcDispatch } from '../bindings/jsonrpc/client.ts'
import { createRestDispatch } from '../bindings/rest/client.ts'
import type { Dispatch } from '../protocol/call.ts'

/** A way to an agent. Anything that makes a Dispatch, over HTTP or over something else, can be one. */
export interface Transport {
  /** The endpoint; the card is looked for beside it. */
  readonly url: string
  /** A Dispatch over this wire; `send` brings the client's credentials and timeouts. */
  connect(send: HttpSend): Dispatch
}

/** The wires that JSON-RPC has on a client's side. */
export type JsonRpcDialect = '1.0' | '0.3' | '1.0-rc' | 'ranch'

/** The wires that HTTP+JSON has on a client's side. */
export type RestDialect = '1.0' | '0.3'

/** JSON-RPC at one URL, in one dialect; 1.0 if not said otherwise. */
export class JsonRpcTransport implements Transport {
  readonly url: string
  readonly dialect: JsonRpcDialect

  constructor(url: string, options: { readonly dialect?: JsonRpcDialect } = {}) {
    this.url = url
    this.dialect = options.dialect ?? '1.0'
  }

  connect(send: HttpSend): Dispatch {
    return createJsonRpcDispatch({ url: this.url, dialect: this.dialect, send })
  }
}

/** HTTP+JSON below one URL, in one dialect; 1.0 if not said otherwise. */
export class RestTransport implements Transport {
  readonly url: string
  readonly dialect: RestDialect

  constructor(url: string, options: { readonly dialect?: RestDialect } = {}) {
    this.url = url
    this.dialect = options.dialect ?? '1.0'
  }

  connect(send: HttpSend): Dispatch {
    return createRestDispatch({ url: this.url, dialect: this.dialect, send })
  }
}
