import { describe, expect, it } from 'vitest'
import { compileExpression, looksLikeExpression } from '../../../src/team/expressions/compile.ts'
import { faultOf, options, scope } from './scope.ts'

const evaluate = (source: string) => compileExpression(source, options).evaluate(scope)

describe('an expression', () => {
  it.each([
    ['steps.review.data.score < 0.8', true],
    ["steps.review.data.risk == 'high'", true],
    ['steps["my-step"].text', 'mine'],
    ['question.text + "!"', 'How much?!'],
    ['feedback.contains("short") && round == 2', true],
    ['context.customer.name', 'Ada'],
    ['item.id', 7],
    ['steps.review.data.score > 0.4 ? "good" : "bad"', 'good'],
    ['{"a": [steps.review.data.score, null], "b": {"c": 1}}', { a: [0.5, null], b: { c: 1 } }],
  ])('reads what the run knows: %s', (source, result) => {
    expect(evaluate(source)).toEqual(result)
  })

  it.each([
    ['question.data.count == 3', true],
    ['3 == question.data.count', true],
    ['question.data.count != 3', false],
    ['question.data.ratio < 1', true],
    ['question.data.count >= 3', true],
    ['3 in question.data.list', true],
    ['4 in question.data.list', false],
    ['question.data.count in [1, 2, 3]', true],
    ['question.data.list == [1, 2, 3]', true],
    ['{"n": question.data.count} == {"n": 3}', true],
    ['question.data.list[1] == 2', true],
    ['question.data.list[question.data.count - 1.0]', 3],
  ])('compares numbers of JSON with whole numbers: %s', (source, result) => {
    expect(evaluate(source)).toBe(result)
  })

  it.each([
    ['size(question.data.list)', 3],
    ['question.data.list.size() + 1', 4],
    ['question.data.count + 1.0', 4],
    ['int(question.data.count) + 1', 4],
    ['round % 2', 0],
    ['7 / 2', 3],
    ['7.0 / 2.0', 3.5],
    ['-question.data.count', -3],
    ['double("2.5") * 2.0', 5],
    ['question.data.list.map(x, x * 2.0)', [2, 4, 6]],
    ['question.data.list.map(x, x > 1, x * 2.0)', [4, 6]],
    ['question.data.list.filter(x, x > 1)', [2, 3]],
    ['question.data.list.all(x, x > 0) && question.data.list.exists(x, x == 2)', true],
    ['question.data.list.exists_one(x, x > 2)', true],
    [
      'question.data.list.map(x, question.data.tags.map(y, y + string(x)))',
      [
        ...[
          ['a1', 'b1'],
          ['a2', 'b2'],
          ['a3', 'b3'],
        ],
      ],
    ],
    ['steps.review.data.map(key, key)', ['score', 'reason', 'risk']],
    ['question.data.tags.join(", ")', 'a, b'],
    ['"a,b,c".split(",", 2)', ['a', 'b,c']],
    ['" A ".trim().lowerAscii()', 'a'],
    ['"abc".substring(1, 2) + "abc".substring(2)', 'bc'],
    ['"abc".indexOf("c")', 2],
    ['size("a😀")', 2],
    ['"a" in {"a": 1}', true],
    ['bool("true") && !bool("false")', true],
  ])('computes: %s', (source, result) => {
    expect(evaluate(source)).toEqual(result)
  })

  it('takes data that is not there for null', () => {
    expect(evaluate('previous.data == null')).toBe(true)
    expect(evaluate('steps.later.text == "" && steps.later.data == null')).toBe(true)
    expect(evaluate('context.unknown == null')).toBe(true)
    expect(evaluate('has(previous.data) || has(previous.data.a.b) || has(context.unknown)')).toBe(
      false,
    )
    expect(evaluate('has(steps.review.data.score) && has(context.customer)')).toBe(true)
  })

  it('lets a side that fails not matter where the other one decides', () => {
    expect(evaluate('previous.data.x > 1 || true')).toBe(true)
    expect(evaluate('previous.data.x > 1 && false')).toBe(false)
    expect(evaluate('[{"a": true}, {}].exists(x, x.a)')).toBe(true)
    expect(faultOf(() => evaluate('previous.data.x > 1 || false')).message).toContain(
      'null has no x',
    )
  })

  it('says what it reads', () => {
    const expression = compileExpression(
      'steps.review.text == feedback || context["a b"] == context.c || item == steps["my-step"].data',
      options,
    )
    expect(expression.steps).toEqual(['review', 'my-step'])
    expect(expression.contextKeys).toEqual(['a b', 'c'])
    expect(expression.uses('feedback') && expression.uses('item')).toBe(true)
    expect(expression.uses('question') || expression.uses('round')).toBe(false)
  })

  it('lets a macro name its element item, which is then no variable', () => {
    const outside = { steps: [] }
    const expression = compileExpression('question.data.list.filter(item, item > 1)', outside)
    expect(expression.evaluate(scope)).toEqual([2, 3])
    expect(expression.uses('item')).toBe(false)
  })

  it('gives the same result again and leaves its data as it is', () => {
    const expression = compileExpression('question.data.list + [4.0]', options)
    expect(expression.evaluate(scope)).toEqual([1, 2, 3, 4])
    expect(expression.evaluate(scope)).toEqual([1, 2, 3, 4])
    expect(scope.question.data).toMatchObject({ list: [1, 2, 3] })
  })

  it('must be what is wanted of it, when it is read where that can be seen, else when it is evaluated', () => {
    const wanted = { ...options, result: 'boolean' } as const
    const read = faultOf(() => compileExpression('question.text', wanted))
    expect(read.message).toBe('it must be true or false, and is string, at question.text')
    const evaluated = compileExpression('question.data.count', wanted)
    expect(faultOf(() => evaluated.evaluate(scope)).message).toBe(
      'the expression question.data.count failed at character 1: it must be true or false, and is a decimal number',
    )
    const list = { ...options, result: 'list' } as const
    expect(compileExpression('question.data.list', list).evaluate(scope)).toEqual([1, 2, 3])
    expect(faultOf(() => compileExpression('1 + 1', list)).message).toContain('it must be a list')
  })

  it('names the expression and the place where an evaluation fails', () => {
    const source = 'size(question.text) > 0 && steps.review.data.grade < 0.8'
    const fault = faultOf(() => evaluate(source))
    expect(fault.position).toBe(source.indexOf('steps.review.data.grade'))
    expect(fault.excerpt).toBe('steps.review.data.grade')
    expect(fault.message).toBe(
      `the expression ${source} failed at character 28, steps.review.data.grade: there is no grade`,
    )
  })

  it('tells to write 1.0 where a whole number and a number of JSON are added', () => {
    expect(faultOf(() => evaluate('question.data.count + 1')).message).toContain('write 1.0')
    expect(faultOf(() => evaluate('1.5 + 1')).message).toContain('write 1.0')
    expect(faultOf(() => evaluate('question.data.count % 2')).message).toContain('int(')
  })
})

describe('characters', () => {
  it.each([
    ['size("😀ab")', 3],
    ['"😀ab".substring(0, 1)', '😀'],
    ['"😀ab".substring(1)', 'ab'],
    ['"a😀b".substring(1, size("a😀b"))', '😀b'],
    ['"😀ab".indexOf("b")', 2],
    ['"😀a😀b".indexOf("😀", 1)', 2],
    ['"ab".indexOf("", 1)', 1],
    ['"abc".substring(1, 2)', 'b'],
  ])('are counted whole: %s', (source, result) => {
    expect(evaluate(source)).toBe(result)
  })

  it('has the number of them in the fault', () => {
    expect(faultOf(() => evaluate('"😀".substring(0, 2)')).message).toContain('has 1 characters')
  })
})

it('does not round a whole number that JSON cannot keep', () => {
  expect(faultOf(() => evaluate('9007199254740993')).message).toContain('write string(…)')
  expect(evaluate('string(9007199254740993)')).toBe('9007199254740993')
  expect(evaluate('9007199254740991')).toBe(9007199254740991)
})

describe('a text that may be an expression', () => {
  it.each([
    'previous.data.done',
    '!previous.data.done',
    'steps["a"].text == "x"',
    'size(steps.a.data) > 3',
    'feedback.contains("a")',
    'question.text == "a"',
    'round >= 2',
    'round % 2 == 0',
    '3 <= round',
    'item == "last"',
    'feedback != ""',
  ])('is one: %s', (text) => {
    expect(looksLikeExpression(text)).toBe(true)
  })

  it.each([
    ...[
      'DONE',
      'the previous. Then',
      'no question',
      'my_steps.text',
      'a.item.b',
      'steps',
      'round 3',
      'final_round >= 2',
    ],
  ])('is words: %s', (text) => {
    expect(looksLikeExpression(text)).toBe(false)
  })
})
