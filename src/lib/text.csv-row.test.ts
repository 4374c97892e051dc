import { expect, it } from 'vitest'
import { csvRow } from './text.ts'

it('quotes what would end a cell, and leaves numbers alone', () => {
  expect(csvRow(['a', 'b,c', 'd"e', 'f\ng', '', 7, '-1.50'])).toBe('a,"b,c","d""e","f\ng",,7,-1.50\r\n')
})

it('makes no formula of a chosen name', () => {
  for (const name of [
    '=1+1',
    '+A1',
    '-2+3',
    '@SUM(A1)',
    '\t=1',
    ' =1',
    '\r=1',
    '＝1',
    "|calc'!A0",
    '%x',
    '=HYPERLINK("x")',
  ]) {
    expect(csvRow([name]).replace(/^"/, '').startsWith("'"), name).toBe(true)
  }
  expect(csvRow(['plain name'])).toBe('plain name\r\n')
})
