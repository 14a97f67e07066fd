import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/protocol/types.ts'
import { compileExpression, compileTemplate } from '../../../src/team/expressions/compile.ts'
import { ExpressionFault, type ExpressionScope } from '../../../src/team/expressions/values.ts'
import { faultOf, options, scope } from './scope.ts'

const evaluate = (source: string, over = scope) => compileExpression(source, options).evaluate(over)

/** Source, where the fault begins, and its words. */
type Row = readonly [source: string, position: number, words: string]

describe('an expression that is refused when it is read', () => {
  it.each<Row>([
    ['', 0, 'the expression is empty'],
    [' \n ', 0, 'the expression is empty'],
    ['question.text ==', 16, 'unexpected token: the end'],
    ['(question.text', 14, 'expected ), got the end'],
    ['question.text = "a"', 14, 'unexpected character: ='],
    ['question.text; exit()', 13, 'unexpected character: ;'],
    ['"never closed', 0, 'unterminated string'],
    ['question.', 9, 'expected a name, got the end'],
    ['question.text question.text', 14, 'unexpected character'],
    ['0x', 0, 'invalid hex integer'],
    ['"\\q"', 1, 'invalid escape sequence'],
    ['99999999999999999999 > 1', 0, 'the whole number has more than 64 bits'],
    ['1e999', 0, 'invalid number'],
    ['1u', 0, 'bytes and unsigned numbers are not known here'],
    ['b"bytes"', 0, 'bytes and unsigned numbers are not known here'],
    ['steps.reveiw.text', 0, 'there is no step reveiw before this one (did you mean review?)'],
    ['true && steps.nowhere.text == ""', 8, 'there is no step nowhere before this one (known: '],
    ['steps.constructor', 0, 'there is no step constructor before this one'],
    ['steps["__proto__"]', 0, 'there is no step __proto__ before this one'],
    ['steps', 0, 'steps does not stand alone: write steps.<name>'],
    ['steps[question.text]', 0, 'steps are named: write steps.<name>'],
    ['[steps]', 1, 'steps does not stand alone'],
    ['context', 0, 'context does not stand alone: write context.<name>'],
    ['context[question.text]', 0, 'values are named: write context.<key>'],
    ['question.constructor', 0, 'it has text and data, not constructor'],
    ['question[question.text]', 0, 'it has text and data'],
    ['process.env.HOME', 0, 'process is not known here'],
    ['globalThis', 0, 'globalThis is not known here'],
    ['this.constructor', 0, 'this is not known here'],
    ['__proto__', 0, 'reserved identifier: __proto__'],
    ['previuos.text', 0, 'previuos is not known here (did you mean previous?)'],
    ['string', 0, 'string is not known here'],
    ['google.protobuf', 0, 'google is not known here'],
    ['cel.bind(a, question.data, a + a)', 0, 'the function bind is not known here'],
    ['question.text.matches("^(a+)+$")', 0, 'matches is not offered: use contains, startsWith'],
    ['eval("1")', 0, 'the function eval is not known here'],
    ['question.text.constructor("return 1")()', 37, 'unexpected character'],
    ['question.text.toString()', 0, 'the function toString is not known here'],
    ['timestamp("2030-01-01T00:00:00Z")', 0, 'the function timestamp is not known here'],
    ['has(question)', 0, 'has needs the path of a member: has(a.b)'],
    ['question.data.map(context, context.secret)', 0, 'context is the name of something else'],
    ['question.data.map(x)', 0, 'map needs a name for the element and what to compute'],
    ['question.data.map("x", 1)', 18, 'invalid predicate iteration variable'],
    [
      'question.data.all(x, x.all(y, y.exists(z, z)))',
      30,
      'exists nests too deep: at most 2 of all, exists, filter and map',
    ],
    ['question.text < 1', 0, 'there is no string < int'],
    ['!question.text', 0, 'there is no !string'],
    ['question == "a"', 0, 'there is no StepResult == string (it has text and data)'],
    ['1.5 + 1', 0, 'write 1.0 instead of 1'],
    ['{1: 2}', 1, 'the keys of an object are texts in quotes'],
    [`[1]${'.map(a,{a:a})'.repeat(40)}`, 11, 'the keys of an object are texts in quotes'],
    ['[][0] <= 0', 0, 'the types in it cannot be told'],
    ['true || 0 >= [][0]', 0, 'the types in it cannot be told'],
    [`${'('.repeat(60)}1${')'.repeat(60)}`, 48, 'the expression nests too deep or is too large'],
    [`question.data${'.a'.repeat(60)}`, 105, 'the expression nests too deep or is too large'],
    [`[question.data]${'.map(a,a+a)'.repeat(80)}`, 526, 'the expression nests too deep'],
    [`question.text == "${'a'.repeat(1000)}"`, 1000, 'is longer than 1000 characters'],
    [`${'!'.repeat(998)}1`, 997, 'there is no !int'],
  ])('%s', (source, position, words) => {
    const fault = faultOf(() => compileExpression(source, options))
    expect(fault.message).toContain(words)
    expect(fault.position).toBe(position)
    expect(fault.message.length).toBeLessThan(300)
  })

  it('knows item and round only where there are such', () => {
    const outside = { steps: [] }
    expect(faultOf(() => compileExpression('item.id', outside)).message).toContain(
      'only the steps of a map have an item',
    )
    expect(faultOf(() => compileExpression('true || round > 1', outside)).position).toBe(8)
  })
})

describe('data with the names of prototypes', () => {
  const names = ['constructor', '__proto__', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']

  it.each(names)('%s is absent where the data has none', (name) => {
    const source = `question.data.${name}`
    expect(faultOf(() => evaluate(source)).message).toContain(`there is no ${name}`)
    expect(evaluate(`has(${source})`)).toBe(false)
    expect(evaluate(`"${name}" in question.data`)).toBe(false)
    expect(faultOf(() => evaluate(`question.data["${name}"]`)).message).toContain('there is no')
    expect(evaluate(`context.${name} == null && !has(context.${name})`)).toBe(true)
    expect(faultOf(() => evaluate(`question.data.list.${name}`)).message).toContain('a list has no')
    expect(faultOf(() => evaluate(`dyn("text").${name}`)).message).toContain('a text has no')
  })

  it.each(names)('%s is a key like others where the data has it', (name) => {
    const data = JSON.parse(`{"${name}": {"a": 1}, "b": 2}`)
    const over = { ...scope, question: { text: '', data } }
    expect(evaluate(`question.data.${name}.a == 1 && question.data.b == 2`, over)).toBe(true)
    expect(evaluate(`question.data == question.data && size(question.data) == 2`, over)).toBe(true)
    expect(evaluate(`{"${name}": 1}`)).toEqual(JSON.parse(`{"${name}": 1}`))
  })

  it('leaves no trace on the prototype of objects', () => {
    evaluate('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })
})

describe('an evaluation that would take too long', () => {
  const numbers = Array.from({ length: 100_000 }, (_, index) => index)

  it.each([
    'previous.data.map(x, previous.data.filter(y, x == y))',
    'previous.data.all(x, previous.data.exists(y, y == x))',
    'previous.data.filter(x, x in previous.data)',
    'previous.data.exists(x, x.none)',
    'previous.data.map(x, [x, x]).map(x, x + x).map(x, x + x).map(x, x + x)',
    'previous.data.map(x, previous.data)',
    `[previous.data]${'.map(a,a+a)'.repeat(40)}`,
    `[1]${'.map(a,[a,a])'.repeat(35)} == [1]${'.map(a,[a,a])'.repeat(35)}`,
    `[1]${'.map(a,[a,a])'.repeat(40)}`,
    `["abcdefgh"]${'.map(a,a+a)'.repeat(45)}`,
    'previous.data.map(x, previous.text).join("")',
    'previous.data.map(x, previous.text.split(""))',
    'previous.text + previous.text',
    '[previous.text, previous.text]',
    'previous.data.map(x, size(previous.text))',
  ])('ends with a fault: %s', (source) => {
    const over = { ...scope, previous: { text: 'ab '.repeat(200_000), data: numbers } }
    const fault = faultOf(() => evaluate(source, over))
    expect(fault.message).toMatch(/takes too long|larger than 1000000|longer than 1000000/)
    expect(fault.message.length).toBeLessThan(400)
  })

  it('reads each element no more often than the work allows', () => {
    let reads = 0
    const list = new Proxy(numbers, {
      get: (target, name) => {
        reads++
        return Reflect.get(target, name)
      },
    })
    const over: ExpressionScope = { ...scope, previous: { text: '', data: list } }
    faultOf(() => evaluate('previous.data.all(x, previous.data.exists(y, y == x))', over))
    expect(reads).toBeLessThan(2_000_000)
  })

  it('does not let a side that decides make up for it', () => {
    const over = { ...scope, previous: { text: '', data: numbers } }
    const endless = 'previous.data.all(x, previous.data.exists(y, y == x))'
    for (const source of [
      `${endless} || true`,
      `[1].exists(z, ${endless.replaceAll('all', 'map')} == [])`,
    ])
      expect(() => evaluate(source, over)).toThrow(/too long|too deep/)
  })

  it('searches long texts for long texts in one pass', () => {
    const half = 'a'.repeat(250_000)
    const over = {
      ...scope,
      question: { text: 'a'.repeat(1_000_000) },
      previous: { text: `${half}b${half}` },
    }
    expect(evaluate('question.text.contains(previous.text)', over)).toBe(false)
    expect(evaluate('question.text.split(previous.text).size()', over)).toBe(1)
    expect(evaluate('(previous.text + "c").indexOf(previous.text + "c")', over)).toBe(0)
  })
})

describe('the words of a fault', () => {
  const long = 'x'.repeat(900)

  it.each([
    ...[long, `steps.${long}`, `question.${long}`, `${long}()`, `question.text.${long}()`],
    ...[`0x${long}`, `"\\${long}"`, `question.data.${long}`, `question.data["${long}"]`],
  ])('stay short for a long name: %s', (source) => {
    expect(faultOf(() => evaluate(source)).message.length).toBeLessThan(400)
  })

  it('stay short for a long name that the data brings', () => {
    const over = { ...scope, previous: { text: 'x\n'.repeat(100_000) } }
    expect(faultOf(() => evaluate('question.data[previous.text]', over)).message).toBe(
      'the expression question.data[previous.text] failed at character 1: there is no x…',
    )
  })
})

describe('a result that is no JSON', () => {
  it.each(['1.0 / 0.0', '[double("1") / 0.0]', '0.0 / 0.0'])('is a fault: %s', (source) => {
    expect(faultOf(() => evaluate(source)).message).toContain('not a number that JSON has')
  })

  it.each([
    ['9223372036854775807 + 1', 'the whole number has more than 64 bits'],
    ['int("9223372036854775808")', 'the whole number has more than 64 bits'],
    ['int("0x10")', 'int makes no whole number of this'],
    ['double("NaN")', 'double makes no number of this'],
    ['1 / 0', 'it divides by zero'],
    ['1 % 0', 'it divides by zero'],
    ['question.data.list[-1]', 'there is no -1'],
    ['question.data.list[3]', 'the list has 3 elements'],
    ['question.data.list[0.5]', 'an element of a list is named by a whole number'],
    ['"abc".substring(2, 1)', 'there is no part from 2 to 1'],
    ['question.data.list.join()', 'join needs a text, and this is a decimal number'],
    ['question.data < 1', 'an object cannot be compared with a whole number'],
    ['question.data.tags ? 1 : 2', 'it must be true or false, and is a list'],
  ])('is a fault of the evaluation: %s', (source, words) => {
    expect(faultOf(() => evaluate(source)).message).toContain(words)
  })
})

describe('a template that is refused', () => {
  it.each<Row>([
    ['a {{ question.text', 2, 'the braces {{ are not closed with }}'],
    ['a {{ "}}', 2, 'the braces {{ are not closed with }}'],
    ['{{}}', 2, 'the expression is empty'],
    ['{{ {{ question }} }}', 15, 'expected :, got }'],
    ['{{ question.text | upper }}', 17, 'unexpected character: |'],
    ['{{ constructor.constructor("return process")() }}', 44, 'unexpected character'],
    ['x'.repeat(20_001), 20_000, 'the template is longer than 20000 characters'],
    ['{{ round }}'.repeat(51), 550, 'the template has more than 50 expressions'],
    [`{{ "${'x'.repeat(1_000)}" }}`, 1_003, 'the expression is longer than 1000 characters'],
  ])('%s', (source, position, words) => {
    const fault = faultOf(() => compileTemplate(source, options))
    expect(fault.message).toContain(words)
    expect(fault.position).toBe(position)
  })

  it('gives no more than a million characters', () => {
    const template = compileTemplate('{{ question.text }}{{ question.text }}', options)
    const long = { ...scope, question: { text: 'x'.repeat(600_000) } }
    expect(faultOf(() => template.render(long)).message).toBe(
      'the template gives more than 1000000 characters',
    )
  })
})

it('whatever stands there, it is an expression or a fault with a place in it', () => {
  const words = fc.constantFrom(
    ...[
      'question',
      'previous',
      'steps',
      'item',
      'x',
      '.data',
      '.text',
      '.review',
      '.map(',
      '.all(',
    ],
    ...[
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      '{{',
      '}}',
      ',',
      ':',
      '?',
      '"',
      "'",
      '"""',
      '\\',
      ' ',
      '\n',
      '//',
    ],
    ...[
      '==',
      '<',
      '+',
      '-',
      '!',
      '&&',
      '||',
      'in',
      '1',
      '0.5',
      '0x',
      '1u',
      'b"',
      'r"',
      'null',
      'true',
    ],
    ...[
      'has(',
      'size(',
      '__proto__',
      'constructor',
      '😀',
      '\0',
      '\u2028',
      '=',
      '|',
      '&',
      '@',
      'e9',
    ],
  )
  fc.assert(
    fc.property(fc.string({ unit: words, maxLength: 30 }), fc.jsonValue(), (text, data) => {
      const over = { ...scope, question: { text: '', data: data as Json }, previous: { text } }
      for (const read of [
        () => compileExpression(text, options).evaluate(over),
        () => compileTemplate(`a {{ ${text} }} b`, options).render(over),
        () => compileTemplate(text, options).render(over),
      ])
        try {
          read()
        } catch (thrown) {
          if (!(thrown instanceof ExpressionFault)) throw thrown
          expect(thrown.position).toBeLessThanOrEqual(text.length + 10)
        }
    }),
    { numRuns: 3_000 },
  )
})
