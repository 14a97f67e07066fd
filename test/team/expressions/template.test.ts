import { describe, expect, it } from 'vitest'
import { compileTemplate } from '../../../src/team/expressions/compile.ts'
import { faultOf, options, scope } from './scope.ts'

const render = (source: string) => compileTemplate(source, options).render(scope)

describe('a template', () => {
  it('puts results in their places', () => {
    expect(render('Improve: {{ previous.text }} because {{steps.review.data.reason}}.')).toBe(
      'Improve: A draft because too short.',
    )
    expect(render('no expression } }} {')).toBe('no expression } }} {')
    expect(render('')).toBe('')
  })

  it('gives the text of a result or the question that stands alone', () => {
    expect(render('{{ question }}|{{ steps.review }}|{{ true ? previous : question }}')).toBe(
      'How much?|fair|A draft',
    )
  })

  it('gives JSON of data, plain texts and numbers, and nothing for null', () => {
    expect(
      render(
        '{{ question.data.tags }}|{{ question.data.count }}|{{ round }}|{{ true }}|{{ previous.data }}',
      ),
    ).toBe('["a","b"]|3|2|true|')
    expect(render('{{ {"a": 1} }}')).toBe('{"a":1}')
  })

  it('lets braces stand in texts and objects of an expression', () => {
    expect(render('{{ "}}" }}{{ \'{{\' }}{{ {"a": {"b": 1}}}}{{ "a\\"}}" }}')).toBe(
      '}}{{{"a":{"b":1}}a"}}',
    )
  })

  it('says what it reads', () => {
    const template = compileTemplate(
      '{{ steps.review }}{{ steps.review.data }}{{ feedback }}{{ context.a }}',
      options,
    )
    expect(template.steps).toEqual(['review'])
    expect(template.contextKeys).toEqual(['a'])
    expect(template.uses('feedback')).toBe(true)
    expect(template.uses('question')).toBe(false)
  })

  it('counts the place of a fault from its own beginning', () => {
    const source = 'first\n{{ question }} and {{   steps.reveiw.text }}'
    const fault = faultOf(() => render(source))
    expect(fault.position).toBe(source.indexOf('steps.reveiw'))
    expect(fault.message).toBe(
      'there is no step reveiw before this one (did you mean review?), at steps.reveiw',
    )
    const missing = faultOf(() => render('Dear {{ previous.data.name }}'))
    expect(missing.position).toBe(8)
    expect(missing.message).toBe(
      'the expression previous.data.name failed at character 9: null has no name',
    )
  })
})
