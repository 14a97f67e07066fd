import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dumps } from '../../../src/eval/tau2/python/dumps.ts'
import { calculate } from '../../../src/eval/tau2/python/expression.ts'
import { floatRepr, roundHalfEven, toFixed } from '../../../src/eval/tau2/python/float.ts'
import { parseJson } from '../../../src/eval/tau2/python/json.ts'
import { repr } from '../../../src/eval/tau2/python/text.ts'
import { equals, type Value } from '../../../src/eval/tau2/python/value.ts'
import { askPython, hasPython } from './python3.ts'

const float = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }),
  fc.integer({ min: -1e6, max: 1e6 }).map((n) => n / 1000),
  fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 8),
)
const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
  float,
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
)
const key = fc.oneof(fc.string(), fc.nat().map(String))
const { value } = fc.letrec<{ value: Value; list: Value; dict: Value }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalar, tie('list'), tie('dict')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  dict: fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((all) => new Map(all)),
}))
const unpacking = ['(*', '(**', '(*2)', '(**())', '1(*(3)+', '()(*']
const expression = fc
  .array(
    fc.constantFrom(
      ...'0123456789+-*/(). ',
      '//',
      '**',
      '1.5',
      '12',
      '(3)',
      ' - ',
      '0.1',
      ...unpacking,
    ),
    {
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''))
  // Powers of powers run for hours in Python itself.
  .filter((text) => (text.match(/\*\*/g)?.length ?? 0) < 2 && !/\*\*[-+ (]*\d{4}/.test(text))

describe('the Python layer', () => {
  test('reads back what it writes, whatever the keys look like', () => {
    fc.assert(
      fc.property(value, (one) => {
        const again = parseJson(dumps(one))
        expect(dumps(again)).toBe(dumps(one))
        expect(equals(again, one)).toBe(true)
      }),
    )
  })

  test('keeps the order of keys that look like numbers', () => {
    const text = '{"20": 1, "b": 2.0, "3": {"7": [], "1": {}}}'
    expect(dumps(parseJson(text))).toBe(text)
    expect(dumps(parseJson(text), { sortKeys: true })).toBe(
      '{"20": 1, "3": {"1": {}, "7": []}, "b": 2.0}',
    )
  })

  test('gives the value of JSON.parse for JSON of any other kind', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(dumps(parseJson(text)))).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each(['', '{', '[1,]', '{"a" 1}', '{1: 2}', '"a', '01', '1 2', '"\n"', 'nul'])(
    'refuses %j',
    (text) => expect(() => parseJson(text)).toThrow(SyntaxError),
  )

  test('rounds ties to even, and by the binary value', () => {
    const cases = [0.125, 0.375, 2.5, 1.005, 2.675, -0.125, 1e22, 5e-324]
    expect(cases.map((one) => toFixed(one, 2))).toEqual([
      ...['0.12', '0.38', '2.50', '1.00', '2.67', '-0.12', '10000000000000000000000.00', '0.00'],
    ])
    expect(roundHalfEven(0n, 2)).toBe(0n)
  })

  test('writes exponents where Python does', () => {
    expect([1e16, 1e15, 1e-4, 0.00001, 1.5e300, 5, -0].map(floatRepr)).toEqual([
      ...['1e+16', '1000000000000000.0', '0.0001', '1e-05', '1.5e+300', '5.0', '-0.0'],
    ])
  })

  test.each([
    ['', 'invalid syntax (<string>, line 0)'],
    ['2 +', 'invalid syntax (<string>, line 1)'],
    ['(2', "'(' was never closed (<string>, line 1)"],
    ['2)', "unmatched ')' (<string>, line 1)"],
    ['(1 2)', 'invalid syntax. Perhaps you forgot a comma? (<string>, line 1)'],
    ['2(3)', "'int' object is not callable"],
    ['0.1(*(3)+51212)', '0.1 argument after * must be an iterable, not int'],
    ['(1+2)(**.5)', '3 argument after ** must be a mapping, not float'],
    ['()(**())', '() argument after ** must be a mapping, not tuple'],
    ['1(*()*2)', "'int' object is not callable"],
    ['1(*(1/0))', 'division by zero'],
    ['1(* *2)', 'invalid syntax (<string>, line 1)'],
    ['1/0', 'division by zero'],
    ['()', "float() argument must be a string or a real number, not 'tuple'"],
  ])('explains %j as Python does', (text, message) => {
    expect(() => calculate(text)).toThrow(message)
  })

  test('never evaluates for longer than a moment', () => {
    expect(() => calculate('9**9**9**9')).toThrow('too large')
  })
})

describe.skipIf(!hasPython)('beside python3, the Python layer', () => {
  const sample = <T>(arbitrary: fc.Arbitrary<T>, runs = 800): T[] => fc.sample(arbitrary, runs)

  test('writes floats, fixed decimals and rounded numbers alike', () => {
    const floats = sample(float)
    const code = `def answer(x):
    x = float(x)
    return [repr(x), f'{x:.2f}', repr(round(x, 2)), repr(round(x, 0))]`
    const ours = floats.map((x) => [
      floatRepr(x),
      toFixed(x, 2),
      repr(roundHalfEven(x, 2)),
      repr(roundHalfEven(x, 0)),
    ])
    expect(ours).toEqual(askPython(code, floats.map(floatRepr)))
  })

  test('writes JSON and text forms alike, in both orders of keys', () => {
    const texts = sample(value, 500).map((one) => dumps(one))
    const code = `def answer(text):
    x = json.loads(text)
    return [json.dumps(x), json.dumps(x, sort_keys=True)]`
    const ours = texts.map((text) => {
      const one = parseJson(text)
      return [dumps(one), dumps(one, { sortKeys: true })]
    })
    expect(ours).toEqual(askPython(code, texts))
  })

  test('writes text forms alike', () => {
    // Which of the rarer characters are printable depends on the version of Unicode, which differs.
    const unit = fc.constantFrom(...'aZ 9\'"\\\n\t\r\0\x1f\x7f\xa0éß\u2028😀\u00ad')
    const text = fc.array(unit, { maxLength: 8 }).map((units) => units.join(''))
    const nested = fc.array(fc.tuple(text, fc.array(fc.oneof(text, float), { maxLength: 3 })))
    const values = sample(
      nested.map((all): Value => new Map(all)),
      500,
    )
    const code = `def answer(text):
    return repr(json.loads(text))`
    expect(values.map(repr)).toEqual(
      askPython(
        code,
        values.map((one) => dumps(one)),
      ),
    )
  })

  test('calculates alike, faults included, to the last digit but of broken powers', () => {
    const expressions = sample(expression, 1500)
    const code = `def answer(text):
    return str(round(float(eval(text, {'__builtins__': None}, {})), 2))`
    const theirs = askPython(code, expressions)
    const ours = expressions.map((text) => {
      try {
        return calculate(text)
      } catch (error) {
        return `Error: ${error instanceof Error ? error.message : error}`
      }
    })
    // Of several faults of syntax in one text, which one Python names follows from how its parser retries.
    const blurred = (text = ''): string => text.replace(/^Error: .*\(<string>.*/, 'Error: syntax')
    const isSame = (a: string, b: string): boolean =>
      a === b || (Number.isFinite(Number(a)) && Math.abs(Number(a) / Number(b) - 1) < 1e-13)
    const different = expressions
      .map((text, i) => ({ text, ours: blurred(ours[i]), theirs: blurred(theirs[i]) }))
      .filter((one) => !isSame(one.ours, one.theirs))
    expect(different).toEqual([])
  })
})
