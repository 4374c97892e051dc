import { describe, expect, it } from 'vitest'
import type { ProblemCode } from '../../src/model/problem.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('a wrong key is refused before the body', () => {
  const server = useServer()

  const answerTo = async (headers: string) => {
    const socket = await openRawSocket(server())
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${headers}content-length: 30000000\r\n\r\n`)
    const answer = await socket.answer()
    socket.destroy()
    return answer
  }

  it('answers 401 with WWW-Authenticate', async () => {
    const { key } = await openAccount(server())
    const wrong: readonly (readonly [string, ProblemCode])[] = [
      ['', 'missing_api_key'],
      [`x-api-key: ${key}\r\n`, 'missing_api_key'],
      ['authorization: \r\n', 'missing_api_key'],
      ['authorization: Bearer\r\n', 'invalid_api_key'],
      [`authorization: Basic ${key}\r\n`, 'invalid_api_key'],
      [`authorization: Bearer ${key} again\r\n`, 'invalid_api_key'],
      ['authorization: Bearer sk-something-else\r\n', 'invalid_api_key'],
      [`authorization: Bearer ${key.slice(0, -1)}\r\n`, 'invalid_api_key'],
      [`authorization: Bearer ${key}x\r\n`, 'invalid_api_key'],
      [`authorization: Bearer ${key.replace('wallet', 'builder')}\r\n`, 'invalid_api_key'],
      [`authorization: Bearer ${key.toUpperCase()}\r\n`, 'invalid_api_key'],
    ]
    for (const [headers, code] of wrong) {
      const answer = await answerTo(headers)
      expectProblem(answer, code)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(JSON.stringify(answer.json)).not.toContain(key.slice(10))
    }
  })

  it('distinguishes a typo from an unknown key', async () => {
    const { key } = await openAccount(server())
    const typo = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`
    expectProblem(await answerTo(`authorization: Bearer ${typo}\r\n`), 'invalid_api_key', { message: /mistyped/ })
  })

  it('checks the key before the body’s type and size', async () => {
    expectProblem(await answerTo('content-type: text/plain\r\ncontent-encoding: lzma\r\n'), 'missing_api_key')
  })
})
