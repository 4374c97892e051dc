import { expect, it } from 'vitest'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import { elementsOfBody, inputElements } from './input-items.ts'

const elements = (input: string) => inputElements(Buffer.from(input)).map(String)

it('the items of an input are its elements, without the space around them and untouched inside', () => {
  expect(elements('[ {"a": 1},\n "b" , 7 ]')).toEqual(['{"a": 1}', '"b"', '7'])
  expect(elements('[]')).toEqual([])
})

it('a plain text is one message of its user', () => {
  expect(elements('"Hi \\u0041"')).toEqual(['{"type":"message","role":"user","content":"Hi \\u0041"}'])
})

it('null and other types have no items', () => {
  expect([elements('null'), elements('7'), elements('{"a":1}')]).toEqual([[], [], []])
})

it('of two inputs in one body the last one counts, and without one there are none', () => {
  const ofBody = (text: string) => {
    const bytes = Buffer.from(text)
    const scan = scanJson(bytes, INNER_BOUNDS)
    if (scan.kind !== 'scanned') throw new Error('it cannot be scanned')
    return elementsOfBody({ bytes, members: scan.members }).map(String)
  }
  expect(ofBody('{"input":["a"],"input": ["b"]}')).toEqual(['"b"'])
  expect(ofBody('{"model":"demo"}')).toEqual([])
})
