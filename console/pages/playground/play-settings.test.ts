import { expect, it } from 'vitest'
import { readMaxTokens, readTemperature } from './play-settings.ts'

it.each([
  ['', undefined],
  ['1', 1],
  [' 4096 ', 4096],
  ['0', null],
  ['-1', null],
  ['1.5', null],
  ['many', null],
])('as a number of tokens %j is %j', (text, value) => {
  expect(readMaxTokens(text)).toBe(value)
})

it.each([
  ['', undefined],
  ['0', 0],
  ['0,7', 0.7],
  ['2', 2],
  ['2.1', null],
  ['-1', null],
  ['warm', null],
])('as a temperature %j is %j', (text, value) => {
  expect(readTemperature(text)).toBe(value)
})
