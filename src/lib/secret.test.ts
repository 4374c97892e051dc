import { format, inspect } from 'node:util'
import { expect, test } from 'vitest'
import { Secret } from './secret.ts'

const TEXT = 'sk-live-0123456789'
const secret = new Secret(TEXT)

test('only who asks for it by name gets it', () => {
  expect(secret.reveal()).toBe(TEXT)
  expect(secret.equals(new Secret(TEXT))).toBe(true)
  expect(secret.equals(new Secret('another'))).toBe(false)
})

test.each<[string, () => unknown]>([
  ['in a template', () => `key ${secret}`],
  ['by concatenation', () => `key ${String(secret)}`],
  ['as JSON', () => JSON.stringify({ deep: [{ secret }] })],
  ['by inspect', () => inspect({ deep: [{ secret }] }, { depth: 9, showHidden: true, customInspect: true })],
  ['by inspect without custom printing', () => inspect({ secret }, { customInspect: false, showHidden: true })],
  ['by format', () => format('%s %o %O %j', secret, secret, secret, secret)],
  ['in an error message', () => new Error(`refused ${secret}`, { cause: secret }).stack],
  ['by copying its properties', () => JSON.stringify([{ ...secret }, Object.entries(secret), Reflect.ownKeys(secret)])],
  ['by cloning', () => inspect(structuredClone({ secret }))],
])('it does not come out %s', (_, print) => {
  expect(String(print())).not.toContain(TEXT)
})

test('it says that it is there', () => {
  expect(`${secret} ${JSON.stringify(secret)} ${inspect(secret)}`).toBe('[secret] "[secret]" [secret]')
})
