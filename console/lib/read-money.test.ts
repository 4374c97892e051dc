import { expect, it } from 'vitest'
import { readMoney } from './read-money.ts'

it.each([
  ['5', '5.00'],
  [' 5.5 ', '5.50'],
  ['$12', '12.00'],
  ['.25', '0.25'],
  ['7,50', '7.50'],
  ['0.000000001', '0.000000001'],
  ['1,000', undefined],
  ['1.000.000', undefined],
  ['0', undefined],
  ['0.00', undefined],
  ['-5', undefined],
  ['5e3', undefined],
  ['0.0000000001', undefined],
  ['five', undefined],
  ['', undefined],
])('reads %j as %j', (typed, amount) => {
  expect(readMoney(typed)).toBe(amount)
})
