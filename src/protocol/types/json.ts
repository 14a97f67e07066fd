/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object; `google.protobuf.Struct` in the specification. */
export interface JsonObject {
  readonly [key: string]: Json | undefined
}
