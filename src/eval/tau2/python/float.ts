/** `repr` of a float: the shortest digits that read back, with an exponent from 1e16 on and below 1e-4. */
export function floatRepr(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  const plain = String(value)
  const size = Math.abs(value)
  if (value === 0 || (size >= 1e-4 && size < 1e16))
    return plain.includes('.') ? plain : `${plain}.0`
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Math.abs(Number(exponent))
  return `${digits}e${exponent.startsWith('-') ? '-' : '+'}${String(power).padStart(2, '0')}`
}

/**
 * `f'{value:.2f}'`: so many decimals of the exact binary value, ties to even. `toFixed` rounds ties up and gives up at
 * 1e21.
 */
export function toFixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return floatRepr(value)
  const { mantissa, exponent } = decompose(Math.abs(value))
  const scaled = mantissa * 10n ** BigInt(decimals)
  const whole = exponent >= 0 ? scaled << BigInt(exponent) : divideHalfEven(scaled, -exponent)
  const digits = String(whole).padStart(decimals + 1, '0')
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (decimals === 0) return `${sign}${digits}`
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** `round(value, decimals)`: an int stays an int, a float is rounded half to even on its binary value. */
export function roundHalfEven(value: bigint | number, decimals: number): bigint | number {
  if (typeof value === 'bigint' || !Number.isFinite(value)) return value
  return Number(toFixed(value, decimals))
}

/** A finite number of at least 0 as mantissa × 2^exponent, exactly. */
function decompose(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const biased = Number(bits >> 52n)
  const fraction = bits & ((1n << 52n) - 1n)
  if (biased === 0) return { mantissa: fraction, exponent: -1074 }
  return { mantissa: fraction | (1n << 52n), exponent: biased - 1075 }
}

function divideHalfEven(value: bigint, power: number): bigint {
  const divisor = 1n << BigInt(power)
  const [quotient, rest] = [value / divisor, (value % divisor) * 2n]
  const up = rest > divisor || (rest === divisor && quotient % 2n === 1n)
  return up ? quotient + 1n : quotient
}
