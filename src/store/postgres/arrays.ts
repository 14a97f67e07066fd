/**
 * Arrays as PostgreSQL takes them in its binary format: one parameter holds a column of many rows, and no text has to be
 * escaped. A value is its length, -1 for NULL, and its bytes.
 */

const oids = { text: 25, int4: 23, int8: 20, bool: 16 } as const
const headerBytes = 20

/** A `text[]`. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let bytes = headerBytes
  for (const value of values) bytes += 4 + (value === null ? 0 : Buffer.byteLength(value))
  const buffer = begin(bytes, values.length, oids.text)
  let at = headerBytes
  for (const value of values) {
    if (value === null) at = buffer.writeInt32BE(-1, at)
    else {
      const length = buffer.write(value, at + 4)
      buffer.writeInt32BE(length, at)
      at += 4 + length
    }
  }
  return buffer
}

/** An `int4[]`. */
export function intArray(values: readonly number[]): Buffer {
  const buffer = begin(headerBytes + values.length * 8, values.length, oids.int4)
  let at = headerBytes
  for (const value of values) at = buffer.writeInt32BE(value, buffer.writeInt32BE(4, at))
  return buffer
}

/** An `int8[]`. */
export function bigintArray(values: readonly number[]): Buffer {
  const buffer = begin(headerBytes + values.length * 12, values.length, oids.int8)
  let at = headerBytes
  for (const value of values) at = buffer.writeBigInt64BE(BigInt(value), buffer.writeInt32BE(8, at))
  return buffer
}

/** A `bool[]`. */
export function boolArray(values: readonly boolean[]): Buffer {
  const buffer = begin(headerBytes + values.length * 5, values.length, oids.bool)
  let at = headerBytes
  for (const value of values) at = buffer.writeUInt8(value ? 1 : 0, buffer.writeInt32BE(1, at))
  return buffer
}

/** Dimensions, whether there may be NULLs, the type; length and lower bound of the one dimension. */
function begin(bytes: number, length: number, oid: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(1, 4)
  buffer.writeInt32BE(oid, 8)
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
  return buffer
}
