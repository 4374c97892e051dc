import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codeFor, nodeLiteral, pythonLiteral } from './CodeTab.tsx'

const HARD = `it's "so" $HOME \\n \n JSON\n\u2028 😀`
const BODY = { model: 'm', stream: true, messages: [{ role: 'user', content: HARD }] }

describe('the code for a request', () => {
  const of = (language: 'curl' | 'python' | 'node', protocol: 'chat' | 'responses') =>
    codeFor(language, { protocol, baseUrl: 'http://127.0.0.1:4600/v1', body: BODY })

  it('uses the endpoint of the protocol and the key of the environment', () => {
    expect(of('curl', 'chat')).toContain('curl -N http://127.0.0.1:4600/v1/chat/completions')
    expect(of('curl', 'responses')).toContain('http://127.0.0.1:4600/v1/responses')
    for (const language of ['curl', 'python', 'node'] as const) expect(of(language, 'chat')).toContain('MILLRACE_KEY')
    expect(of('python', 'responses')).toContain('client.responses.create(')
    expect(of('node', 'chat')).toContain('client.chat.completions.create({')
  })

  it('gives curl exactly the body', () => {
    const [, inside] = /<<'JSON'\n(.*)\nJSON$/s.exec(of('curl', 'chat')) ?? []
    expect(JSON.parse(inside ?? '')).toEqual(BODY)
    expect(inside?.split('\n')).not.toContain('JSON')
  })
})

describe('literals', () => {
  it('evaluate to the original value in JavaScript', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read: unknown = new Function(`return ${nodeLiteral(value)}`)()
        expect(JSON.stringify(read)).toBe(JSON.stringify(value))
      }),
    )
  })

  it('use None, True and False in Python', () => {
    expect(pythonLiteral({ a: [null, true, false, 'x\n'], b: {} })).toBe(
      '{\n    "a": [\n        None,\n        True,\n        False,\n        "x\\n",\n    ],\n    "b": {},\n}',
    )
  })
})
