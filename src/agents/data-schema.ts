import type { JsonObject } from '../protocol/types.ts'

/** A schema that is ready for use: what a model is told, and what a value is checked by. */
export interface DataSchema<T = unknown> {
  /** The schema as JSON Schema, for model services and cards. */
  readonly jsonSchema: JsonObject
  /** Reads a value: the data that it stands for, or what does not fit in words that name the place. */
  read(value: unknown): Promise<DataReading<T>> | DataReading<T>
}

/** What came of reading a value by a schema: the data, or what does not fit. */
export type DataReading<T = unknown> =
  | { readonly data: T; readonly fault?: undefined }
  | { readonly fault: string }
