import { expect, it } from 'vitest'
import { exportKey, greetingCommand } from './shell-code.ts'

/** Parses one single-quoted argument as a POSIX shell does. */
function bodyOf(command: string): unknown {
  const argument = command.slice(command.indexOf("-d '") + 3)
  expect(argument).toMatch(/^'[^']*'(\\''[^']*')*$/)
  return JSON.parse(argument.slice(1, -1).replaceAll(`'\\''`, "'"))
}

it('the commands send a request to this server with the exported key', () => {
  expect(exportKey('mr_wallet_0123456789abcdef')).toBe('export MILLRACE_KEY=mr_wallet_0123456789abcdef')
  expect(greetingCommand('http://127.0.0.1:4600/v1', { model: 'demo', stream: true }, 'Hello').split('\n')).toEqual([
    'curl -N http://127.0.0.1:4600/v1/chat/completions \\',
    '  -H "Authorization: Bearer $MILLRACE_KEY" -H "Content-Type: application/json" \\',
    `  -d '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`,
  ])
})

it('quotes and dollar signs are not interpreted by the shell', () => {
  const [model, greeting] = [`o'model "$HOME" \`id\``, `It's 'so' \\ and "me"`]
  const command = greetingCommand('http://127.0.0.1:4600/v1', { model }, greeting)
  expect(bodyOf(command)).toEqual({ model, messages: [{ role: 'user', content: greeting }] })
})
