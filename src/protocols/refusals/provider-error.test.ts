import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { FASTAPI, HTML, inside, read } from '../../../test/fixtures/protocols/refusals/refusals.ts'
import { Secret } from '../../lib/secret.ts'
import {
  classifyRefusal,
  readBareError,
  readError,
  refusedField,
  refusesSeals,
  refusesTrigger,
} from './provider-error.ts'

const classOf = (status: number | undefined, error: object) => classifyRefusal(read(status, { error }))

describe("a Responses server's refusal", () => {
  it('is a bill that we have not paid, with a status and inside a stream', () => {
    const error = {
      message: 'You exceeded your current quota, please check your plan.',
      type: 'insufficient_quota',
      param: null,
      code: 'insufficient_quota',
    }
    expect(classOf(429, error)).toBe('credential')
    expect(classOf(undefined, error)).toBe('credential')
  })

  it('is a failure where the server is overloaded, whether it says 503 or 529', () => {
    const error = { message: 'Overloaded', type: 'overloaded_error' }
    for (const status of [503, 529]) expect(classOf(status, error)).toBe('failed')
  })

  it('inside a stream is told by its type where the code is a word of its own', () => {
    const error = { message: 'Failed to call a function.', type: 'invalid_request_error', code: 'tool_use_failed' }
    const classInside = (emitted: object) => classifyRefusal(inside(emitted))
    expect(classInside(error)).toBe('rejected')
    expect(classInside({ ...error, type: 'server_error' })).toBe('failed')
    expect(classInside({ ...error, code: 'rate_limit_exceeded' })).toBe('throttled')
    expect(classInside({ ...error, type: 7 })).toBe('failed')
  })

  it('names the field that a reasoning model does not take, its code being null', () => {
    const error = {
      message: "Unsupported parameter: 'temperature' is not supported with this model.",
      type: 'invalid_request_error',
      param: 'temperature',
      code: null,
    }
    expect(classOf(400, error)).toBe('unsupported-field')
    expect(read(400, { error })).toMatchObject({ param: 'temperature', code: 'invalid_request_error' })
    expect(refusedField(read(400, { error }))).toEqual({ names: ['temperature'], onlyValue: false })
  })

  it('of sealed reasoning is one of the field that asks for it', () => {
    const message = 'Encrypted content is not supported with this model.'
    expect(classOf(400, { message, type: 'invalid_request_error', param: null, code: null })).toBe('unsupported-field')
    expect(refusedField(read(400, { error: { message } }))).toEqual({ names: ['include'], onlyValue: false })
  })

  it.each([
    [{ code: 'invalid_encrypted_content', message: 'No.' }],
    [{ code: null, message: 'The encrypted content gAAA... could not be verified. Reason: decryption failed.' }],
    [{ code: null, message: "Unknown parameter: 'input[3].encrypted_content'.", param: 'input[3].encrypted_content' }],
    [{ code: null, message: "Item of type 'reasoning' was provided without its required following item." }],
    [{ code: null, message: 'messages.1.content.0: Invalid `signature` in `thinking` block' }],
    [{ code: null, message: 'Function call is missing a thought_signature in functionCall parts.' }],
  ])('is one of what was sealed: %j', (error) => {
    expect([400, 422, undefined].map((status) => refusesSeals(read(status, { error })))).toEqual([true, true, true])
    expect([401, 429, 500].map((status) => refusesSeals(read(status, { error })))).toEqual([false, false, false])
  })

  it.each([
    'The signature of the function is invalid.',
    "Unsupported value: 'reasoning.effort' does not support 'minimal'.",
    'Your input exceeds the context window of this model.',
  ])('is not one of what was sealed: %s', (message) => {
    expect(refusesSeals(read(400, { error: { message, code: null } }))).toBe(false)
  })

  it.each([
    [{ message: "Invalid value: 'compaction_trigger'. Supported values are: 'message'.", param: 'input[3]' }, true],
    [{ message: "Invalid value: 'compaction_trigger'.", param: 'input[3].type' }, true],
    [{ message: 'Unknown item type compaction_trigger', param: null }, true],
    [{ message: "Invalid 'tools[0].name': 'compaction!'", param: 'tools[0].name' }, false],
    [{ message: "Invalid image 'compaction'.", param: 'input[0].content[0].image_url' }, false],
    [{ message: 'The request is not valid.', param: null }, false],
  ])('is one of what makes a conversation short, or not: %j', (error, expected) => {
    expect(refusesTrigger(read(400, { error: { code: 'invalid_value', ...error } }))).toBe(expected)
  })

  it.each([
    ['context_length_exceeded', 'Your input exceeds the context window of this model.', 'too-long'],
    ['rate_limit_exceeded', 'Rate limit reached. Please try again in 2s.', 'throttled'],
    ['slow_down', 'Too much.', 'throttled'],
    ['server_is_overloaded', 'At capacity.', 'failed'],
    ['server_error', 'An error occurred.', 'failed'],
    ['invalid_prompt', 'It was flagged.', 'filtered'],
    ['bio_policy', 'Not this.', 'filtered'],
    [undefined, 'Something.', 'failed'],
  ])('inside a stream, %s, has no status: %s', (code, message, expected) => {
    expect(classifyRefusal({ status: undefined, message, code, param: undefined })).toBe(expected)
  })
})

describe('what is read of a refusal', () => {
  it('is the place in the body that FastAPI names, and never what stood there', () => {
    const error = read(422, { detail: [{ ...FASTAPI.detail[0], input: 'a secret of the client' }] })
    expect(error).toMatchObject({ param: 'messages.0.role', message: 'messages.0.role: Field required' })
    expect(JSON.stringify(error)).not.toContain('secret')
  })

  it('is nothing of a page', () => {
    expect(read(404, HTML)).toEqual({ status: 404, message: '', code: undefined, param: undefined })
  })

  it.each<[unknown]>([
    [{ error: { message: { deep: 1 }, code: {}, type: [], status: null, details: 'x', param: {} } }],
    [{ error: { message: null, details: [null, 7, { reason: 7, retryDelay: 37 }], code: 1e300 } }],
    [{ detail: [null, 'x', { loc: {}, msg: 7, type: null }], errors: [null] }],
    [{ detail: { message: 7 }, message: { detail: [] } }],
    [[]],
    [[[[1]]]],
    [null],
    [{ __proto__: null, constructor: 'x', error: { __proto__: 'x' } }],
    ['{"error":'],
  ])('survives what makes no sense: %j', (body) => {
    const error = read(400, body)
    expect(typeof error.message).toBe('string')
    expect(classifyRefusal(error)).toBe('rejected')
    expect(typeof readError(body).message).toBe('string')
  })

  it('has no mark of direction, no invisible character and no control of a terminal in it', () => {
    const unseen =
      '\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u200b\u2060\ufeff\u00ad\u0000\u0007\u001b\u007f\u0085\u009b\u{e0041}'
    const emitted = [...'model not found'].join(unseen)
    expect(readError({ message: `${emitted}\n\tat a` }).message).toBe('model not found\n\tat a')
    expect(read(400, emitted).message).toBe('model not found')
  })

  it('has nothing of a credential of ours, although invisible characters stand between its letters', () => {
    const secret = new Secret(`key-${randomBytes(12).toString('hex')}`)
    const spread = [...secret.reveal()].join('\u200b')
    expect(read(401, { error: { message: `wrong key ${spread}` } }).message).toBe('wrong key [secret]')
  })

  it('is bounded, so that no message of a provider can block the process', () => {
    const words = 'unsupported thinking '.repeat(200_000)
    expect(readError({ message: words }).message).toHaveLength(1000)
    expect(read(400, words).message).toHaveLength(1000)
  })
})

describe('when to come back', () => {
  const retryInfo = (retryDelay: unknown) => [
    { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId: 'PerMinute' }] },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
  ]
  it.each<[object, number | undefined]>([
    [{ details: retryInfo('37s') }, 37_000],
    [{ details: retryInfo('0.5s') }, 500],
    [{ details: retryInfo('37s'), message: 'Please retry in 9s.' }, 37_000],
    [{ details: retryInfo(37), message: 'Please retry in 9.25s.' }, 9250],
    [{ details: retryInfo('soon') }, undefined],
    [{ message: 'Rate limit reached. Please try again in 6m0s.' }, 360_000],
    [{ message: 'Please try again in 20ms. Visit us.' }, 20],
    [{ message: 'Please try again in 1m12.5s' }, 72_500],
    [{ message: 'Please retry after 3 seconds.' }, 3000],
    [{ message: 'Please try again in 2 moments.' }, undefined],
    [{ message: 'Please try again later.' }, undefined],
    [{ details: retryInfo('0s') }, undefined],
  ])('%j is in %s ms', (error, wait) => {
    expect(readError(error).retryAfterMs).toBe(wait)
    expect(read(429, { error }).retryAfterMs).toBe(wait)
    expect(read(429, [{ error }]).retryAfterMs).toBe(wait)
  })
})

describe('an error in place of an answer', () => {
  const minimax = (code: number, message = 'no') => ({ base_resp: { status_code: code, status_msg: message } })

  it.each<[body: object, meaning: string]>([
    [{ object: 'error', message: "This model's maximum context length is 4096 tokens.", code: 400 }, 'too-long'],
    [{ object: 'error', message: 'no', type: 'RateLimitError', code: 429 }, 'throttled'],
    [{ code: 'InvalidApiKey', message: 'no' }, 'credential'],
    [{ detail: 'Not a word that is known' }, 'failed'],
    [{ detail: [{ type: 'extra_forbidden', loc: ['body', 'top_k'], msg: 'no' }] }, 'unsupported-field'],
    [{ success: false, errors: [{ message: 'Too many requests' }] }, 'throttled'],
    [minimax(1002), 'throttled'],
    [minimax(1004), 'credential'],
    [minimax(1008, 'insufficient balance'), 'credential'],
    [minimax(2049), 'credential'],
    [minimax(1026), 'filtered'],
    [minimax(1027), 'filtered'],
    [minimax(1013), 'failed'],
    [minimax(2013, 'context length exceeded'), 'too-long'],
  ])('%j is %s', (body, meaning) => {
    const error = readBareError({ id: 'x', choices: null, ...body })!
    expect(classifyRefusal({ ...error, status: undefined, param: error.param })).toBe(meaning)
    // The same as JSON instead of a stream.
    expect(classifyRefusal(read(undefined, body))).toBe(meaning)
  })

  it.each([
    [{}],
    [{ choices: [], usage: {} }],
    [{ detail: [], errors: [], message: '', code: 0 }],
    [{ message: 'hi' }],
    [{ message: 'success', code: 0, status: 'ok' }],
    [minimax(0, 'success')],
  ])('is not in %j', (body) => {
    expect(readBareError(body)).toBeUndefined()
  })
})
