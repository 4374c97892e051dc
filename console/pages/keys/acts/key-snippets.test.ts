import { expect, it } from 'vitest'
import { curlCommand, environmentLine } from './key-snippets.ts'

/** What a POSIX shell makes of the one argument in single quotes: nothing inside has a meaning, and it ends at the next quote. */
function bodyOf(command: string): unknown {
  const argument = command.slice(command.indexOf("-d '") + 3)
  expect(argument).toMatch(/^'[^']*'(\\''[^']*')*$/)
  return JSON.parse(argument.slice(1, -1).replaceAll(`'\\''`, "'"))
}

it('a shell sends the model and the greeting as they are, with the key of the line before', () => {
  const command = curlCommand('http://127.0.0.1:4600/v1', 'demo', 'Say hello.')
  expect(environmentLine('mr_wallet_0123456789abcdef')).toBe('export MILLRACE_KEY=mr_wallet_0123456789abcdef')
  expect(command).toContain('curl http://127.0.0.1:4600/v1/chat/completions')
  expect(command).toContain('"Authorization: Bearer $MILLRACE_KEY"')
  expect(bodyOf(command)).toEqual({ model: 'demo', messages: [{ role: 'user', content: 'Say hello.' }] })
})

it('quotes and dollars in a name stay what they are', () => {
  const [model, greeting] = [`o'model "$HOME" \`id\``, `It's 'so'`]
  const command = curlCommand('http://127.0.0.1:4600/v1', model, greeting)
  expect(bodyOf(command)).toEqual({ model, messages: [{ role: 'user', content: greeting }] })
})
