import { describe, expect, test } from 'vitest'
import { skimJson } from '../../src/bindings/call.ts'

describe('JSON that is not to be parsed', () => {
  test.each([
    ['{"jsonrpc":"2.0","id":7,"params":[[[[', 7],
    ['{"id" : "a\\"b" , "params":{', 'a"b'],
    ['{"params":{"id":1},"id":null}', null],
    ['{"params":{"id":1},"method":"x"', undefined],
    ['{"text":"\\"id\\":5","id":6}', 6],
    ['[{"id":7}]', undefined],
    ['{"id":[1]}', undefined],
    ['{"id":12', undefined],
    ['{"id":"not whole', undefined],
    ['', undefined],
  ])('tells the id of %s', (text, id) => {
    expect(skimJson(text, 3).id).toEqual(id)
  })

  test.each([
    ['{"a":{"b":{"c":{', ['a', 'b', 'c']],
    ['{"a":[1,[2],{"b":{"c":1}}],"d":1}', ['a', 2, 'b']],
    ['{"a":"[[[[[","b":[[],[[[', ['b', 1, 0]],
    ['{"a":{"b":{}},"c":[[]]}', []],
    ['}}}}{"a":[[[', ['a', 0, 0]],
  ])('tells where %s nests too deep', (text, path) => {
    expect(skimJson(text, 3).path).toEqual(path)
  })
})
